/** Effects of time alone, over HTTP: authorisations lapse, customers and confirmations come too late. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import {
  done,
  openShop,
  pending,
  refused,
  type ServedType,
  type Shop,
  toldByApproval,
} from '#test/support/shop.ts'
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
  await gateway.stop()
})

const authorizationDays: Record<ServedType, number> = {
  CARD: 7,
  DIRECTDEBIT: 30,
  PROVIDERK: 28,
  PROVIDERM: 7,
  PROVIDERR: 30,
  PROVIDERP: 29,
  PROVIDERT: 30,
  PROVIDERZ: 30,
}
const lives = Object.entries(authorizationDays) as [ServedType, number][]

describe.each(lives)('an authorisation of %s', (type, days) => {
  /** The events after those of the approval. */
  const told = async (payId: string) => (await shop.events(payId)).slice(toldByApproval(type))

  test(`lapses after ${days} days, wholly, with one event`, async () => {
    const payId = await shop.authorize(type)
    const { transId, xId } = await shop.read(payId)
    await shop.advance(`P${days - 1}DT23H59M59S`)
    expect((await shop.read(payId)).status).toBe('AUTHORIZED')
    await shop.advance('PT1S')
    expect(await shop.read(payId)).toMatchObject({
      status: 'REVERSED',
      amount: { authorizedValue: 1000, capturedValue: 0, reversedValue: 1000 },
    })
    expect(await told(payId)).toMatchObject([{ xId, status: 'REVERSED', sequence: 1 + toldByApproval(type) }])
    await shop.advance('P90D')
    expect(await told(payId)).toHaveLength(1)
    for (const operation of ['captures', 'reversals'] as const) {
      expect(await shop.act(payId, operation, 1)).toMatchObject(refused('20200007'))
    }
    expect(await shop.act(payId, 'refunds', 1)).toMatchObject(refused('20200004'))
    expect((await shop.create(type, { transId })).status).toBe(200)
  })

  test('lapses in part after a partial capture, and stays OK', async () => {
    const payId = await shop.authorize(type)
    await shop.act(payId, 'captures', 400)
    await shop.advance(`P${days}D`)
    expect(await shop.read(payId)).toMatchObject({
      status: 'OK',
      amount: { capturedValue: 400, reversedValue: 600 },
    })
    expect(await told(payId)).toMatchObject([{ status: 'OK' }])
    expect(await shop.act(payId, 'captures', 1)).toMatchObject(refused('20200007'))
    expect(await shop.act(payId, 'refunds', 400)).toMatchObject(done('OK'))
  })

  test('does not lapse when it is captured in full', async () => {
    const payId = await shop.sell(type)
    await shop.advance(`P${days}D`)
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', amount: { reversedValue: 0 } })
    expect(await told(payId)).toEqual([])
    // The method that allows captures above the authorised amount is closed at 100 %.
    const full = type === 'PROVIDERP' ? '20200006' : '20200002'
    expect(await shop.act(payId, 'captures', 1)).toMatchObject(refused(full))
  })
})

describe('with an unknown outcome under way', () => {
  test('an unknown capture is not released; when it fails, the rest lapses at once', async () => {
    const payId = await shop.authorize('CARD')
    await shop.advance('P6DT23H59M55S')
    await shop.fail({ operation: 'CAPTURE', fault: 'lost_answer' })
    expect(await shop.act(payId, 'captures', 700, { simulationMode: '0305' })).toMatchObject(pending)
    await shop.advance('PT5S')
    expect(await shop.read(payId)).toMatchObject({ status: 'AUTHORIZED', amount: { reversedValue: 300 } })
    await shop.advance('PT5S')
    expect(await shop.read(payId)).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
  })

  test('an unknown capture that turns out approved stays captured', async () => {
    const payId = await shop.authorize('CARD')
    await shop.advance('P6DT23H59M55S')
    await shop.fail({ operation: 'CAPTURE', fault: 'lost_answer' })
    await shop.act(payId, 'captures', 700)
    await shop.advance('P1D')
    expect(await shop.read(payId)).toMatchObject({
      status: 'OK',
      amount: { capturedValue: 700, reversedValue: 300 },
    })
  })

  test('an unknown reversal and the end of the authorisation release each cent once', async () => {
    const payId = await shop.authorize('CARD')
    await shop.advance('P6DT23H59M55S')
    await shop.fail({ operation: 'REVERSAL', fault: 'lost_answer' })
    await shop.act(payId, 'reversals', 700)
    await shop.advance('PT5S')
    expect((await shop.read(payId)).amount.reversedValue).toBe(300)
    await shop.advance('PT5S')
    expect(await shop.read(payId)).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
  })

  test('an authorisation that was settled late lives from then on', async () => {
    const payId = await shop.authorize('CARD', { card: { number: '4000000000000101' } })
    await shop.advance('PT10S')
    await shop.advance('P6DT23H59M59S')
    expect((await shop.read(payId)).status).toBe('AUTHORIZED')
    await shop.advance('PT1S')
    expect((await shop.read(payId)).status).toBe('REVERSED')
    expect(await shop.events(payId)).toMatchObject([{ status: 'AUTHORIZED' }, { status: 'REVERSED' }])
  })
})

