/** Card data in free text over HTTP: 400 that names the field, in each dialect, and nothing is stored. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { methodPayment } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

const number = '4111111111111111'

test.each<[name: string, body: object, field: string]>([
  ['its card number as transId', cardPayment({ transId: number }), 'transId'],
  [
    'its card number in metadata',
    cardPayment({ metadata: { note: '4111-1111-1111-1111' } }),
    'metadata.note',
  ],
  ['its IBAN in refNr', methodPayment('DIRECTDEBIT', { refNr: 'DE89 3704 0044 0532 0130 00' }), 'refNr'],
  [
    'another card number as a name',
    cardPayment({ card: { cardholderName: '5555 5555 5555 4444' } }),
    'paymentMethods.card.cardholderName',
  ],
  [
    'another card number in a description',
    cardPayment({ order: { description: '5555555555554444' } }),
    'order.description',
  ],
])('400 %s', async (_, body, field) => {
  const answer = await gateway.call('POST', '/payments', body, { 'idempotency-key': `stray-${field}` })
  expect(answer).toMatchObject({ status: 400, body: { field } })
  expect(answer.text).not.toMatch(/4111|3704/)
  expect(await queryRows(gateway.databaseUrl, 'SELECT 1 FROM payment')).toEqual([])
  expect(await queryRows(gateway.databaseUrl, 'SELECT 1 FROM idempotency_key')).toEqual([])
})

test('400 its card number as Idempotency-Key, which would be stored in clear', async () => {
  const key = { 'idempotency-key': 'order-4111-1111-1111-1111' }
  const answer = await gateway.call('POST', '/payments', cardPayment(), key)
  expect(answer).toMatchObject({ status: 400, body: { field: 'Idempotency-Key' } })
  expect(answer.text).not.toContain('4111')
})

test('400 as problem details where the endpoint uses that dialect', async () => {
  const { status, body } = await gateway.call('POST', '/services/tokenService', {
    type: 'CARD',
    number,
    transId: number,
  })
  expect({ status, fields: Object.keys(body.errors) }).toEqual({ status: 400, fields: ['transId'] })
})

test('200 order numbers that only look like a card', async () => {
  const looks = '5555555555554444'
  const body = cardPayment({ transId: looks, refNr: looks, metadata: { order: looks } })
  expect(await gateway.call('POST', '/payments', body)).toMatchObject({ status: 200 })
})
