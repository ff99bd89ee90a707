/**
 * The card brands: leading digits, lengths and printed groups of their numbers, and the brands with which they share
 * cards. Pure look-ups in one table; nothing here stores or rejects a number.
 */

export interface CardBrand {
  /** The wire name, in lower case. */
  readonly brand: string
  readonly name: string
  /** Other spellings that requests use, in lower case without separators. */
  readonly spellings: readonly string[]
  readonly lengths: readonly number[]
  /** The printed groups of digits, for lengths that are not printed in fours. */
  readonly groups: Readonly<Record<number, readonly number[]>>
  /** 0 if the cards have none. */
  readonly securityCodeLength: number
  /** The brand's own leading digits. */
  readonly ranges: readonly Range[]
  /** Leading digits of other brands whose cards also carry this brand (co-badged). */
  readonly sharedRanges: readonly Range[]
  /** Brands any of whose cards may carry this brand: issuers decide, and no public list says which. */
  readonly rides: readonly string[]
  /** True if the leading digits are so short that only together with the length they identify the brand. */
  readonly lengthDecides: boolean
}

/**
 * First and last leading digits, both included. They have the same length, so comparing them as text compares the
 * numbers.
 */
interface Range {
  readonly from: string
  readonly to: string
}

interface Row {
  readonly spellings?: string
  readonly ranges?: string
  readonly shared?: string
  readonly rides?: string
  readonly lengths?: readonly number[]
  readonly groups?: Readonly<Record<number, readonly number[]>>
  readonly securityCodeLength?: number
  readonly lengthDecides?: true
}

const words = (text: string | undefined): readonly string[] => (text ? text.split(/\s+/) : [])

const toRange = (text: string): Range => {
  const [from = '', to = from] = text.split('-')
  return { from, to }
}

const row = (brand: string, name: string, given: Row): CardBrand => ({
  brand,
  name,
  spellings: [brand, ...words(given.spellings)],
  lengths: given.lengths ?? [16],
  groups: given.groups ?? {},
  securityCodeLength: given.securityCodeLength ?? 3,
  ranges: words(given.ranges).map(toRange),
  sharedRanges: words(given.shared).map(toRange),
  rides: words(given.rides),
  lengthDecides: given.lengthDecides ?? false,
})

const from16 = [16, 17, 18, 19]

/**
 * From publications of the networks and of terminal manufacturers. Ranges move between issuers, so a number is refused
 * because of its brand only where the merchant has allowed others by name, and never one that no range contains.
 */