describe('a payment that waits for its confirmation', () => {
  test.each([
    ['PROVIDERK', {}, '25000402'],
    ['PROVIDERR', {}, '25000402'],
    ['CARD', { card: { eventToken: 'ORDER' } }, '21000402'],
  ] as const)('%s fails after 24 hours', async (type, change, code) => {
    const { body } = await shop.create(type, change)
    await shop.advance('PT23H59M59S')
    expect((await shop.read(body.payId)).status).toBe('AUTHORIZE_REQUEST')
    await shop.advance('PT1S')
    expect(await shop.read(body.payId)).toMatchObject({
      status: 'FAILED',
      responseCode: code,
      operations: [{ status: 'FAILED', responseCode: code }],
    })
    expect(await shop.events(body.payId)).toMatchObject([
      { xId: body.xId, status: 'FAILED', responseCode: code },
    ])
    expect(await shop.create(type, { ...change, transId: body.transId })).toMatchObject({ status: 200 })
  })

  test('fails at its expirationTime, whether that is before or after the 24 hours', async () => {
    const { now } = (await shop.call('GET', '/test/clock')).body
    const at = (hours: number) => new Date(Date.parse(now) + hours * 3_600_000).toISOString()
    const soon = (await shop.create('PROVIDERK', { expirationTime: at(2) })).body.payId
    const late = (await shop.create('PROVIDERK', { expirationTime: at(72) })).body.payId
    expect((await shop.read(soon)).expirationTime).toBe(at(2))
    await shop.advance('PT1H59M59S')
    expect((await shop.read(soon)).status).toBe('AUTHORIZE_REQUEST')
    await shop.advance('PT1S')
    expect((await shop.read(soon)).status).toBe('FAILED')
    await shop.advance('PT69H')
    expect((await shop.read(late)).status).toBe('AUTHORIZE_REQUEST')
    await shop.advance('PT1H')
    expect((await shop.read(late)).status).toBe('FAILED')
  })

  test('does not fail once it is confirmed, nor while its confirmation is unknown', async () => {
    const one = (await shop.create('PROVIDERR')).body.payId
    const other = (await shop.create('PROVIDERR')).body.payId
    await shop.advance('PT23H59M55S')
    expect(await shop.act(one, 'confirms', 1000)).toMatchObject(done('OK'))
    await shop.fail({ operation: 'CONFIRM', fault: 'lost_answer' })
    expect(await shop.act(other, 'confirms', 1000)).toMatchObject(pending)
    await shop.advance('PT5S')
    expect((await shop.read(one)).status).toBe('OK')
    expect((await shop.read(other)).status).toBe('PENDING')
    await shop.advance('PT5S')
    expect((await shop.read(other)).status).toBe('OK')
  })

  test.each([
    ['the past', -1],
    ['more than 70 days ahead', 70 * 24 + 1],
  ])('400 an expirationTime in %s', async (_, hours) => {
    const { now } = (await shop.call('GET', '/test/clock')).body
    const expirationTime = new Date(Date.parse(now) + hours * 3_600_000).toISOString()
    expect(await shop.create('PROVIDERK', { expirationTime })).toMatchObject({
      status: 400,
      body: { field: 'expirationTime' },
    })
  })
})
