/** Providers that take payments only on a page, over HTTP: the special rules and result fields of P, T and Z. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Change, done, openShop, pending, refused, type Shop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock() })
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  expect((await examine(gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  await gateway.stop()
})

const methods = (paymentMethods: object) => ({ paymentMethods })
const capture = (payId: string, value: number, more: object = {}) => shop.act(payId, 'captures', value, more)
const sumsOf = async (payId: string) => (await shop.read(payId)).amount

test.each(['PROVIDERP', 'PROVIDERT', 'PROVIDERZ'] as const)('400 %s is not paid DIRECT', async type => {
  const answer = await shop.create(type, { paymentMethods: { integrationType: 'DIRECT', type } })
  expect(answer).toMatchObject({ status: 400, body: { field: 'paymentMethods.integrationType' } })
})

describe('P may be captured up to 115 % of what was authorised', () => {
  // Each line: the captures, and the result of each.
  test.each<[number[], string[]]>([
    [[1150], ['00000000']],
    [[1151], ['20200003']],
    [
      [999, 151],
      ['00000000', '00000000'],
    ],
    [
      [999, 152, 151],
      ['00000000', '20200003', '00000000'],
    ],
    [
      [500, 500, 1],
      ['00000000', '00000000', '20200006'],
    ],
    [
      [1000, 1],
      ['00000000', '20200006'],
    ],
    [
      [1149, 1],
      ['00000000', '20200006'],
    ],
    [
      [1150, 1],
      ['00000000', '20200002'],
    ],
  ])('captures of %j on 1000: %j', async (values, codes) => {
    const payId = await shop.authorize('PROVIDERP')
    let taken = 0
    for (const [n, value] of values.entries()) {
      const { body } = await capture(payId, value)
      expect(body.responseCode).toBe(codes[n])
      if (body.status === 'OK') taken += value
    }
    expect(await sumsOf(payId)).toMatchObject({
      authorizedValue: 1000,
      capturedValue: taken,
      reversedValue: 0,
    })
  })

  test('rounded down where 115 % is not whole', async () => {
    const payId = await shop.authorize('PROVIDERP', { amount: { value: 101, currency: 'EUR' } })
    expect(await capture(payId, 117)).toMatchObject(refused('20200003'))
    expect(await capture(payId, 116)).toMatchObject(done('OK'))
  })

  test('captures with an unknown outcome count, and the payment closes at 100 %', async () => {
    const payId = await shop.authorize('PROVIDERP')
    await shop.fail({ operation: 'CAPTURE', fault: 'lost_answer' })
    expect(await capture(payId, 1000)).toMatchObject(pending)
    expect(await capture(payId, 1)).toMatchObject(refused('20200006'))
    await shop.advance('PT10S')
    expect(await capture(payId, 1)).toMatchObject(refused('20200006'))
    expect((await sumsOf(payId)).capturedValue).toBe(1000)
  })

  test('completeType closes it earlier; the rest lapses automatically', async () => {
    const payId = await shop.authorize('PROVIDERP')
    const open = methods({ providerP: { completeType: false } })
    expect(await capture(payId, 100, open)).toMatchObject(done('OK'))
    const close = methods({ providerP: { completeType: true } })
    expect(await capture(payId, 300, { ...close, simulationMode: '0305' })).toMatchObject(refused('24000305'))
    expect(await capture(payId, 300, close)).toMatchObject(done('OK'))
    expect(await capture(payId, 1)).toMatchObject(refused('20200006'))
    expect(await sumsOf(payId)).toMatchObject({ capturedValue: 400, reversedValue: 0 })
    await shop.advance('P29D')
    expect(await sumsOf(payId)).toMatchObject({ capturedValue: 400, reversedValue: 600 })
  })

  test('the whole captured amount can be refunded, also above the authorised amount, and no more', async () => {
    const payId = await shop.authorize('PROVIDERP')
    await capture(payId, 1150)
    expect(await shop.act(payId, 'refunds', 1151)).toMatchObject(refused('20200004'))
    const { body } = await shop.act(payId, 'refunds', 1150)
    expect(body.paymentMethods.providerP).toEqual({
      providerResponseCode: '00',
      grossRefundAmount: 1150,
      feeRefundAmount: 33,
      netRefundAmount: 1117,
    })
    expect(await sumsOf(payId)).toMatchObject({ capturedValue: 1150, refundedValue: 1150 })
  })

  test('a refund names the capture by its id, else it is the last one', async () => {
    const payId = await shop.authorize('PROVIDERP')
    await capture(payId, 300)
    await capture(payId, 400)
    const { operations } = await shop.read(payId)
    const { providerTransactionId } = operations[1]
    const named = methods({ providerP: { providerTransactionId } })
    expect(await shop.act(payId, 'refunds', 301, named)).toMatchObject(refused('20200004'))
    expect(await shop.act(payId, 'refunds', 300, named)).toMatchObject(done('OK'))
    expect(await shop.act(payId, 'refunds', 1, named)).toMatchObject(refused('20200004'))
    expect(await shop.act(payId, 'refunds', 400)).toMatchObject(done('OK'))
  })

  test('a declined refund shows the kind of decline, and no amounts', async () => {
    const payId = await shop.sell('PROVIDERP')
    const { body } = await shop.act(payId, 'refunds', 100, { simulationMode: '0313' })
    expect(body.paymentMethods).toEqual({
      providerP: { providerResponseCode: '13', providerDeclineCategory: expect.any(String) },
    })
  })
})

describe('provider P with confirm: true', () => {
  const later = (type = 'MANUAL'): Change => ({
    captureMethod: { type },
    paymentMethods: { integrationType: 'HOSTED', type: 'PROVIDERP', providerP: { confirm: true } },
  })
  async function approved(type?: string): Promise<string> {
    const { body } = await shop.create('PROVIDERP', later(type))
    expect(await shop.customer(body.payId, 'approve')).toMatchObject({
      status: 'AUTHORIZE_REQUEST',
      amount: { authorizedValue: 0 },
      operations: [{ type: 'AUTHORIZATION', status: 'AUTHORIZE_REQUEST' }],
    })
    return body.payId
  }

  test('20200010 before the customer has approved, and after they cancelled', async () => {
    const { body } = await shop.create('PROVIDERP', later())
    expect(await shop.act(body.payId, 'confirms', 1000)).toMatchObject(refused('20200010'))
    await shop.customer(body.payId, 'cancel')
    expect(await shop.act(body.payId, 'confirms', 1000)).toMatchObject(refused('20200010'))
  })

  test('200 the confirmation approves, with the code as a number', async () => {
    const payId = await approved()
    const confirmed = await shop.act(payId, 'confirms', 1000)
    expect(confirmed).toMatchObject(done('AUTHORIZED'))
    expect(confirmed.body.paymentMethods).toEqual({ providerP: { providerResponseCode: 0 } })
    expect(await capture(payId, 1150)).toMatchObject(done('OK'))
  })

  test('200 a lower amount becomes the authorised one, and 115 % of it the ceiling', async () => {
    const payId = await approved()
    expect(await shop.act(payId, 'confirms', 1001)).toMatchObject(refused('20200003'))
    expect(await shop.act(payId, 'confirms', 600)).toMatchObject(done('AUTHORIZED'))
    expect(await capture(payId, 691)).toMatchObject(refused('20200003'))
    expect(await capture(payId, 690)).toMatchObject(done('OK'))
  })

  test('200 AUTOMATIC captures with the confirmation, DELAYED at its hour', async () => {
    const at = await approved('AUTOMATIC')
    expect(await shop.act(at, 'confirms', 900)).toMatchObject(done('OK'))
    expect(await sumsOf(at)).toMatchObject({ authorizedValue: 900, capturedValue: 900 })
    const by = await approved()
    const delayed = { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 2 } } }
    expect(await shop.act(by, 'confirms', 1000, delayed)).toMatchObject(done('CAPTURE_REQUEST'))
    await shop.advance('PT2H')
    expect((await sumsOf(by)).capturedValue).toBe(1000)
  })

  test('422 a declined confirmation ends the payment, without another try on the page', async () => {
    const payId = await approved()
    const declined = await shop.act(payId, 'confirms', 1000, { simulationMode: '0351' })
    expect(declined).toMatchObject(refused('24000351'))
    expect(declined.body.paymentMethods).toEqual({ providerP: { providerResponseCode: 51 } })
    expect((await shop.customer(payId, 'approve')).status).toBe('FAILED')
  })

  test('FAILED 0402 when the merchant never confirms', async () => {
    const payId = await approved()
    await shop.advance('PT24H')
    expect(await shop.read(payId)).toMatchObject({ status: 'FAILED', responseCode: '24000402' })
  })
})

describe('provider T, whose authorisation can be raised and prolonged', () => {
  const plain = {
    authorizationExpiry: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    paymentReference: expect.stringMatching(/^T\d{10}$/),
    providerTransactionId: expect.stringMatching(/^sim/),
  }

  test('200 the result shows when the rest is released', async () => {
    const payId = await shop.authorize('PROVIDERT')
    const { now } = (await shop.call('GET', '/test/clock')).body
    const inDays = (days: number) => new Date(Date.parse(now) + days * 24 * 3_600_000).toISOString()
    const raised = await shop.act(payId, 'incrementals', 500, { duration: 2, metadata: { nights: 2 } })
    expect(raised).toMatchObject(done('OK'))
    expect(raised.body.paymentMethods).toEqual({ providerT: { ...plain, authorizationExpiry: inDays(32) } })
    expect(raised.body).not.toHaveProperty('metadata')
    const again = await shop.act(payId, 'incrementals', 100)
    expect(again.body.paymentMethods.providerT.authorizationExpiry).toBe(inDays(32))
    await shop.advance('P31D')
    expect(await capture(payId, 1601)).toMatchObject(refused('20200003'))
    expect(await capture(payId, 1500)).toMatchObject(done('OK'))
    await shop.advance('P1D')
    expect(await sumsOf(payId)).toMatchObject({
      authorizedValue: 1600,
      capturedValue: 1500,
      reversedValue: 100,
    })
  })

  test('422 a decline shows its reason and kind', async () => {
    const payId = await shop.authorize('PROVIDERT')
    const declined = await shop.act(payId, 'incrementals', 500, { duration: 2, simulationMode: '0361' })
    expect(declined).toMatchObject(refused('25000361'))
    expect(declined.body.paymentMethods).toEqual({
      providerT: {
        providerDeclineCategory: expect.any(String),
        providerResponseCode: '61',
        providerResponseText: 'Exceeds the withdrawal amount limit',
      },
    })
    expect((await sumsOf(payId)).authorizedValue).toBe(1000)
    await shop.advance('P30D')
    expect((await shop.read(payId)).status).toBe('REVERSED')
  })

  const account = {
    bankName: expect.any(String),
    code: expect.any(String),
    number: expect.stringMatching(/^DE\d{20}$/),
    accountHolderName: expect.any(String),
  }
  // Each line: the request's transfer fields, and the account in every result of the payment.
  test.each<[string, object, { account?: object }]>([
    ['BANK_TRANSFER', { transferType: 'BANK_TRANSFER' }, { account }],
    ['nothing', {}, {}],
  ])('200 the account to pay to, where the request said %s', async (_, providerT, told) => {
    const paymentMethods = { integrationType: 'HOSTED', type: 'PROVIDERT', providerT }
    const payId = await shop.authorize('PROVIDERT', { paymentMethods })
    const raised = await shop.act(payId, 'incrementals', 100)
    expect(raised.body.paymentMethods).toEqual({ providerT: { ...plain, ...told } })
    const captured = await capture(payId, 100)
    expect(captured.body.paymentMethods).toEqual({ providerT: { ...plain, ...told } })
    const record = await shop.read(payId)
    expect(record.paymentMethods.providerT.account).toEqual(told.account)
    const { paymentReference } = record.paymentMethods.providerT
    expect(raised.body.paymentMethods.providerT.paymentReference).toBe(paymentReference)
    expect(captured.body.paymentMethods.providerT.paymentReference).toBe(paymentReference)
  })

  test('400 any other transferType', async () => {
    const providerT = { transferType: 'CASH' }
    const paymentMethods = { integrationType: 'HOSTED', type: 'PROVIDERT', providerT }
    expect(await shop.create('PROVIDERT', { paymentMethods })).toMatchObject({
      status: 400,
      body: { field: 'paymentMethods.providerT.transferType' },
    })
  })
})

describe('provider Z', () => {
  test('200 one permission, and a charge and a refund under it', async () => {
    const payId = await shop.authorize('PROVIDERZ')
    const captured = (await capture(payId, 400)).body.paymentMethods.providerZ
    expect(captured).toEqual({
      providerResponseCode: '00',
      providerStatus: 'Completed',
      chargeId: expect.stringMatching(/^S01-\d{7}-\d{7}-C\d{6}$/),
    })
    const refunded = (await shop.act(payId, 'refunds', 400)).body.paymentMethods.providerZ
    expect(refunded.refundId).toMatch(/^S01-\d{7}-\d{7}-R\d{6}$/)
    expect(refunded.refundId.slice(0, 19)).toBe(captured.chargeId.slice(0, 19))
    expect(refunded.chargeId).toBe(captured.chargeId)
    expect(refunded).not.toHaveProperty('chargePermissionId')
  })

  test('200 a reversal with its reason closes the permission', async () => {
    const payId = await shop.authorize('PROVIDERZ')
    const reason = methods({ providerZ: { reversalReason: 'changed my mind' } })
    const { body } = await shop.act(payId, 'reversals', 1000, reason)
    expect(body.paymentMethods.providerZ.chargePermissionId).toMatch(/^S01-\d{7}-\d{7}$/)
    expect(body.paymentMethods.providerZ).not.toHaveProperty('refundId')
  })

  test('20200009 allows one capture only, and no increment', async () => {
    const payId = await shop.authorize('PROVIDERZ')
    expect(await shop.act(payId, 'incrementals', 1)).toMatchObject(refused('20200009'))
    expect(await capture(payId, 400)).toMatchObject(done('OK'))
    expect(await capture(payId, 600)).toMatchObject(refused('20200009'))
  })

  test('20200009 P allows no increment either', async () => {
    expect(await shop.act(await shop.authorize('PROVIDERP'), 'incrementals', 1)).toMatchObject(
      refused('20200009'),
    )
  })
})
