/**
 * For the doctor: checks that cards, accounts, notices, evidence and bank files can still be decrypted. Plain data is
 * overwritten at once and never shown.
 */
import type { KeyObject } from 'node:crypto'
import type pg from 'pg'
import type { CheckResult, Example } from '#storage/doctor/doctor.ts'
import { type BigHolding, type HoldingChoice, readHolding } from '#storage/doctor/sealed-holdings.ts'
import type { SealedRow } from '#storage/doctor/sealed-rows.ts'
import { places } from '#vault/renew-data-keys.ts'
import { unseal } from '#vault/sealing.ts'

/** The data keys that could be opened. */
export interface DataKeys {
  find(row: Pick<SealedRow, 'merchantId' | 'keyVersion'>): KeyObject | undefined
}

export interface SealOptions extends HoldingChoice {
  /** Called with the number of rows examined so far. */
  readonly onProgress?: (examined: number) => void
}

const sampled = 'of very many a sample, or with --since all that were stored or used since'

interface SealCheck {
  readonly name: string
  readonly sentence: string
  readonly holding: BigHolding
  /** The word for a row in an example. */
  readonly what: string
}

const toCheck = ({ of, ...check }: Omit<SealCheck, 'sentence'> & { readonly of: string }): SealCheck => ({
  ...check,
  sentence: `${of} opens for the merchant and the row that it lies with: ${sampled}.`,
})

/** In the order in which they are examined and reported. */
export const sealChecks: readonly SealCheck[] = [
  toCheck({ name: 'card-opens', holding: 'cards', what: 'card', of: 'Every card number' }),
  toCheck({ name: 'account-opens', holding: 'accounts', what: 'account', of: 'Every bank account number' }),
  toCheck({ name: 'notice-opens', holding: 'notices', what: 'notice', of: 'Every notice of a provider' }),
  toCheck({ name: 'evidence-opens', holding: 'evidence', what: 'evidence', of: 'All evidence in disputes' }),
  toCheck({
    ...{ name: 'bank-file-opens', holding: 'bankFiles', what: 'part' },
    of: 'Every part of a file for the bank',
  }),
  toCheck({
    ...{ name: 'bank-entry-opens', holding: 'bankEntries', what: 'entry', of: 'Every entry of the bank' },
  }),
  toCheck({
    ...{ name: 'bank-surplus-opens', holding: 'bankSurplus', what: 'the payer of' },
    of: 'Every payer of a surplus',
  }),
]

/** 20: as many as the other checks show. */
const examplesShown = 20

export async function examineSeals(
  client: pg.ClientBase,
  keys: DataKeys,
  { onProgress, ...choice }: SealOptions = {},
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = []
  let examined = 0
  for (const { name, sentence, holding, what } of sealChecks) {
    let found = 0
    const examples: Example[] = []
    for await (const rows of readHolding(client, holding, choice)) {
      for (const row of rows.filter(each => !isWhole(each, holding, keys))) {
        found += 1
        if (examples.length < examplesShown)
          examples.push({ merchantId: row.merchantId, detail: `${what} ${row.id} does not open` })
      }
      examined += rows.length
      onProgress?.(examined)
    }
    results.push({ name, sentence, found, examples })
  }
  return results
}

function isWhole(row: SealedRow, holding: BigHolding, keys: DataKeys): boolean {
  const { merchantId, id, keyVersion, sealed } = row
  const key = keys.find(row)
  return key !== undefined && opens(() => unseal(key, sealed, places[holding](merchantId, id, keyVersion)))
}

export function opens(open: () => Buffer): boolean {
  try {
    open().fill(0)
    return true
  } catch {
    // A failure to decrypt is the result of the check, not an error.
    return false
  }
}
