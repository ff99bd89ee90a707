import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import { isPseudoAccountNumber, toPseudoAccountNumber } from '#domain/cards/pseudo-accounts.ts'
import { isIban } from '#domain/iban.ts'

const digestOf = (text: string) => createHash('sha256').update(text).digest()

test('every pseudo account number is recognised as one, is no IBAN, contains no card number, and ends like its IBAN', () => {
  fc.assert(
    fc.property(fc.string(), fc.nat(1000), fc.stringMatching(/^[0-9A-Z]{4}$/), (seed, attempt, last4) => {
      const number = toPseudoAccountNumber(digestOf(seed), attempt, last4)
      expect(number).toHaveLength(22)
      expect(isPseudoAccountNumber(number)).toBe(true)
      expect(isIban(number)).toBe(false)
      expect(scrubCardNumbers(number)).toBe(number)
      expect(number.endsWith(last4)).toBe(true)
    }),
  )
})

test('the same digest gives the same number; another digest or attempt gives another', () => {
  const make = (seed: string, attempt = 0) => toPseudoAccountNumber(digestOf(seed), attempt, '3000')
  expect(make('a')).toBe(make('a'))
  const made = ['a', 'b', 'c'].flatMap(seed => [0, 1, 2, 3, 4].map(attempt => make(seed, attempt)))
  expect(new Set(made).size).toBe(made.length)
})

test.each([
  'DE89370400440532013000',
  'ZZ00BCDFGHJKLMNPQ3000',
  'ZZ00BCDFGHJKLMNPQ1R300',
  'ZZ00ACDFGHJKLMNPQR3000',
  'ZZ01BCDFGHJKLMNPQR3000',
  'zz00bcdfghjklmnpqr3000',
  '',
])('%j is not a pseudo account number', text => {
  expect(isPseudoAccountNumber(text)).toBe(false)
})
