/** A search of the console in all cells: one that is away hides only its own payments, and is named. */
import { cellName } from '#storage/cells/address.ts'
import type { FoundPayment } from '#storage/console/search.ts'
import { isConnectionLost } from '#storage/database.ts'

export interface SearchedCell {
  readonly number: number
  /** The newest first, at most this many. */
  readonly find: (limit: number) => Promise<readonly FoundPayment[]>
}

export interface FoundInCells {
  /** The newest first. */
  readonly payments: readonly FoundPayment[]
  /** There are more than are shown. */
  readonly isCut: boolean
  /** The names of the cells that could not be queried. */
  readonly away: readonly string[]
}

/** 50: the list with its filters shows more. */
const foundMax = 50

/** `away`: the names of cells that are known to be unreachable; some of those that are open may be among them. */
export async function searchCells(
  open: readonly SearchedCell[],
  away: readonly string[],
): Promise<FoundInCells> {
  const unopened = away.filter(name => !open.some(({ number }) => cellName(number) === name))
  const answers = await Promise.all(open.map(searchCell))
  // While a merchant is being moved, its payments are in two cells.
  const byId = new Map(answers.flatMap(({ payments }) => payments).map(payment => [payment.payId, payment]))
  const newest = [...byId.values()].toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())
  return {
    payments: newest.slice(0, foundMax),
    isCut: newest.length > foundMax,
    away: [...unopened, ...answers.flatMap(({ missing }) => missing)],
  }
}

async function searchCell({ number, find }: SearchedCell) {
  try {
    return { payments: await find(foundMax + 1), missing: [] }
  } catch (error) {
    if (!isConnectionLost(error)) throw error
    return { payments: [], missing: [cellName(number)] }
  }
}
