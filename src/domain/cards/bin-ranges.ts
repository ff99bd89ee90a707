/**
 * BIN ranges: the facts about the cards in a range of leading digits, and the range that answers a look-up. Every range
 * is stored with ten digits, the length of the longest look-up.
 */

export type CardSource = 'CREDIT' | 'DEBIT' | 'PREPAID' | 'CHARGE'
export const cardSources: readonly CardSource[] = ['CREDIT', 'DEBIT', 'PREPAID', 'CHARGE']

export interface BinFacts {
  readonly brand: string
  /** Other brands on the same card, between which the customer may choose. */
  readonly coBrands: readonly string[]
  readonly product?: string
  readonly source?: CardSource
  readonly issuer?: string
  /** ISO 3166-1 alpha-3 */
  readonly country?: string
  readonly currency?: string
  readonly dccEligible: boolean
}

export interface BinRange extends BinFacts {
  readonly span: BinSpan
}

/** Both ends included, ten digits each. */
export interface BinSpan {
  readonly first: number
  readonly last: number
}

/** Ten digits: the most that the contract accepts. As numbers they are far below 2^53. */
const binDigits = 10

/** All cards that begin with these digits. */
export const toSpan = (bin: string, last = bin): BinSpan => ({
  first: Number(bin.padEnd(binDigits, '0')),
  last: Number(last.padEnd(binDigits, '9')),
})

export const widthOf = ({ first, last }: BinSpan): number => last - first + 1

/** A range answers a look-up only if it contains every card with these leading digits. */
export const holds = (range: BinSpan, asked: BinSpan): boolean =>
  range.first <= asked.first && asked.last <= range.last

/** The narrowest range that contains the whole look-up. */
export function findNarrowest(ranges: readonly BinRange[], asked: BinSpan): BinRange | undefined {
  let best: BinRange | undefined
  for (const range of ranges) {
    if (!holds(range.span, asked)) continue
    if (best === undefined || widthOf(range.span) < widthOf(best.span)) best = range
  }
  return best
}
