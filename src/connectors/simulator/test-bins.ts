/**
 * Made-up card ranges of the test environment. They cover every test number and every kind of card that a shop may want
 * to try: each funding source, co-brands, currencies with no, two and three decimals, and each reason that rules out
 * currency conversion. The test catalogue publishes them. None of these issuers exists.
 */
import { type BinRange, type CardSource, toSpan } from '#domain/cards/bin-ranges.ts'

interface TestBin {
  readonly bin: string
  readonly brand: string
  readonly coBrands?: readonly string[]
  readonly product: string
  readonly source: CardSource
  readonly issuer: string
  readonly country: string
  readonly currency: string
  readonly dccEligible: boolean
}

const bank = 'Tollgate Test Bank'

/** A BIN with brand, product, source, country and currency. Eligible for currency conversion by default. */
const row = (
  bin: string,
  [brand, product, source, country, currency]: readonly [string, string, CardSource, string, string],
  more: Partial<Pick<TestBin, 'coBrands' | 'dccEligible'>> = {},
): TestBin => ({ bin, brand, product, source, issuer: bank, country, currency, dccEligible: true, ...more })

export const testBins: readonly TestBin[] = [
  // Most test numbers begin with 400000. The longer ranges below it belong to other countries.
  row('400000', ['visa', 'Classic', 'CREDIT', 'USA', 'USD']),
  row('40000027', ['visa', 'Classic', 'CREDIT', 'DEU', 'EUR']),
  row('40000038', ['visa', 'Classic', 'CREDIT', 'ITA', 'EUR']),
  row('411111', ['visa', 'Classic', 'CREDIT', 'GBR', 'GBP']),
  row('401288', ['visa', 'Gold', 'DEBIT', 'JPN', 'JPY']),
  row('497010', ['visa', 'Classic', 'DEBIT', 'FRA', 'EUR'], { coBrands: ['cartes_bancaires'] }),
  row('424242', ['visa', 'Business', 'CREDIT', 'CHE', 'CHF']),
  row('510510', ['mastercard', 'World', 'CREDIT', 'USA', 'USD']),
  row('555555', ['mastercard', 'Standard', 'CREDIT', 'POL', 'PLN']),
  row('542418', ['mastercard', 'World Elite', 'CREDIT', 'KWT', 'KWD']),
  row('222300', ['mastercard', 'Standard', 'DEBIT', 'SWE', 'SEK']),
  // Not eligible: prepaid cards, and cards of schemes that convert themselves.
  row('519000', ['mastercard', 'Prepaid', 'PREPAID', 'USA', 'USD'], { dccEligible: false }),
  row('378282', ['amex', 'Green', 'CHARGE', 'USA', 'USD'], { dccEligible: false }),
  row('305693', ['diners', 'Club', 'CHARGE', 'USA', 'USD'], { dccEligible: false }),
  row('601100', ['discover', 'Standard', 'CREDIT', 'USA', 'USD'], { dccEligible: false }),
  row('353011', ['jcb', 'Standard', 'CREDIT', 'JPN', 'JPY'], { dccEligible: false }),
  row('621094', ['unionpay', 'Classic', 'DEBIT', 'CHN', 'CNY']),
  row('675964', ['maestro', 'Standard', 'DEBIT', 'BEL', 'EUR'], { coBrands: ['bancontact'] }),
  // Eligible, but there is no published rate for its currency.
  row('476173', ['visa', 'Classic', 'CREDIT', 'VEN', 'VES']),
]

export const testRanges: readonly BinRange[] = testBins.map(({ bin, coBrands = [], ...facts }) => ({
  ...facts,
  coBrands,
  span: toSpan(bin),
}))
