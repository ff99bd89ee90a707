/** POST /payments/{id}/captures over HTTP: partial captures and every guard that can be reached. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock, dayMs, secondMs } from '#test/support/clock.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { countEvents, findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let acquirer: Acquirer
let gateway: TestGateway
beforeAll(async () => {
  acquirer = createAcquirer()
  gateway = await startTestGateway({ clock, connectors: acquirer.connectors })
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

async function authorize(change: Parameters<typeof cardPayment>[0] = {}): Promise<string> {
  const created = await gateway.call(
    'POST',
    '/payments',
    cardPayment({ captureMethod: { type: 'MANUAL' }, ...change }),
  )
  return created.body.payId
}
const capture = (payId: string, value: number, more: object = {}, headers?: Record<string, string>) =>
  gateway.call(
    'POST',
    `/payments/${payId}/captures`,
    { transId: 'parcel', amount: { value, currency: 'EUR' }, ...more },
    headers,
  )
const manual = (given: object) => ({ captureMethod: { manual: given } })
const read = async (payId: string) => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body
const sumOf = async (payId: string) => (await read(payId)).amount.capturedValue
const refused = (responseCode: string) => ({ status: 422, body: { status: 'FAILED', responseCode } })

describe('captures', () => {
  test('200 captures all at once', async () => {
    const payId = await authorize()
    const captured = await capture(payId, 1000, { refNr: 'r-1', metadata: { parcel: 1 } })
    expect(captured).toMatchObject({
      status: 200,
      body: {
        payId,
        merchantId: gateway.merchantId,
        transId: 'parcel',
        refNr: 'r-1',
        status: 'OK',
        responseCode: '00000000',
        metadata: { parcel: 1 },
        paymentMethods: { card: { providerResponseCode: '00' } },
      },
    })
    expect(await read(payId)).toMatchObject({
      status: 'OK',
      xId: captured.body.xId,
      amount: { authorizedValue: 1000, capturedValue: 1000 },
      operations: [
        { type: 'AUTHORIZATION' },
        { type: 'CAPTURE', xId: captured.body.xId, transId: 'parcel', refNr: 'r-1' },
      ],
    })
  })

  test('200 partial captures up to the last cent', async () => {
    const payId = await authorize()
    for (const [value, sum] of [
      [1, 1],
      [499, 500],
      [500, 1000],
    ] as const) {
      expect((await capture(payId, value)).status).toBe(200)
      expect(await sumOf(payId)).toBe(sum)
    }
    expect(await capture(payId, 1)).toMatchObject(refused('20200002'))
    expect((await read(payId)).operations).toHaveLength(4)
  })

  test('422 a decline leaves the payment as it was', async () => {
    const payId = await authorize({ card: { number: '4000000000000341' } })
    expect(await capture(payId, 400)).toMatchObject(refused('21000305'))
    expect(await read(payId)).toMatchObject({
      status: 'AUTHORIZED',
      amount: { capturedValue: 0 },
      operations: [{ status: 'AUTHORIZED' }, { type: 'CAPTURE', status: 'FAILED' }],
    })
    expect((await capture(payId, 1000, { simulationMode: '0000' })).status).toBe(200)
  })

  test('422 simulationMode declines a capture, too', async () => {
    const payId = await authorize()
    expect(await capture(payId, 400, { simulationMode: 'Test:0361' })).toMatchObject(refused('21000361'))
    expect(await sumOf(payId)).toBe(0)
  })

  test('422 21000391 when it never arrives, and the amount is free again', async () => {
    const payId = await authorize()
    acquirer.failNext('CAPTURE', 'lost_request')
    expect(await capture(payId, 1000)).toMatchObject(refused('21000391'))
    expect((await capture(payId, 1000)).status).toBe(200)
  })

  test.each(['lost_answer', 'throws'] as const)('200 PENDING after %s counts as taken', async fault => {
    const payId = await authorize()
    acquirer.failNext('CAPTURE', fault)
    const pending = await capture(payId, 700)
    expect(pending).toMatchObject({ status: 200, body: { status: 'PENDING', responseCode: '60000200' } })
    expect(await read(payId)).toMatchObject({ status: 'AUTHORIZED', amount: { capturedValue: 0 } })
    expect(await capture(payId, 301)).toMatchObject(refused('20200003'))
    expect((await capture(payId, 300)).status).toBe(200)
    expect(await capture(payId, 1)).toMatchObject(refused('20200002'))
    clock.move(10 * secondMs)
    expect(await gateway.gateway.timerWorker.runDue()).toBe(1)
    expect(await sumOf(payId)).toBe(1000)
    expect(await countEvents(gateway.databaseUrl, pending.body.xId)).toBe(1)
  })
})

describe('guards, the first that fails is the answer', () => {
  test('422 20200001 a payment that is not authorised', async () => {
    const failed = await authorize({ card: { number: '4000000000000002' } })
    expect(await capture(failed, 1)).toMatchObject(refused('20200001'))
    acquirer.failNext('AUTHORIZATION', 'lost_answer')
    const pending = await authorize()
    expect(await capture(pending, 1)).toMatchObject(refused('20200014'))
    clock.move(10 * secondMs)
    await gateway.gateway.timerWorker.runDue()
    expect((await capture(pending, 1)).status).toBe(200)
  })

  test('422 20200007 an authorisation that has lapsed, whatever else is wrong', async () => {
    const payId = await authorize()
    const partly = await authorize()
    const fully = await authorize()
    await capture(partly, 400)
    await capture(fully, 1000)
    clock.move(7 * dayMs - secondMs)
    expect((await capture(payId, 100)).status).toBe(200)
    clock.move(secondMs)
    const wrong = { amount: { value: 5000, currency: 'USD' } }
    expect(await capture(payId, 1, wrong)).toMatchObject(refused('20200007'))
    expect(await capture(partly, 1, wrong)).toMatchObject(refused('20200007'))
    // A payment that is captured in full cannot lapse any more.
    expect(await capture(fully, 1, wrong)).toMatchObject(refused('20200002'))
  })

  test('422 20200002 already captured by the creation', async () => {
    const payId = await authorize({ captureMethod: { type: 'AUTOMATIC' } })
    expect(await capture(payId, 1)).toMatchObject(refused('20200002'))
    expect(await capture(payId, 1, { amount: { value: 1, currency: 'USD' } })).toMatchObject(
      refused('20200002'),
    )
  })

  test.each([
    ['final', manual({ final: true })],
    ['finishAuth', { paymentMethods: { card: { finishAuth: true } } }],
  ])('422 20200006 after %s', async (_, closing) => {
    const payId = await authorize()
    expect(await capture(payId, 400, { ...closing, simulationMode: '0305' })).toMatchObject(
      refused('21000305'),
    )
    expect((await capture(payId, 400, closing)).status).toBe(200)
    expect(await capture(payId, 1, { amount: { value: 1, currency: 'USD' } })).toMatchObject(
      refused('20200006'),
    )
  })

  test('422 20200006 after 50 captures', async () => {
    const payId = await authorize()
    for (let count = 0; count < 50; count++) expect((await capture(payId, 1)).status).toBe(200)
    expect(await capture(payId, 1)).toMatchObject(refused('20200006'))
    expect(await sumOf(payId)).toBe(50)
  })

  test('422 20200005 another currency', async () => {
    const payId = await authorize()
    expect(
      await capture(payId, 1, {
        amount: { value: 5000, currency: 'USD' },
        ...manual({ currentSequence: 1 }),
      }),
    ).toMatchObject(refused('20200005'))
  })

  test('422 20200013 a number of the series that was used or lies above its total', async () => {
    const payId = await authorize()
    expect((await capture(payId, 100, manual({ currentSequence: 1, total: 3 }))).status).toBe(200)
    expect(await capture(payId, 5000, manual({ currentSequence: 1, total: 3 }))).toMatchObject(
      refused('20200013'),
    )
    expect(await capture(payId, 100, manual({ currentSequence: 4, total: 3 }))).toMatchObject(
      refused('20200013'),
    )
    expect(await capture(payId, 100, manual({ currentSequence: 4 }))).toMatchObject(refused('20200013'))
    const declined = { ...manual({ currentSequence: 2, total: 3 }), simulationMode: '0305' }
    expect(await capture(payId, 100, declined)).toMatchObject(refused('21000305'))
    expect((await capture(payId, 100, manual({ currentSequence: 2, total: 3 }))).status).toBe(200)
    expect(await sumOf(payId)).toBe(200)
  })

  test('422 20200003 captures above the open amount', async () => {
    const payId = await authorize()
    expect(await capture(payId, 1001)).toMatchObject(refused('20200003'))
    expect((await capture(payId, 600)).status).toBe(200)
    expect(await capture(payId, 401)).toMatchObject(refused('20200003'))
    expect(await sumOf(payId)).toBe(600)
    expect((await capture(payId, 400)).status).toBe(200)
  })

  test('a refusal is no operation and is not sent to the provider', async () => {
    const payId = await authorize()
    const before = acquirer.ledger.length
    const answer = await capture(payId, 1001, { refNr: 'r', metadata: { a: 1 } })
    expect(answer.body).toMatchObject({ payId, transId: 'parcel', refNr: 'r', metadata: { a: 1 } })
    expect((await read(payId)).operations).toHaveLength(1)
    expect(acquirer.ledger).toHaveLength(before)
  })
})

describe('bad requests', () => {
  test.each([
    ['amount', { amount: undefined }],
    ['amount.value', { amount: { value: 0, currency: 'EUR' } }],
    ['amount.value', { amount: { value: 1.5, currency: 'EUR' } }],
    ['amount.value', { amount: { value: '100', currency: 'EUR' } }],
    ['amount.value', { amount: { value: 1_000_000_000_000, currency: 'EUR' } }],
    ['amount.currency', { amount: { value: 1, currency: 'eur' } }],
    ['amount.currency', { amount: { value: 1, currency: 'XXX' } }],
    ['amount.taxTotal', { amount: { value: 1, currency: 'EUR', taxTotal: 1 } }],
    ['transId', { transId: undefined }],
    ['transId', { transId: '' }],
    ['transId', { transId: 'x'.repeat(65) }],
    ['refNr', { refNr: 'x'.repeat(41) }],
    ['captureMethod.type', { captureMethod: { type: 'MANUAL' } }],
    ['captureMethod.manual.currentSequence', manual({ currentSequence: 0 })],
    ['captureMethod.manual.final', manual({ final: 'yes' })],
    ['paymentMethods.card.number', { paymentMethods: { card: { number: '4111111111111111' } } }],
    ['surprise', { surprise: 1 }],
  ])('400 %s %j', async (field, change) => {
    const payId = await authorize()
    const answer = await capture(payId, 100, change)
    expect(answer).toMatchObject({ status: 400, body: { field, error: expect.stringContaining(field) } })
    expect(await sumOf(payId)).toBe(0)
  })

  test.each(['nonsense', '0'.repeat(32), '0'.repeat(64)])('404 %s', async id => {
    expect((await capture(id, 100)).status).toBe(404)
  })
})
