/** Every kind of payment once, for the doctor to examine. */
import { expect } from 'vitest'
import { cardPayment, type TestGateway } from '#test/support/gateway.ts'

const manual = { captureMethod: { type: 'MANUAL' } }
const delayed = (delayedHours: number) => ({ captureMethod: { type: 'DELAYED', delayed: { delayedHours } } })
const eur = (value: number) => ({ value, currency: 'EUR' })

/** Tests find each payment by its transId, which names its state. */
export async function makeHistory({ call }: TestGateway): Promise<void> {
  async function post(path: string, body: object, expected: string, key?: string) {
    const answer = await call('POST', path, body, key ? { 'idempotency-key': key } : {})
    expect([path, answer.body.status ?? answer.status, answer.body]).toEqual([path, expected, answer.body])
    return answer.body
  }
  const create = (transId: string, change: object, expected: string, key?: string) =>
    post('/payments', cardPayment({ transId, ...change }), expected, key)
  const onto = (
    payId: string,
    operation: string,
    value: number,
    more: { key?: string; body?: object } = {},
  ) =>
    post(
      `/payments/${payId}/${operation}`,
      { transId: 'later', amount: eur(value), ...more.body },
      'OK',
      more.key,
    )
  const advance = (duration: string) => call('POST', '/test/clock', { advance: duration })
  const order = { card: { eventToken: 'ORDER' } }

  await create('lapsed', manual, 'AUTHORIZED')
  const lapsedInPart = await create('lapsed in part', manual, 'AUTHORIZED')
  await onto(lapsedInPart.payId, 'captures', 400)
  await create('expired', order, 'AUTHORIZE_REQUEST')
  await create('settled', { card: { number: '4000000000000101' } }, 'PENDING', 'settled-key')
  await create('fired', delayed(2), 'CAPTURE_REQUEST')
  await create('misfired', { ...delayed(150), card: { number: '4000000000000341' } }, 'CAPTURE_REQUEST')
  await advance('P8D')

  await create('auto', {}, 'OK', 'auto-key')
  await create('other card', { card: { number: '5555555555554444' } }, 'OK')
  await create('declined', { card: { number: '4000000000000002' } }, 'FAILED')
  await create('never arrived', { card: { number: '4000000000000259' } }, 'FAILED')
  await create('manual', manual, 'AUTHORIZED', 'manual-key')
  await create('delayed', delayed(5), 'CAPTURE_REQUEST')
  await create('order', order, 'AUTHORIZE_REQUEST', 'order-key')

  const confirmed = await create('confirmed', order, 'AUTHORIZE_REQUEST')
  await onto(confirmed.payId, 'confirms', 900, { key: 'confirm-key' })
  const partial = await create('partial', manual, 'AUTHORIZED')
  await onto(partial.payId, 'captures', 400, { key: 'capture-key' })
  const closed = await create('closed', manual, 'AUTHORIZED')
  await onto(closed.payId, 'captures', 400, { body: { captureMethod: { manual: { final: true } } } })
  const reversed = await create('reversed', manual, 'AUTHORIZED')
  await onto(reversed.payId, 'reversals', 1000)
  const partlyReversed = await create('partly reversed', manual, 'AUTHORIZED')
  await onto(partlyReversed.payId, 'reversals', 400)
  const raised = await create('raised', manual, 'AUTHORIZED')
  await onto(raised.payId, 'incrementals', 500)
  const twice = await create('twice', manual, 'AUTHORIZED')
  const captures = [await onto(twice.payId, 'captures', 600), await onto(twice.payId, 'captures', 400)]
  for (const [n, value] of [500, 100].entries()) {
    const { providerTransactionId } = captures[n].paymentMethods.card
    await onto(twice.payId, 'refunds', value, {
      body: { paymentMethods: { card: { providerTransactionId } } },
    })
  }
  const refunded = await create('refunded', {}, 'OK')
  await onto(refunded.payId, 'refunds', 600)
  await call('POST', '/test/faults', { operation: 'REFUND', fault: 'lost_answer', times: 1 })
  const unsure = { transId: 'later', amount: eur(200) }
  await post(`/payments/${refunded.payId}/refunds`, unsure, 'PENDING', 'refund-key')
  const refused = { transId: 'later', amount: eur(9999) }
  await post(`/payments/${refunded.payId}/refunds`, refused, 'FAILED', 'refused-key')
  await call(
    'PATCH',
    `/payments/${refunded.payId}`,
    { metadata: { a: 1 } },
    { 'idempotency-key': 'patch-key' },
  )
  const card = {
    number: '4111111111111111',
    cardholderName: 'Ada Lovelace',
    expiryDate: '203012',
    brand: 'visa',
  }
  await post(
    '/payments/refunds',
    { transId: 'credit', amount: eur(70), paymentMethods: { card } },
    'OK',
    'credit-key',
  )
  await create('unknown', { card: { number: '4000000000000101' } }, 'PENDING', 'unknown-key')
}