export const cardBrands: readonly CardBrand[] = [
  row('visa', 'Visa', {
    spellings: 'visaelectron visadebit vpay',
    ranges: '4',
    lengths: [13, 16, 18, 19],
    groups: { 13: [4, 3, 3, 3] },
  }),
  row('mastercard', 'Mastercard', { spellings: 'mc debitmastercard', ranges: '51-55 2221-2720' }),
  row('amex', 'American Express', {
    spellings: 'americanexpress',
    ranges: '34 37',
    lengths: [15],
    groups: { 15: [4, 6, 5] },
    securityCodeLength: 4,
  }),
  row('diners', 'Diners Club International', {
    spellings: 'dinersclub dinersclubinternational',
    ranges: '300-305 3095 36 38-39',
    // Cards issued in the United States and Canada have Mastercard numbers.
    shared: '55',
    lengths: [14, 16, 19],
    groups: { 14: [4, 6, 4] },
  }),
  row('discover', 'Discover', {
    ranges: '6011 644-649 65',
    // Networks whose cards are accepted over Discover's network in the United States.
    shared: '622126-622925 300-305 3095 36 38-39 3528-3589',
    lengths: [16, 19],
  }),
  row('jcb', 'JCB', { ranges: '3528-3589', lengths: from16 }),
  row('unionpay', 'UnionPay', {
    spellings: 'cup chinaunionpay',
    ranges: '62 81',
    lengths: [14, 15, ...from16],
    groups: { 19: [6, 13] },
  }),
  row('maestro', 'Maestro', {
    ranges: '493698 50 56-59 60-61 63-64 66-69',
    lengths: [12, 13, 14, 15, ...from16],
    groups: { 13: [4, 4, 5], 15: [4, 6, 5] },
  }),
  row('uatp', 'UATP', {
    ranges: '1',
    lengths: [15],
    groups: { 15: [4, 5, 6] },
    securityCodeLength: 0,
    lengthDecides: true,
  }),
  row('cartes_bancaires', 'Cartes Bancaires', {
    spellings: 'cartesbancaires cartebancaire cb',
    shared: '4970-4978 5131-5136',
    rides: 'visa mastercard maestro',
  }),
  row('bancontact', 'Bancontact', {
    spellings: 'bcmc bancontactmistercash',
    ranges: '6703',
    rides: 'visa mastercard maestro',
    lengths: from16,
    securityCodeLength: 0,
  }),
  row('dankort', 'Dankort', { spellings: 'visadankort', ranges: '5019', shared: '4571' }),
  row('girocard', 'girocard', {
    spellings: 'eccard electroniccash',
    rides: 'visa mastercard maestro',
    lengths: from16,
  }),
  row('pagobancomat', 'PagoBANCOMAT', { spellings: 'bancomat', rides: 'visa mastercard maestro' }),
  row('bankaxept', 'BankAxept', { rides: 'visa mastercard' }),
  row('dinacard', 'DinaCard', { ranges: '9891', shared: '655670-655697 657371-657398', rides: 'unionpay' }),
  row('prostir', 'PROSTIR', { ranges: '9804' }),
  row('belkart', 'Belkart', { ranges: '9112', rides: 'mir maestro' }),
  row('mir', 'Mir', { ranges: '2200-2204', lengths: from16 }),
  row('troy', 'Troy', {
    ranges:
      '9792 650052 650082-650083 650092 650161 650170 650173 650175 650268 650271 650273-650274 ' +
      '650456-650457 650836 650846-650850 650987 650990 654997 657366 657998 658758 658767-658768',
    rides: 'discover',
  }),
  row('arca', 'ArCa', { ranges: '9051' }),
  row('uzcard', 'Uzcard', { ranges: '8600 5614', rides: 'unionpay mir' }),
  row('humo', 'HUMO', { ranges: '9860', rides: 'visa mastercard unionpay' }),
  row('rupay', 'RuPay', {
    ranges:
      '508227 508500-508999 603741 606985-607984 608001-608500 652150-653149 353800 817290 817368 817378 82',
    shared: '353 356',
    rides: 'jcb discover',
  }),
  row('napas', 'NAPAS', { ranges: '9704', lengths: [16, 19] }),
  row('gpn', 'GPN', { ranges: '1946', rides: 'visa mastercard jcb maestro' }),
  row('eftpos', 'eftpos Australia', { spellings: 'eftposaustralia', rides: 'visa mastercard maestro' }),
  row('interac', 'Interac', { shared: '4506 4724', rides: 'visa mastercard' }),
  row('carnet', 'Carnet', {
    ranges: '286900 502275 506199-506499 588772 606333 627535 636318 636379 639388 639484 639559',
  }),
  row('elo', 'Elo', {
    ranges:
      '401178-401179 431274 438935 451416 457393 457631-457632 504175 506699-506778 509000-509999 627780 ' +
      '636297 636368 650031-650033 650035-650051 650405-650439 650485-650538 650541-650598 650700-650718 ' +
      '650720-650727 650901-650978 651652-651679 655000-655019 655021-655058',
  }),
  row('hipercard', 'Hipercard', { ranges: '606282 637095 637568 637599 637609 637612', spellings: 'hiper' }),
  row('cabal', 'Cabal', { ranges: '604201-604400 589657 603522' }),
  row('naranja', 'Tarjeta Naranja', { ranges: '589562 402918 527572' }),
  row('mada', 'mada', {
    ranges:
      '504300 506968 508160 585265 588848 588850 588982-588983 589005 589206 604906 605141 636120 ' +
      '968201-968211',
    shared: '440647 440795 446404 457865',
    rides: 'visa mastercard',
  }),
  row('meeza', 'Meeza', { ranges: '507803 507808-507811', rides: 'mastercard visa' }),
  row('verve', 'Verve', { ranges: '506099-506198 507865-507964 650002-650027', lengths: [16, 18, 19] }),
]

