import { expect, test } from 'vitest'
import { findCountryByAlpha3 } from '#domain/countries.ts'
import { isActiveCurrency } from '#domain/currencies.ts'
import { defaultCapture, findMethod, findMisfit, methodTypes } from '#methods/catalogue.ts'
import { type Method, rows } from '#methods/rows.ts'
import type { CreatePayment } from '#schemas/create-payment.ts'

const narrow: Method = {
  type: 'NARROW',
  key: 'narrow',
  label: 'A method with little in its row',
  family: 'wallet',
  countries: ['DEU'],
  currencies: ['EUR', 'CHF'],
  integration: ['HOSTED'],
  flow: 'redirect',
  capture: ['MANUAL', 'DELAYED'],
  operations: [],
  core: false,
}

test('every row is found by its type and has a key and values of its own', () => {
  expect(methodTypes).toContain('CARD')
  expect(new Set(rows.map(row => row.key)).size).toBe(rows.length)
  expect(new Set(methodTypes).size).toBe(rows.length)
  for (const row of rows) {
    expect(findMethod(row.type)).toBe(row)
    expect(row.type).toMatch(/^[A-Z0-9_]{1,40}$/)
    expect(row.integration.length * row.capture.length).toBeGreaterThan(0)
    if (row.countries !== '*') expect(row.countries.filter(code => !findCountryByAlpha3(code))).toEqual([])
    if (row.currencies !== '*') expect(row.currencies.filter(code => !isActiveCurrency(code))).toEqual([])
  }
})

test.each(['card', 'UNKNOWN', '', '__proto__'])('%j is no method', type => {
  expect(findMethod(type)).toBeUndefined()
})

test('the default capture is AUTOMATIC, or the first of the row', () => {
  expect(rows.map(defaultCapture)).toContain('AUTOMATIC')
  expect(defaultCapture(narrow)).toBe('MANUAL')
})

const use = (
  integrationType: 'HOSTED' | 'DIRECT',
  currency = 'EUR',
  rest: object = {},
  objects: object = {},
) => ({
  amount: { value: 1, currency },
  paymentMethods: { integrationType, type: 'ANY', ...objects } as CreatePayment['paymentMethods'],
  ...rest,
})
/** As wide as a card can get, whatever the row offers today. */
const card: Method = {
  ...narrow,
  type: 'CARD',
  key: 'card',
  countries: '*',
  currencies: '*',
  integration: ['HOSTED', 'DIRECT'],
  capture: ['AUTOMATIC', 'MANUAL', 'DELAYED'],
}
const number = { card: { number: '4111111111111111', expiryDate: '203012' } }

test.each([
  ['a direct card', card, use('DIRECT', 'JPY', {}, number), undefined],
  ['a hosted card without its object', card, use('HOSTED'), undefined],
  ['a direct card without its object', card, use('DIRECT'), 'paymentMethods.card'],
  ['a delayed card', card, use('HOSTED', 'EUR', { captureMethod: { type: 'DELAYED' } }), undefined],
  ['what fits the row', narrow, use('HOSTED', 'CHF', { captureMethod: { type: 'MANUAL' } }), undefined],
  ['its own object', narrow, use('HOSTED', 'EUR', {}, { narrow: {} }), undefined],
  ['an integration type it lacks', narrow, use('DIRECT'), 'paymentMethods.integrationType'],
  ['the object of another method', narrow, use('HOSTED', 'EUR', {}, { card: {} }), 'paymentMethods.card'],
  ['a currency it lacks', narrow, use('HOSTED', 'USD'), 'amount.currency'],
  [
    'a capture it lacks',
    narrow,
    use('HOSTED', 'EUR', { captureMethod: { type: 'AUTOMATIC' } }),
    'captureMethod.type',
  ],
])('%s', (_, method, request, field) => expect(findMisfit(method, request)?.field).toBe(field))

test('a misfit names what is allowed', () => {
  expect(findMisfit(narrow, use('HOSTED', 'USD'))?.error).toBe(
    'NARROW does not support USD; allowed: EUR, CHF',
  )
})
