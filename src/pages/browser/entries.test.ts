/** The script's own rules must agree with the server's, else a customer is stopped by one and not by the other. */
import { describe, expect, test } from 'vitest'
import { cardBrands, detectBrand } from '#domain/cards/card-brands.ts'
import { isCardNumber, passesLuhn } from '#domain/cards/card-numbers.ts'
import { isIban } from '#domain/iban.ts'
import { drawnBrands } from '#pages/views/icons.ts'

/** A plain script without types of its own. */
interface Entries {
  readonly checks: Record<string, (value: string, now?: Date, field?: { checked: boolean }) => string>
  readonly brandRanges: Readonly<Record<string, string>>
  readonly detectBrand: (digits: string) => string
  readonly formatExpiry: (text: string) => string
  readonly groupIban: (text: string) => string
  readonly groupNumber: (digits: string) => string
  readonly isIban: (text: string) => boolean
  readonly parseExpiry: (text: string) => { month: number; year: number } | undefined
  readonly passesLuhn: (digits: string) => boolean
  readonly toDigits: (text: string) => string
}

const script: string = './entries.js'
const entries = (await import(script)) as Entries

const numbers = [
  '4111111111111111',
  '378282246310005',
  '5555555555554444',
  '4111111111111112',
  '30569309025904',
]

describe('the browser’s script checks as the server does', () => {
  test.each(numbers)('%s', number => {
    expect(entries.passesLuhn(number)).toBe(passesLuhn(number))
    expect(entries.checks.number?.(number) === '').toBe(isCardNumber(number))
  })

  test('the ranges are those of the brands that the page can draw, and what others cut out of them', () => {
    const rows = cardBrands.filter(({ lengthDecides }) => !lengthDecides)
    const rangesOf = (brand: string) =>
      rows
        .filter(row => brand === (drawnBrands.includes(row.brand) ? row.brand : 'unknown'))
        .flatMap(({ ranges }) => ranges.map(({ from, to }) => (from === to ? from : `${from}-${to}`)))
    const expected = [...drawnBrands, 'unknown'].map(brand => [brand, rangesOf(brand)])
    const actual = Object.entries(entries.brandRanges).map(([brand, ranges]) => [
      brand,
      ranges.trim().split(/\s+/),
    ])
    expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(expected))
  })

  test('every lead of six digits shows the mark of its brand', () => {
    const wrong: string[] = []
    for (let lead = 0; lead < 1_000_000; lead += 7) {
      const digits = String(lead).padStart(6, '0')
      const brand = detectBrand(digits)
      if (entries.detectBrand(digits) !== (drawnBrands.includes(brand) ? brand : 'unknown'))
        wrong.push(digits)
    }
    expect(wrong).toEqual([])
  })

  test.each([
    'DE89370400440532013000',
    'DE89370400440532013001',
    'NO9386011117947',
    'GB82WEST12345698765432',
  ])('%s', iban => {
    expect(entries.isIban(iban)).toBe(isIban(iban))
  })
})

describe('writing', () => {
  test.each([
    ['٤١١١', '4111'],
    ['۴۱۱۱', '4111'],
    ['４１１１', '4111'],
    ['४१११', '4111'],
    ['4111-1111 x', '41111111'],
  ])('digits of %s', (text, digits) => {
    expect(entries.toDigits(text)).toBe(digits)
  })

  test.each([
    ['4111111111111111', '4111 1111 1111 1111'],
    ['378282246310005', '3782 822463 10005'],
    ['6304000000000000000', '6304 0000 0000 0000 000'],
    ['4', '4'],
  ])('groups of %s', (digits, grouped) => {
    expect(entries.groupNumber(digits)).toBe(grouped)
  })

  test.each([
    ['1', '1'],
    ['5', '05/'],
    ['12', '12/'],
    ['1/', '01/'],
    ['12/2', '12/2'],
    ['1229', '12/29'],
    ['12/2029', '12/29'],
    ['2029-12', '12/29'],
    ['12 / 29', '12/29'],
  ])('expiry while typing %s', (text, expected) => {
    expect(entries.formatExpiry(text)).toBe(expected)
  })

  test.each([
    ['12/29', { month: 12, year: 2029 }],
    ['1/2029', { month: 1, year: 2029 }],
    ['0129', { month: 1, year: 2029 }],
    ['2029-12', { month: 12, year: 2029 }],
    ['13/29', undefined],
    ['00/29', undefined],
    ['12', undefined],
    ['1/2/29', undefined],
  ])('expiry %s', (text, expected) => {
    expect(entries.parseExpiry(text)).toEqual(expected)
  })

  test('an IBAN is written in groups', () => {
    expect(entries.groupIban('de89 3704-0044 0532 0130 00')).toBe('DE89 3704 0044 0532 0130 00')
  })
})

describe('checks', () => {
  const now = new Date('2026-12-15T00:00:00Z')
  test.each([
    ['number', '', 'missing'],
    ['number', '4111', 'short'],
    ['number', '4111111111111112', 'wrong'],
    ['expiry', '', 'missing'],
    ['expiry', '12/26', ''],
    ['expiry', '11/26', 'past'],
    ['expiry', '1x', 'wrong'],
    ['securityCode', '12', 'wrong'],
    ['securityCode', '1234', ''],
    ['cardholderName', ' a ', 'wrong'],
    ['iban', 'DE00', 'wrong'],
  ])('%s %s', (field, value, kind) => {
    expect(entries.checks[field]?.(value, now)).toBe(kind)
  })

  test('a consent must be given', () => {
    expect(entries.checks.consent?.('', now, { checked: false })).toBe('missing')
    expect(entries.checks.consent?.('', now, { checked: true })).toBe('')
  })
})
