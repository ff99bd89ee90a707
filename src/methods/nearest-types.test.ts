import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allMethods } from '#methods/catalogue.ts'
import { explainUnknownType, findNearestTypes } from '#methods/nearest-types.ts'

const types = allMethods.map(row => row.type)

test.each([
  ['CRAD', 'CARD'],
  ['card', 'CARD'],
  ['Card ', 'CARD'],
  ['CARDS', 'CARD'],
  ['DIRECT_DEBIT', 'DIRECTDEBIT'],
  ['direct-debt', 'DIRECTDEBIT'],
  ['IDEEL', 'IDEAL'],
  ['iDEAL', 'IDEAL'],
  ['BANCONTAKT', 'BANCONTACT'],
  ['PRZELEWY', 'PRZELEWY24'],
  ['paysafe', 'PAYSAFECARD'],
  ['WeChat Pay', 'WECHATPAY'],
  ['PROVIDER_K', 'PROVIDERK'],
])('%j is nearest to %s', (asked, type) => expect(findNearestTypes(asked, types)[0]).toBe(type))

test.each(['', '   ', '…', 'ZQXJKVW', 'X'.repeat(49), 'constructor'])('%j is near to nothing', asked =>
  expect(findNearestTypes(asked, types)).toEqual([]),
)

test('an existing type is its own nearest', () => {
  for (const type of types) expect(findNearestTypes(type, types)[0]).toBe(type)
})

/** The Damerau distance in its plain form (optimal string alignment), with the whole table filled in. */
function slipsOracle(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  )
  const cell = (i: number, j: number): number => table[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++) {
      let cost = Math.min(
        cell(i - 1, j) + 1,
        cell(i, j - 1) + 1,
        cell(i - 1, j - 1) + Number(a[i - 1] !== b[j - 1]),
      )
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cost = Math.min(cost, cell(i - 2, j - 2) + 1)
      ;(table[i] as number[])[j] = cost
    }
  return cell(a.length, b.length)
}

test('the nearest types agree with a second implementation', () => {
  const name = fc.stringMatching(/^[AB1]{1,9}$/)
  fc.assert(
    fc.property(name, name, (asked, known) => {
      const most = asked.length < 5 ? 1 : 2
      const contained = known.startsWith(asked) || asked.startsWith(known)
      const near = slipsOracle(asked, known) <= most
      const part = contained && Math.min(asked.length, known.length) >= 3
      return findNearestTypes(asked, [known]).length === (near || part ? 1 : 0)
    }),
    { numRuns: 2_000 },
  )
})

test('a refusal suggests the nearest types, or where to look', () => {
  expect(explainUnknownType('CRAD', types)).toBe('is "CRAD", which is no payment method; did you mean CARD?')
  expect(explainUnknownType('ZQXJKVW', ['CARD', 'IDEAL'])).toBe(
    'is "ZQXJKVW", which is no payment method; GET /payment-methods lists all 2, such as CARD, IDEAL',
  )
})
