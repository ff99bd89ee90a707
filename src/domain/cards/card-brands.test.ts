import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  cardBrands,
  detectBrand,
  findCardBrand,
  groupDigits,
  listCoBadges,
  mayBear,
  unknownBrand,
} from '#domain/cards/card-brands.ts'
import { isCardNumber } from '#domain/cards/card-numbers.ts'

/** Test numbers published by card networks, acquirers and software vendors. */
describe('published test numbers', () => {
  test.each([
    ['4111111111111111', 'visa'],
    ['4222222222222', 'visa'],
    ['4000002760003184', 'visa'],
    ['5555555555554444', 'mastercard'],
    ['5105105105105100', 'mastercard'],
    ['2221000000000009', 'mastercard'],
    ['2223003122003222', 'mastercard'],
    ['2720990000000007', 'mastercard'],
    ['378282246310005', 'amex'],
    ['371449635398431', 'amex'],
    ['341111111111111', 'amex'],
    ['30569309025904', 'diners'],
    ['36227206271667', 'diners'],
    ['38520000023237', 'diners'],
    ['3530111333300000', 'jcb'],
    ['3566002020360505', 'jcb'],
    ['6011111111111117', 'discover'],
    ['6011000990139424', 'discover'],
    ['6500000000000002', 'discover'],
    ['6440000000000005', 'discover'],
    ['6200000000000005', 'unionpay'],
    ['6243030000000001', 'unionpay'],
    ['8171999900000018', 'unionpay'],
    ['6759649826438453', 'maestro'],
    ['6304000000000000', 'maestro'],
    ['5018000000000009', 'maestro'],
    ['6703444444444449', 'bancontact'],
    ['5019717010103742', 'dankort'],
    ['6062826786276634', 'hipercard'],
    ['5066991111111118', 'elo'],
    ['9792030394440796', 'troy'],
    ['2200000000000004', 'mir'],
    ['135410014004955', 'uatp'],
    ['6074819900004939', 'rupay'],
    ['5060990580000217499', 'verve'],
    ['5895626746595650', 'naranja'],
    ['6042010000000006', 'cabal'],
    ['5062280000000002', 'carnet'],
  ])('%s is %s', (number, brand) => {
    expect(isCardNumber(number)).toBe(true)
    expect(detectBrand(number)).toBe(brand)
    expect(findCardBrand(brand)?.lengths).toContain(number.length)
  })
})

test.each([
  ['3527000000000008', unknownBrand],
  ['2721000000000004', unknownBrand],
  ['2220999999999999', unknownBrand],
  ['1000000000000008', unknownBrand],
  ['0123456789012', unknownBrand],
  ['', unknownBrand],
  ['abc', unknownBrand],
  ['5066980000000000', 'maestro'],
  ['5066990000000000', 'elo'],
  ['5067780000000000', 'elo'],
  ['5067790000000000', 'maestro'],
  ['5060980000000000', 'maestro'],
  ['5060990000000000', 'verve'],
  ['5061980000000000', 'verve'],
  ['5061990000000000', 'carnet'],
  ['6521490000000000', 'discover'],
  ['6521500000000000', 'rupay'],
  ['6531490000000000', 'rupay'],
  ['6531500000000000', 'discover'],
  ['9682120000000000', unknownBrand],
  ['9682110000000000', 'mada'],
])('at the edge of a range %s is %s', (number, brand) => expect(detectBrand(number)).toBe(brand))

