import { expect, test } from 'vitest'
import { planInstalments } from '#connectors/simulator/instalments.ts'
import { maximumAmount } from '#domain/money/money.ts'
import { allMethods } from '#methods/catalogue.ts'

const [inParts] = allMethods.filter(({ family }) => family === 'instalment')
if (!inParts) throw new Error('there must be a method of that family')

const plan = (value: number, at = '2026-12-01') =>
  planInstalments(inParts, { value, currency: 'EUR' }, new Date(`${at}T23:59:59Z`))

// Each line: the amount, the day, the instalments and their due dates.
test.each([
  [6230, '2026-12-01', ['2027-01-01 2078', '2027-02-01 2076', '2027-03-01 2076']],
  [6000, '2026-12-31', ['2027-01-31 2000', '2027-02-28 2000', '2027-03-31 2000']],
  [100, '2027-11-30', ['2027-12-30 34', '2028-01-30 33', '2028-02-29 33']],
  [4, '2026-12-01', ['2027-01-01 2', '2027-02-01 1', '2027-03-01 1']],
  [2, '2026-12-01', ['2027-01-01 1', '2027-02-01 1']],
  [1, '2026-12-01', ['2027-01-01 1']],
])('%d on %s', (value, day, due) => {
  const { instalments = [], ...terms } = plan(value, day) ?? {}
  expect(instalments.map(part => `${part.dueDate} ${part.value}`)).toEqual(due)
  expect(terms).toEqual({ currency: 'EUR', cost: 0, total: value })
})

test('instalments are whole units and add up to any amount', () => {
  for (const value of [3, 5, 7, 99, 100, 101, 1_000_003, maximumAmount]) {
    const { instalments = [] } = plan(value) ?? {}
    expect(instalments.every(part => Number.isSafeInteger(part.value) && part.value > 0)).toBe(true)
    expect(instalments.reduce((sum, part) => sum + part.value, 0)).toBe(value)
  }
})

test('there is no plan for an amount of zero, for other methods, or beyond the supported calendar', () => {
  expect(plan(0)).toBeUndefined()
  expect(plan(100, '9999-11-15')).toBeUndefined()
  const others = allMethods.filter(({ family }) => family !== 'instalment')
  expect(
    others.filter(method => planInstalments(method, { value: 100, currency: 'EUR' }, new Date(0))),
  ).toEqual([])
})
