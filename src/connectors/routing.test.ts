import { describe, expect, test } from 'vitest'
import type { AccountQuestion } from '#connectors/directory.ts'
import { findBrandName, findCountryCode, type RouteRule, reachable, route } from '#connectors/routing.ts'
import { findMethod } from '#methods/catalogue.ts'

const method = (type: string) => {
  const found = findMethod(type)
  if (!found) throw new Error(`no method ${type}`)
  return found
}

const account = (accountId: string, types = ['CARD', 'DIRECTDEBIT'], currencies = ['EUR', 'USD']) => ({
  accountId,
  serves: ({ type }: { type: string }, currency: string) =>
    types.includes(type) && currencies.includes(currency),
})

const a = account('a')
const b = account('b')
const cardsOnly = account('cardsOnly', ['CARD'])

const question = (change: Partial<AccountQuestion> = {}): AccountQuestion => ({
  method: method('CARD'),
  amount: { value: 1000, currency: 'EUR' },
  ...change,
})

const chosen = (
  rules: readonly RouteRule[],
  asked: Partial<AccountQuestion> = {},
  accounts = [a, b, cardsOnly],
) => route(question(asked), accounts, rules).map(({ accountId }) => accountId)

test('without rules: every account that serves the method, in the order in which they were added', () => {
  expect(chosen([])).toEqual(['a', 'b', 'cardsOnly'])
  expect(chosen([], { method: method('DIRECTDEBIT') })).toEqual(['a', 'b'])
  expect(chosen([], { method: method('PROVIDERP') })).toEqual([])
  expect(chosen([], { amount: { value: 1, currency: 'JPY' } })).toEqual([])
})

test('the lowest priority number decides, and equal ones keep their order', () => {
  const rules = [
    { accountId: 'a', priority: 20 },
    { accountId: 'b', priority: 10 },
    { accountId: 'cardsOnly', priority: 20 },
  ]
  expect(chosen(rules)).toEqual(['b', 'a', 'cardsOnly'])
})

test('an account of several rules is listed once, at its first position', () => {
  const rules = [
    { accountId: 'b', priority: 1 },
    { accountId: 'a', priority: 2 },
    { accountId: 'b', priority: 3 },
  ]
  expect(chosen(rules)).toEqual(['b', 'a'])
})

test('a rule for an account that is disabled, deleted or does not serve the method is skipped', () => {
  const rules = [
    { accountId: 'disabled', priority: 1 },
    { accountId: 'cardsOnly', priority: 2 },
    { accountId: 'b', priority: 3 },
  ]
  expect(chosen(rules, { method: method('DIRECTDEBIT') })).toEqual(['b'])
})

test('a payment that no rule matches goes to the accounts in the order in which they were added', () => {
  expect(chosen([{ accountId: 'b', priority: 1, currencies: ['USD'] }])).toEqual(['a', 'b', 'cardsOnly'])
})

describe('rule conditions', () => {
  const rows: [string, Partial<RouteRule>, Partial<AccountQuestion>, boolean][] = [
    ['type', { types: ['CARD'] }, {}, true],
    ['another type', { types: ['DIRECTDEBIT'] }, {}, false],
    ['one of several types', { types: ['DIRECTDEBIT', 'CARD'] }, {}, true],
    ['brand in any spelling', { brands: [findBrandName('Visa') ?? ''] }, { brand: 'visa' }, true],
    ['another brand', { brands: ['visa'] }, { brand: 'mastercard' }, false],
    ['a brand that is not known yet', { brands: ['visa'] }, {}, false],
    ['currency', { currencies: ['EUR'] }, {}, true],
    ['another currency', { currencies: ['USD'] }, {}, false],
    ['country', { countries: ['DE'] }, { country: 'DE' }, true],
    ['country in three letters', { countries: ['DE'] }, { country: 'DEU' }, true],
    ['another country', { countries: ['DE'] }, { country: 'FR' }, false],
    ['a country that is not known', { countries: ['DE'] }, {}, false],
    ['the smallest amount', { amountFrom: 1000 }, {}, true],
    ['less than the smallest amount', { amountFrom: 1001 }, {}, false],
    ['the largest amount', { amountTo: 1000 }, {}, true],
    ['more than the largest amount', { amountTo: 999 }, {}, false],
    ['all conditions hold', { types: ['CARD'], currencies: ['EUR'], amountFrom: 1 }, {}, true],
    ['all conditions but one hold', { types: ['CARD'], currencies: ['USD'], amountFrom: 1 }, {}, false],
  ]
  test.each(rows)('%s', (_, rule, asked, matches) => {
    expect(chosen([{ accountId: 'b', priority: 1, ...rule }], asked)[0]).toBe(matches ? 'b' : 'a')
  })
})