describe('the table', () => {
  test('every brand and every spelling is listed once', () => {
    const spellings = cardBrands.flatMap(entry => entry.spellings)
    expect(new Set(spellings).size).toBe(spellings.length)
    expect(new Set(cardBrands.map(entry => entry.name)).size).toBe(cardBrands.length)
    for (const { brand } of cardBrands) expect(brand).toMatch(/^[a-z]+(_[a-z]+)*$/)
  })

  test('no two brands have the same prefix with the same number of digits', () => {
    const all = cardBrands.flatMap(({ brand, ranges }) => ranges.map(range => ({ brand, ...range })))
    const clashes = all.flatMap((a, index) =>
      all
        .slice(index + 1)
        .filter(b => a.from.length === b.from.length && a.from <= b.to && b.from <= a.to)
        .map(b => `${a.brand} ${a.from}-${a.to} and ${b.brand} ${b.from}-${b.to}`),
    )
    expect(clashes).toEqual([])
  })

  test('ranges ascend between prefixes of the same length', () => {
    for (const { ranges, sharedRanges } of cardBrands)
      for (const { from, to } of [...ranges, ...sharedRanges]) {
        expect(`${from} ${to}`).toMatch(/^[0-9]{1,6} [0-9]{1,6}$/)
        expect(from.length).toBe(to.length)
        expect(from <= to).toBe(true)
      }
  })

  test('every brand can be detected, by its own range or as co-badge of a brand with ranges', () => {
    const lost = cardBrands.filter(
      ({ ranges, sharedRanges, rides }) =>
        ranges.length + sharedRanges.length === 0 &&
        !rides.some(host => (findCardBrand(host)?.ranges.length ?? 0) > 0),
    )
    expect(lost).toEqual([])
    for (const { rides } of cardBrands)
      for (const host of rides) expect(findCardBrand(host)?.brand).toBe(host)
  })

  test('digit groups add up to their length, and every length is a valid card length', () => {
    for (const entry of cardBrands)
      for (const length of entry.lengths) {
        expect(length).toBeGreaterThanOrEqual(12)
        expect(length).toBeLessThanOrEqual(19)
        expect(groupDigits(entry, length).reduce((sum, size) => sum + size, 0)).toBe(length)
      }
  })
})

test.each([
  ['visa', 16, [4, 4, 4, 4]],
  ['visa', 19, [4, 4, 4, 4, 3]],
  ['amex', 15, [4, 6, 5]],
  ['diners', 14, [4, 6, 4]],
  ['diners', 16, [4, 4, 4, 4]],
  ['maestro', 13, [4, 4, 5]],
  ['unionpay', 19, [6, 13]],
  ['uatp', 15, [4, 5, 6]],
])('%s with %i digits is printed %j', (brand, length, groups) => {
  const entry = findCardBrand(brand)
  expect(entry && groupDigits(entry, length)).toEqual(groups)
})

test.each([
  ['amex', 4],
  ['visa', 3],
  ['bancontact', 0],
])('the security code of %s has %i digits', (brand, length) =>
  expect(findCardBrand(brand)?.securityCodeLength).toBe(length),
)

test.each([
  ['American Express', 'amex'],
  ['american_express', 'amex'],
  ['AMEX', 'amex'],
  ['Cartes Bancaires', 'cartes_bancaires'],
  ['cartes_bancaires', 'cartes_bancaires'],
  ['cb', 'cartes_bancaires'],
  ['diners-club', 'diners'],
  ['constructor', undefined],
  ['', undefined],
])('%j is the brand %s', (spelling, brand) => expect(findCardBrand(spelling)?.brand).toBe(brand))

test.each([
  ['4571990000000001', ['dankort']],
  ['4976390000000000', ['cartes_bancaires']],
  ['6221260000000000', ['discover']],
  ['4011780000000000', ['visa']],
  ['4111111111111111', []],
])('%s may also bear %j', (number, brands) => expect(listCoBadges(number)).toEqual(brands))

test.each([
  ['its own brand', '4111111111111111', 'visa', true],
  ['its own brand spelled otherwise', '378282246310005', 'American-Express', true],
  ['another network', '4111111111111111', 'mastercard', false],
  ['another network again', '5555555555554444', 'visa', false],
  ['a national scheme that rides on it', '5555555555554444', 'cartes_bancaires', true],
  ['a national scheme that does not', '378282246310005', 'cartes_bancaires', false],
  ['the host of a co-badged range', '4011780000000000', 'visa', true],
  ['the brand of a shared range', '4571990000000001', 'dankort', true],
  ['the same brand outside that range', '4111111111111111', 'dankort', false],
  ['rails it runs on', '6221260000000000', 'discover', true],
  ['a brand nobody knows', '4111111111111111', 'shop_card', true],
  ['a number nobody knows', '9999990000000000', 'visa', true],
  ['a pseudo card number', '0123456789012345', 'amex', true],
])('whether a number may bear %s', (_, number, brand, may) => expect(mayBear(number, brand)).toBe(may))

test('any digits get an answer, and a number is always allowed for its detected brand', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9]{0,24}$/), number => {
      const brand = detectBrand(number)
      return (brand === unknownBrand || findCardBrand(brand) !== undefined) && mayBear(number, brand)
    }),
  )
})
