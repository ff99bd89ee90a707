/** The request's fields in the payment record, over HTTP: as sent, or the contract's default. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

const provided = expect.stringMatching(/^[0-9]{15}$/)

test.each<[name: string, change: Parameters<typeof cardPayment>[0], shown: object]>([
  ['the channel is ECOM unless said', {}, { channel: 'ECOM' }],
  ['the channel that was said', { channel: 'MOTO' }, { channel: 'MOTO' }],
  ['the scheme’s own reference', {}, { paymentMethods: { card: { schemeReferenceId: provided } } }],
  [
    'the reference of an agreement that the merchant named',
    { card: { schemeReferenceId: 'agreed-before-1' } },
    { paymentMethods: { card: { schemeReferenceId: 'agreed-before-1' } } },
  ],
  [
    'the same when it was declined',
    { card: { schemeReferenceId: 'agreed-before-2', number: '4000000000000002' } },
    { status: 'FAILED', paymentMethods: { card: { schemeReferenceId: 'agreed-before-2' } } },
  ],
  ['the simulation mode', { simulationMode: 'Test:0351' }, { simulationMode: 'Test:0351', status: 'FAILED' }],
  ['a brand in capitals', { card: { brand: 'VISA' } }, { paymentMethods: { card: { brand: 'visa' } } }],
  [
    'a brand as people write it',
    { card: { brand: 'Visa' } },
    { paymentMethods: { card: { brand: 'visa' } } },
  ],
])('200 %s', async (_, change, shown) => {
  const { payId } = (await gateway.call('POST', '/payments', cardPayment(change))).body
  expect(await gateway.call('GET', `/payments/getByPayId/${payId}`)).toMatchObject({
    status: 200,
    body: shown,
  })
})

test('200 a refund without reference happens in no channel', async () => {
  const card = {
    number: '4111111111111111',
    expiryDate: '203012',
    cardholderName: 'Ada Lovelace',
    brand: 'Visa',
  }
  const body = { transId: 'out-1', amount: { value: 5, currency: 'EUR' }, paymentMethods: { card } }
  const { payId } = (await gateway.call('POST', '/payments/refunds', body)).body
  const record = (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body
  expect(record).toMatchObject({ status: 'OK', paymentMethods: { card: { brand: 'visa' } } })
  expect(record).not.toHaveProperty('channel')
})
