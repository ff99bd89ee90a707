import { expect, test } from 'vitest'
import { findCountryByAlpha3 } from '#domain/countries.ts'
import { isActiveCurrency } from '#domain/money/currencies.ts'
import type { Method, MethodOperation } from '#methods/method.ts'
import { coreTypes } from '#methods/rows/core.ts'
import { rows } from '#methods/rows.ts'

const offenders = (isWrong: (row: Method) => boolean): string[] => rows.filter(isWrong).map(row => row.type)
const repeats = (values: readonly string[]): boolean => new Set(values).size !== values.length
const has = (row: Method, operation: MethodOperation): boolean => row.operations.includes(operation)
const reserves = (row: Method): boolean => row.capture.some(type => type !== 'AUTOMATIC')

test('the catalogue has the promised number of methods', () =>
  expect(rows.length).toBeGreaterThanOrEqual(350))

test('the core methods come first, in their order', () => {
  expect(coreTypes.length).toBe(21)
  expect(rows.filter(row => row.core).map(row => row.type)).toEqual(coreTypes)
  expect(rows.slice(0, coreTypes.length).map(row => row.type)).toEqual(coreTypes)
})

test.each<[string, (row: Method) => string]>([
  ['type', row => row.type],
  ['key', row => row.key],
  ['key in small letters', row => row.key.toLowerCase()],
  ['label', row => row.label],
])('every row has a %s of its own', (_, read) => expect(repeats(rows.map(read))).toBe(false))

test.each<[string, (row: Method) => boolean]>([
  ['a type of another shape', row => !/^[A-Z0-9]{2,40}$/.test(row.type)],
  ['a key of another shape', row => !/^[a-z][A-Za-z0-9]*$/.test(row.key)],
  // The type is the key in upper case, so a reader of a request needs no table.
  ['a key that is not the type in camel case', row => row.key.toUpperCase() !== row.type],
  [
    'a key that means something else under paymentMethods',
    row => ['type', 'integrationType'].includes(row.key),
  ],
  ['a label with spaces around', row => row.label !== row.label.trim() || row.label === ''],
  ['a country that is none', row => row.countries !== '*' && !row.countries.every(findCountryByAlpha3)],
  ['a currency that is not active', row => row.currencies !== '*' && !row.currencies.every(isActiveCurrency)],
  ['no country', row => row.countries.length === 0],
  ['no currency', row => row.currencies.length === 0],
  ['a country twice', row => row.countries !== '*' && repeats(row.countries)],
  ['a currency twice', row => row.currencies !== '*' && repeats(row.currencies)],
  ['no integration type', row => row.integration.length === 0 || repeats(row.integration)],
  ['no capture', row => row.capture.length === 0 || repeats(row.capture)],
  ['an operation twice', row => repeats(row.operations)],
  ['a capture by call or timer without the operation', row => reserves(row) !== has(row, 'capture')],
  ['an authorisation without an end, or an end without one', row => reserves(row) !== hasEnd(row)],
  ['a capture by timer only', row => row.capture.includes('DELAYED') && !row.capture.includes('MANUAL')],
  ['a reservation that cannot be given up', row => reserves(row) !== has(row, 'reverse')],
  ['partial captures without captures', row => has(row, 'partial_capture') && !has(row, 'capture')],
  ['several captures without partial ones', row => has(row, 'multi_capture') && !has(row, 'partial_capture')],
  ['an increment without a reservation', row => has(row, 'increment') && !reserves(row)],
  ['partial refunds without refunds', row => has(row, 'partial_refund') && !has(row, 'refund')],
  ['a credit without refunds', row => has(row, 'credit') && !has(row, 'refund')],
  ['a capture ceiling below what was authorised', row => (row.capturePercentMax ?? 100) < 100],
  ['a capture ceiling without captures', row => row.capturePercentMax !== undefined && !has(row, 'capture')],
  ['a client token without a step for it', row => (row.clientTokenMinutes !== undefined) !== needsToken(row)],
  ['a redirect inside the shop', row => isElsewhere(row) && !row.integration.includes('HOSTED')],
])('no row has %s', (_, isWrong) => expect(offenders(isWrong)).toEqual([]))

const hasEnd = (row: Method): boolean => (row.authorizationDays ?? 0) > 0
const isElsewhere = (row: Method): boolean => row.flow !== 'direct'
/** Only this method has a client token, and so a lifetime of the token. */
const needsToken = (row: Method): boolean => row.type === 'PROVIDERK'

test('each provider’s row matches the API contract', () => {
  const by = (type: string) => rows.find(row => row.type === type)
  expect(by('PROVIDERP')?.capturePercentMax).toBe(115)
  expect(by('PROVIDERK')?.clientTokenMinutes).toBe(60)
  expect(rows.filter(row => row.flow === 'multi_step').map(row => row.type)).toEqual([
    'PROVIDERK',
    'PROVIDERR',
    'RIVERTY',
  ])
  expect(rows.filter(row => has(row, 'increment') && row.family !== 'card').map(row => row.type)).toEqual([
    'PROVIDERT',
  ])
  expect(by('CARD')?.authorizationDays).toBe(7)
})