describe('the accounts that some payment by a method can reach', () => {
  const rows: [string, string, Partial<RouteRule>, object, string[]][] = [
    ['every payment matches', 'CARD', {}, {}, ['b']],
    ['the method', 'CARD', { types: ['CARD'] }, {}, ['b']],
    ['another method', 'CARD', { types: ['DIRECTDEBIT'] }, {}, ['a', 'b']],
    ['some currencies', 'CARD', { currencies: ['EUR'] }, {}, ['a', 'b']],
    ['the currency that is asked for', 'CARD', { currencies: ['EUR'] }, { currency: 'EUR' }, ['b']],
    ['another currency than that', 'CARD', { currencies: ['EUR'] }, { currency: 'USD' }, ['a', 'b']],
    ['all currencies of the method', 'DIRECTDEBIT', { currencies: ['EUR'] }, {}, ['b']],
    ['some countries', 'CARD', { countries: ['DE'] }, {}, ['a', 'b']],
    ['the country that is asked for', 'CARD', { countries: ['DE'] }, { country: 'DEU' }, ['b']],
    ['some amounts', 'CARD', { amountFrom: 2 }, {}, ['a', 'b']],
    ['amounts up to a limit', 'CARD', { amountTo: 1000 }, {}, ['a', 'b']],
    ['every amount', 'CARD', { amountFrom: 1 }, {}, ['b']],
    ['some brands', 'CARD', { brands: ['visa'] }, {}, ['a', 'b']],
    ['a brand, which a debit never has', 'DIRECTDEBIT', { brands: ['visa'] }, {}, ['a', 'b']],
  ]
  test.each(rows)('a rule for %s: %s', (_, type, rule, asked, expected) => {
    const rules = [{ accountId: 'b', priority: 2, ...rule }]
    const found = reachable({ method: method(type), ...asked }, [a, b], rules)
    expect(found.map(({ accountId }) => accountId)).toEqual(expected)
  })

  test('beside a rule that always matches, others that sometimes do, and no more', () => {
    const rules = [
      { accountId: 'b', priority: 2 },
      { accountId: 'cardsOnly', priority: 1, amountTo: 500 },
      { accountId: 'disabled', priority: 1 },
    ]
    const found = reachable({ method: method('CARD') }, [a, b, cardsOnly], rules)
    expect(found.map(({ accountId }) => accountId)).toEqual(['cardsOnly', 'b'])
  })
})

describe('rules that match every payment only together', () => {
  const upTo = { amountTo: 1000 }
  const above = { amountFrom: 1001 }
  const rows: [string, string, Partial<RouteRule>[], object, string[]][] = [
    ['amounts without a gap', 'CARD', [upTo, above], {}, ['b']],
    ['amounts that overlap', 'CARD', [{ amountTo: 2000 }, above], {}, ['b']],
    ['amounts up to the largest', 'CARD', [upTo, { ...above, amountTo: 999_999_999_999 }], {}, ['b']],
    ['amounts with a gap', 'CARD', [upTo, { amountFrom: 1002 }], {}, ['a', 'b']],
    ['amounts that end before the largest', 'CARD', [upTo, { ...above, amountTo: 5000 }], {}, ['a', 'b']],
    ['amounts and some brands', 'CARD', [upTo, { ...above, brands: ['visa'] }], {}, ['a', 'b']],
    ['amounts and some countries', 'CARD', [upTo, { ...above, countries: ['DE'] }], {}, ['a', 'b']],
    ['the country asked for', 'CARD', [upTo, { ...above, countries: ['DE'] }], { country: 'DEU' }, ['b']],
    ['amounts of one currency', 'CARD', [upTo, { ...above, currencies: ['EUR'] }], {}, ['a', 'b']],
    ['the currency', 'CARD', [upTo, { ...above, currencies: ['EUR'] }], { currency: 'EUR' }, ['b']],
    ['one and all currencies', 'CARD', [{ ...upTo, currencies: ['EUR'] }, {}], {}, ['b']],
    ['both currencies', 'ZIMPLER', [{ currencies: ['EUR'] }, { currencies: ['SEK'] }], {}, ['b']],
    ['one of two currencies', 'ZIMPLER', [{ currencies: ['EUR'] }], {}, ['a', 'b']],
  ]
  test.each(rows)('%s: %s', (_, type, conditions, asked, expected) => {
    const rules = conditions.map(condition => ({ accountId: 'b', priority: 1, ...condition }))
    const found = reachable({ method: method(type), ...asked }, [a, b], rules)
    expect(found.map(({ accountId }) => accountId)).toEqual(expected)
  })

  test('go to the accounts of either', () => {
    const rules = [
      { accountId: 'b', priority: 2, ...upTo },
      { accountId: 'cardsOnly', priority: 1, ...above },
    ]
    const found = reachable({ method: method('CARD') }, [a, b, cardsOnly], rules)
    expect(found.map(({ accountId }) => accountId)).toEqual(['cardsOnly', 'b'])
  })
})

test('brands and countries are stored in one spelling', () => {
  expect(findBrandName('visa')).toBe(findBrandName('VISA'))
  expect([findCountryCode('deu'), findCountryCode('de'), findCountryCode('XX')]).toEqual([
    'DE',
    'DE',
    undefined,
  ])
})
