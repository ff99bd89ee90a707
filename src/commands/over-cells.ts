/** Commands treat all cells as one: each piece of work runs in every cell, and the results are combined. */
import { CommandFault } from '#commands/faults.ts'
import type { OpenDatabase } from '#commands/open-database.ts'
import type { CellAddress } from '#storage/cells/address.ts'
import { createDirectoryStore } from '#storage/cells/directory-store.ts'
import { openDatabase } from '#storage/database.ts'

export interface Joining {
  /** Whether an error only means that this cell does not have the object; another cell may. */
  readonly isMissing?: (error: unknown) => boolean
  /** The work is about this merchant only. */
  readonly merchantId?: string | undefined
}

/** Joins lists and adds up numbers; of other results it returns the first that was found. */
export async function overCells<T>(
  database: Pick<OpenDatabase, 'cells'>,
  work: (cell: CellAddress) => Promise<T>,
  { isMissing = () => false, merchantId }: Joining = {},
): Promise<T> {
  const cells = merchantId === undefined ? database.cells : [await locate(database, merchantId)]
  const found: T[] = []
  let missing: unknown
  for (const cell of cells) {
    try {
      found.push(await work(cell))
    } catch (error) {
      if (!isMissing(error)) throw error
      missing ??= error
    }
  }
  const [first, ...rest] = found
  if (first === undefined && missing !== undefined && found.length === 0) throw missing
  // There is always cell 0, so something was found; and join returns what it was given: a list, a number or the first.
  return rest.reduce<T>((joined, next) => join(joined, next) as T, first as T)
}

async function locate({ cells }: Pick<OpenDatabase, 'cells'>, merchantId: string): Promise<CellAddress> {
  const [home] = cells
  if (!home) throw new Error('there is no cell 0')
  if (cells.length === 1) return home
  const pools = openDatabase(home.url, () => undefined)
  try {
    const place = await createDirectoryStore(pools).find(merchantId)
    if (place?.movingForMs !== undefined)
      throw new CommandFault(`${merchantId} is being moved to another cell; try again in a moment`)
    return cells.find(({ number }) => number === place?.cell) ?? home
  } finally {
    await pools.close()
  }
}

function join(a: unknown, b: unknown): unknown {
  if (a === undefined || a === null || a === false) return b
  if (Array.isArray(a) && Array.isArray(b)) return [...a, ...b]
  if (typeof a === 'number' && typeof b === 'number') return a + b
  if (!isRecord(a) || !isRecord(b)) return a
  return Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].map(name => [name, join(a[name], b[name])]),
  )
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
