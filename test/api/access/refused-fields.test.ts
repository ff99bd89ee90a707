/** Refused requests over HTTP: the error names the wrong field and the allowed values. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { urls } from '#test/support/shop.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

const challenged = { number: '4000002760003184' }
const { integrationType: _, ...withoutType } = cardPayment().paymentMethods as Record<string, unknown>

test.each<[name: string, body: Record<string, unknown>, field: string, error: RegExp]>([
  [
    'integrationType missing beside a card number',
    { ...cardPayment(), paymentMethods: withoutType },
    'paymentMethods.integrationType',
    /is missing; allowed is one of HOSTED, DIRECT/,
  ],
  [
    'a type in small letters',
    { ...cardPayment(), paymentMethods: { integrationType: 'DIRECT', type: 'card' } },
    'paymentMethods.type',
    /^paymentMethods\.type is "card", which is no payment method; did you mean CARD\?$/,
  ],
  [
    'a type of no letters',
    { ...cardPayment(), paymentMethods: { integrationType: 'DIRECT', type: '' } },
    'paymentMethods.type',
    /GET \/payment-methods lists all/,
  ],
  [
    'a card number for our own page',
    {
      ...cardPayment({ urls }),
      paymentMethods: { integrationType: 'HOSTED', type: 'CARD', card: { number: '4111111111111111' } },
    },
    'paymentMethods.card.number',
    /leave it out/,
  ],
  [
    'nothing to pay',
    cardPayment({ amount: { value: 0, currency: 'EUR' } }),
    'amount.value',
    /^amount\.value is 0; allowed is a whole number of 1 to 999999999999\.$/,
  ],
  [
    'less than nothing to pay',
    cardPayment({ amount: { value: -1, currency: 'EUR' } }),
    'amount.value',
    /^amount\.value is -1; allowed is a whole number of 1 to 999999999999\.$/,
  ],
  [
    'less than nothing to verify',
    cardPayment({ card: { eventToken: 'ACCOUNT_VERIFICATION' }, amount: { value: -1, currency: 'EUR' } }),
    'amount.value',
    /allowed is a whole number of 0 to 999999999999\.$/,
  ],
  ['3-D Secure without addresses', cardPayment({ card: challenged }), 'urls', /3-D Secure/],
  [
    '3-D Secure without a way back',
    cardPayment({ card: challenged, urls: { cancel: urls.cancel } }),
    'urls.return',
    /3-D Secure/,
  ],
  [
    '3-D Secure without a way to turn back',
    cardPayment({ card: challenged, urls: { return: urls.return } }),
    'urls.cancel',
    /3-D Secure/,
  ],
  [
    'a security code of two digits',
    cardPayment({ card: { securityCode: '12' } }),
    'paymentMethods.card.securityCode',
    /allowed is text of at most 4 characters in the form \^\[0-9\]\{3,4\}\$ \(Three or four digits, never stored\)\.$/,
  ],
  [
    'a name of metadata that is too long',
    cardPayment({ metadata: { ['k'.repeat(41)]: 1 } }),
    `metadata.${'k'.repeat(41)}`,
    /at most 40 characters/,
  ],
  [
    'too much metadata',
    cardPayment({ metadata: { note: 'x'.repeat(16 * 1024) } }),
    'metadata',
    /^metadata has 16395 bytes as JSON; at most 16384 are allowed$/,
  ],
  [
    'a pseudo card number of nobody',
    cardPayment({ card: { number: '0123456789012345' } }),
    'paymentMethods.card.number',
    /^paymentMethods\.card\.number is not a pseudo card number of this merchant/,
  ],
])('400 %s', async (_, body, field, error) => {
  const answered = await gateway.call('POST', '/payments', body)
  expect(answered).toMatchObject({ status: 400, body: { field } })
  expect(answered.body.error).toMatch(error)
})

test.each([
  ['metadata', '0.1234567890123456789', 'metadata.n'],
  ['metadata', '1e-400', 'metadata.n'],
  ['amount', '100.00000000000000001', 'amount.value'],
])('400 a number that could not come back: %s %s', async (place, number, field) => {
  const text = JSON.stringify({ ...cardPayment(), amount: { value: 7, currency: 'EUR' }, metadata: { n: 8 } })
  const sent = place === 'amount' ? text.replace(':7,', `:${number},`) : text.replace(':8}', `:${number}}`)
  expect(await gateway.call('POST', '/payments', sent)).toMatchObject({ status: 400, body: { field } })
})

test('400 a confirm without the token that it needs', async () => {
  const body = { ...cardPayment(), paymentMethods: { integrationType: 'DIRECT', type: 'PROVIDERK' } }
  const { payId } = (await gateway.call('POST', '/payments', body)).body
  const answered = await gateway.call('POST', `/payments/${payId}/confirms`, {
    transId: 'x',
    amount: { value: 1000, currency: 'EUR' },
  })
  expect(answered).toMatchObject({
    status: 400,
    body: {
      field: 'paymentMethods',
      error: 'paymentMethods is missing; PROVIDERK needs paymentMethods.providerK here',
    },
  })
})

test('400 a confirm with an expirationTime of yesterday', async () => {
  const { payId } = (await gateway.call('POST', '/payments', cardPayment({ card: { eventToken: 'ORDER' } })))
    .body
  const body = { transId: 'x', amount: { value: 1000, currency: 'EUR' } }
  const path = `/payments/${payId}/confirms`
  const late = { ...body, expirationTime: new Date(Date.now() - 86_400_000).toISOString() }
  expect(await gateway.call('POST', path, late)).toMatchObject({
    status: 400,
    body: { field: 'expirationTime' },
  })
  const intime = { ...body, expirationTime: new Date(Date.now() + 86_400_000).toISOString() }
  expect((await gateway.call('POST', path, intime)).status).toBe(200)
})
