/** What the services look things up in, and how stored data and that of the test environment are joined. */
import { type BinRange, type BinSpan, findNarrowest, widthOf } from '#domain/bin-ranges.ts'
import type { StoredMethods } from '#operations/stored-methods.ts'
import type { BinReader } from '#storage/bins.ts'
import type { CardBook } from '#storage/card-book.ts'
import type { DuplicateFinder } from '#storage/duplicates.ts'
import type { FoundRates, RateReader } from '#storage/rates.ts'

export interface References {
  readonly bins: BinReader
  readonly rates: RateReader
  readonly duplicates: DuplicateFinder
  readonly cards: CardBook
  readonly storedMethods: StoredMethods
  /** Two decimals; what a quote has on top of the published rate. */
  readonly markupPercentage: string
}

/** Imported ranges and built-in ones: the narrower answers, and of two equal ones the imported. */
export const joinBins = (imported: BinReader, builtIn: readonly BinRange[]): BinReader => ({
  async find(span: BinSpan) {
    const found = await imported.find(span)
    const own = findNarrowest(builtIn, span)
    if (found && own) return widthOf(own.span) < widthOf(found.span) ? own : found
    return found ?? own
  },
})

/** The built-in rates hold until the first import. */
export const joinRates = (imported: RateReader, builtIn: FoundRates): RateReader => ({
  find: async currencies => (await imported.find(currencies)) ?? builtIn,
})
