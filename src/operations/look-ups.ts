/** The data sources of the look-up services, and how imported data is combined with the built-in data. */
import { type BinRange, type BinSpan, findNarrowest, widthOf } from '#domain/cards/bin-ranges.ts'
import type { StoredMethods } from '#operations/customers/stored-methods.ts'
import type { Database } from '#storage/database.ts'
import { createDuplicateFinder, type DuplicateFinder } from '#storage/payments/duplicates.ts'
import { type BinReader, createBinReader } from '#storage/reference/bins.ts'
import { createRateReader, type FoundRates, type RateReader } from '#storage/reference/rates.ts'
import { type CardBook, createCardBook } from '#storage/vault/card-book.ts'

export interface LookUps {
  readonly bins: BinReader
  readonly rates: RateReader
  readonly duplicates: DuplicateFinder
  readonly cards: CardBook
  readonly storedMethods: StoredMethods
  /** The markup of a quote on the published rate, with two decimals. */
  readonly markupPercentage: string
}

/** 3.00 %: the value in the contract's example. */
const usualMarkup = '3.00'

/** Card ranges and rates that come with the gateway. */
export interface BuiltInData {
  readonly ranges: readonly BinRange[]
  readonly rates: FoundRates
}

/** Imported data takes precedence over built-in data. */
export function createLookUps(
  database: Database,
  options: {
    readonly builtIn?: BuiltInData | undefined
    readonly dccMarkup?: string
    readonly storedMethods: StoredMethods
  },
): LookUps {
  const { builtIn, dccMarkup = usualMarkup, storedMethods } = options
  const bins = createBinReader(database)
  const rates = createRateReader(database)
  return {
    bins: builtIn ? joinBins(bins, builtIn.ranges) : bins,
    rates: builtIn ? joinRates(rates, builtIn.rates) : rates,
    duplicates: createDuplicateFinder(database),
    cards: createCardBook(database),
    storedMethods,
    markupPercentage: dccMarkup,
  }
}

/** Searches imported and built-in ranges: the narrower range wins, and of two equal ones the imported one. */
const joinBins = (imported: BinReader, builtIn: readonly BinRange[]): BinReader => ({
  async find(span: BinSpan) {
    const found = await imported.find(span)
    const own = findNarrowest(builtIn, span)
    if (found && own) return widthOf(own.span) < widthOf(found.span) ? own : found
    return found ?? own
  },
})

/** The built-in rates are used until the first import. */
const joinRates = (imported: RateReader, builtIn: FoundRates): RateReader => ({
  find: async currencies => (await imported.find(currencies)) ?? builtIn,
})