export const unknownBrand = 'unknown'

const covers = ({ from, to }: Range, number: string): boolean => {
  const lead = number.slice(0, from.length)
  return lead >= from && lead <= to
}

interface Claim extends Range {
  readonly owner: CardBrand
}

/** By the first two digits, longest prefixes first, because a longer prefix is more specific. */
const claims: ReadonlyMap<string, readonly Claim[]> = new Map(
  Array.from({ length: 100 }, (_, index) => String(index).padStart(2, '0')).map(digits => [
    digits,
    cardBrands
      .flatMap(owner => owner.ranges.map(range => ({ ...range, owner })))
      .filter(
        ({ from, to }) =>
          from.slice(0, 2) <= digits.slice(0, from.length) && digits.slice(0, to.length) <= to.slice(0, 2),
      )
      .sort((a, b) => b.from.length - a.from.length),
  ]),
)

/** The search for stray card numbers asks this thousands of times for one hostile text. */
function findBrand(number: string): CardBrand | undefined {
  let lead = ''
  for (const { from, to, owner } of claims.get(number.slice(0, 2)) ?? []) {
    if (lead.length !== from.length) lead = number.slice(0, from.length)
    const isCovered = lead >= from && lead <= to
    if (isCovered && (!owner.lengthDecides || owner.lengths.includes(number.length))) return owner
  }
  return undefined
}

/** Whether a brand issues numbers with these leading digits and of this length. */
export const isKnownCardNumber = (number: string): boolean =>
  findBrand(number)?.lengths.includes(number.length) === true

/** The wire name of the brand that the number belongs to, `unknown` if no range fits. */
export const detectBrand = (number: string): string => findBrand(number)?.brand ?? unknownBrand

const bySpelling: ReadonlyMap<string, CardBrand> = new Map(
  cardBrands.flatMap(entry => entry.spellings.map(spelling => [squeeze(spelling), entry] as const)),
)

function squeeze(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]/g, '')
}

/** Finds a brand by any spelling: `American Express`, `american_express` and `amex` are the same. */
export const findCardBrand = (spelling: string): CardBrand | undefined => bySpelling.get(squeeze(spelling))

/** Other brands whose own or shared ranges contain the number. */
export function listCoBadges(number: string): readonly string[] {
  const own = detectBrand(number)
  return cardBrands
    .filter(entry => entry.brand !== own && !entry.lengthDecides)
    .filter(entry => [...entry.ranges, ...entry.sharedRanges].some(range => covers(range, number)))
    .map(entry => entry.brand)
}

/**
 * Whether a card with this number can carry the brand of the request. Unknown brands and numbers are accepted, and so
 * are pseudo card numbers, which do not reveal a brand.
 */
export function mayBear(number: string, spelling: string): boolean {
  const named = findCardBrand(spelling)
  const detected = findBrand(number)
  if (named === undefined || detected === undefined || named === detected) return true
  return named.rides.includes(detected.brand) || listCoBadges(number).includes(named.brand)
}

/** The same for a stored card, of which only the brand is known. */
export function mayRide(brand: string, spelling: string): boolean {
  const named = findCardBrand(spelling)
  const stored = findCardBrand(brand)
  if (named === undefined || stored === undefined || named === stored) return true
  return named.rides.includes(stored.brand)
}

/** The printed groups of digits: 4-6-5 for fifteen digits of American Express, in fours by default. */
export function groupDigits({ groups }: CardBrand, length: number): readonly number[] {
  return (
    groups[length] ?? Array.from({ length: Math.ceil(length / 4) }, (_, i) => Math.min(4, length - 4 * i))
  )
}
