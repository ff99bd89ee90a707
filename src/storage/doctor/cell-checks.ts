/**
 * The doctor's checks across cells: every merchant is in the cell that the directory names, and in no other.
 */
import type { CellAddress } from '#storage/cells/address.ts'
import { withClient } from '#storage/cells/create-cell.ts'
import type { CheckResult, Example } from '#storage/doctor/doctor.ts'

/** 20: as for the other checks. */
const examplesShown = 20

interface Stored {
  readonly merchantId: string
  readonly cell: number
}

/** Returns no results for a single cell, because there is nothing to compare. */
export async function examineCells(
  cells: readonly CellAddress[],
  onResult: (result: CheckResult) => void = () => {},
): Promise<readonly CheckResult[]> {
  const [home] = cells
  if (!home || cells.length === 1) return []
  const nameOf = (number: number): string =>
    cells.find(cell => cell.number === number)?.name ?? `cell ${number}`
  const found: Stored[] = []
  for (const { number, url } of cells) {
    const rows = await withClient(
      url,
      async client => (await client.query<{ merchant_id: string }>('SELECT merchant_id FROM merchant')).rows,
    )
    found.push(...rows.map(row => ({ merchantId: row.merchant_id, cell: number })))
  }
  const places = await withClient(
    home.url,
    async client =>
      (await client.query<Stored>('SELECT merchant_id AS "merchantId", cell FROM merchant_cell')).rows,
  )
  const directory = new Map(places.map(({ merchantId, cell }) => [merchantId, cell]))
  const strays = found
    .filter(({ merchantId, cell }) => (directory.get(merchantId) ?? 0) !== cell)
    .map(({ merchantId, cell }) => ({
      merchantId,
      detail: `has rows in ${nameOf(cell)}, but lives in ${nameOf(directory.get(merchantId) ?? 0)}; repeat its move`,
    }))
  const stored = new Set(found.map(({ merchantId, cell }) => `${cell} ${merchantId}`))
  const lost = places
    .filter(({ merchantId, cell }) => !stored.has(`${cell} ${merchantId}`))
    .filter(({ merchantId }) => found.some(one => one.merchantId === merchantId))
    .map(({ merchantId, cell }) => ({
      merchantId,
      detail: `is not in ${nameOf(cell)}, where the directory has it`,
    }))
  const results = [
    toResult(
      'merchant-in-one-cell',
      'A merchant has rows only in the cell that the directory names.',
      strays,
    ),
    toResult('merchant-where-directory-says', 'The cell that the directory names has the merchant.', lost),
  ]
  for (const result of results) onResult(result)
  return results
}

const toResult = (name: string, sentence: string, all: readonly Example[]): CheckResult => ({
  name,
  sentence,
  found: all.length,
  examples: all.slice(0, examplesShown),
})
