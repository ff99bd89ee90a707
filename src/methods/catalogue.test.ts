import { expect, test } from 'vitest'
import {
  allMethods,
  defaultCapture,
  findMethod,
  findMisfit,
  findObjectMisfit,
  findStoredMethod,
  methodTypes,
} from '#methods/catalogue.ts'
import { undecided } from '#methods/method.ts'
import type { Method } from '#methods/rows.ts'
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

test('every row is found by its type', () => {
  for (const row of allMethods) expect(findMethod(row.type)).toBe(row)
  expect(methodTypes).toEqual(allMethods.map(({ type }) => type))
})

test('a payment without a chosen method can be read from storage, but not requested', () => {
  expect(findStoredMethod('UNDECIDED')).toBe(undecided)
  expect(findStoredMethod('CARD')).toBe(findMethod('CARD'))
  expect(findMethod('UNDECIDED')).toBeUndefined()
})

test.each(['card', 'UNKNOWN', '', '__proto__'])('%j is not a method', type => {
  expect(findMethod(type)).toBeUndefined()
})

test('the default capture is AUTOMATIC, or the first of the row', () => {
  expect(allMethods.map(defaultCapture)).toContain('AUTOMATIC')
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
/** The widest capabilities of a card, independent of the current row. */
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
  ['a country it serves', narrow, use('HOSTED', 'EUR', { billingAddress: { country: 'DEU' } }), undefined],
  [
    'a country it does not serve',
    narrow,
    use('HOSTED', 'EUR', { billingAddress: { country: 'FRA' } }),
    'billingAddress.country',
  ],
  [
    'a parcel to a country it does not serve',
    narrow,
    use('HOSTED', 'EUR', { billingAddress: {}, shipping: { address: { country: 'FRA' } } }),
    'shipping.address.country',
  ],
  [
    'a parcel abroad, the invoice at home',
    narrow,
    use('HOSTED', 'EUR', {
      billingAddress: { country: 'DEU' },
      shipping: { address: { country: 'FRA' } },
    }),
    undefined,
  ],
  [
    'a capture it lacks',
    narrow,
    use('HOSTED', 'EUR', { captureMethod: { type: 'AUTOMATIC' } }),
    'captureMethod.type',
  ],
])('whether the request fits its method: %s', (_, method, request, field) =>
  expect(findMisfit(method, request)?.field).toBe(field),
)

test('a misfit names the allowed values', () => {
  expect(findMisfit(narrow, use('HOSTED', 'USD'))?.error).toBe(
    'NARROW does not support USD; allowed: EUR, CHF',
  )
})

const voucher: Method = { ...narrow, family: 'voucher' }
const visa: Method = { ...narrow, type: 'VISA', key: 'visa' }
const tokened: Method = { ...narrow, type: 'PROVIDERK', key: 'providerK' }
test.each<
  [string, Method, Parameters<typeof findObjectMisfit>[2], Record<string, unknown> | undefined, string?]
>([
  ['nothing', narrow, 'capture', undefined],
  ['no object', narrow, 'capture', {}],
  ['its own object', narrow, 'capture', { narrow: {} }],
  ["another method's object", narrow, 'capture', { card: { finishAuth: true } }, 'paymentMethods.card'],
  ['both', narrow, 'reversal', { narrow: {}, providerZ: {} }, 'paymentMethods.providerZ'],
  ['the object of no method', narrow, 'refund', { kard: {} }, 'paymentMethods.kard'],
  ['the account of a voucher', voucher, 'refund', { narrow: { bankName: 'x' } }],
  [
    'such an account elsewhere',
    narrow,
    'refund',
    { narrow: { bankName: 'x' } },
    'paymentMethods.narrow.bankName',
  ],
  ['nothing for such an account', narrow, 'refund', { narrow: {} }],
  ['one of several captures', visa, 'refund', { visa: { providerTransactionId: 'x' } }],
  [
    'one of several captures, by an account that was narrowed since',
    { ...visa, operations: ['capture', 'refund'] },
    'refund',
    { visa: { providerTransactionId: 'x' } },
  ],
  [
    'the only capture',
    narrow,
    'refund',
    { narrow: { providerTransactionId: 'x' } },
    'paymentMethods.narrow.providerTransactionId',
  ],
  ['a card that has a refund object', card, 'refund', { card: { providerTransactionId: 'x' } }],
  ['a client token', tokened, 'confirm', { providerK: { accessToken: 'x' } }],
  ['no client token', tokened, 'confirm', {}, 'paymentMethods.providerK'],
  ['no methods where a client token is needed', tokened, 'confirm', undefined, 'paymentMethods'],
  ['no client token where none is needed', tokened, 'capture', undefined],
])('objects: %s', (_, method, operation, sent, field) =>
  expect(findObjectMisfit(method, sent, operation)?.field).toBe(field),
)
