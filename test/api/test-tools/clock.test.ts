/** GET and POST /test/clock over HTTP: each merchant's own time, and the work that moving it runs. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { createTestClock } from '#operations/clock.ts'
import { type ClockStore, createClockStore } from '#storage/clock.ts'
import { openDatabase } from '#storage/database.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { beginPlan } from '#test/support/plans.ts'
import { done, openShop, refused, type Shop } from '#test/support/shop.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

// Real time: idempotency keys expire by the clock of the database, which no test can stop.
let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
const readNow = async (at = shop) => Date.parse((await at.call('GET', '/test/clock')).body.now)
const move = (body: object) => shop.call('POST', '/test/clock', body)

describe('the clock', () => {
  test('starts as real time', async () => {
    const before = Date.now()
    const now = await readNow()
    expect(now).toBeGreaterThanOrEqual(before)
    expect(now).toBeLessThanOrEqual(Date.now())
  })

  test.each([
    ['PT1H', 60 * minuteMs],
    ['P1DT30M', dayMs + 30 * minuteMs],
    ['P2W', 14 * dayMs],
    ['PT90S', 1.5 * minuteMs],
  ])('moves by %s', async (advance, byMs) => {
    const before = await readNow()
    const moved = await move({ advance })
    expect(moved.status).toBe(200)
    const elapsed = Date.parse(moved.body.now) - before
    expect(elapsed).toBeGreaterThanOrEqual(byMs)
    expect(elapsed).toBeLessThan(byMs + minuteMs)
  })

  test('moves to an instant, and keeps running from there', async () => {
    const target = new Date((await readNow()) + 3 * dayMs).toISOString()
    const moved = await move({ now: target })
    expect(Date.parse(moved.body.now)).toBeGreaterThanOrEqual(Date.parse(target))
    expect(await readNow()).toBeGreaterThanOrEqual(Date.parse(moved.body.now))
  })

  test('is each merchant’s own', async () => {
    const neighbour = await openShop(gateway)
    await move({ advance: 'P100D' })
    expect((await readNow(neighbour)) - Date.now()).toBeLessThan(minuteMs)
    const payId = await neighbour.authorize('CARD')
    await shop.advance('P100D')
    expect((await neighbour.read(payId)).status).toBe('AUTHORIZED')
  })

  test('dates payments by the moved clock', async () => {
    await shop.advance('P365D')
    const { body } = await shop.create('CARD')
    const { creationDate, operations } = await shop.read(body.payId)
    for (const date of [creationDate, operations[0].creationDate]) {
      expect(Math.abs(Date.parse(date) - (await readNow()))).toBeLessThan(minuteMs)
    }
  })

  test('makes cards expire', async () => {
    const card = { expiryDate: '203012' }
    expect(await shop.create('CARD', { card })).toMatchObject(done('OK'))
    await move({ now: '2031-01-01T12:00:00Z' })
    expect(await shop.create('CARD', { card })).toMatchObject(refused('21000354'))
  })

  test.each([
    ['now', { now: '2020-01-01T00:00:00Z' }],
    ['now', { now: 'tomorrow' }],
    ['advance', { advance: '1 hour' }],
    ['advance', { advance: '-PT1H' }],
    ['advance', { advance: 'P200Y' }],
    ['now', { now: '2200-01-01T00:00:00Z' }],
    ['body', {}],
    ['body', { advance: 'PT1H', now: '2040-01-01T00:00:00Z' }],
    ['speed', { speed: 2 }],
    ['speed', { advance: 'PT1H', speed: 2 }],
  ])('400 %s %j, and it stands', async (field, body) => {
    const before = await readNow()
    expect(await move(body)).toMatchObject({ status: 400, body: { field, error: expect.any(String) } })
    expect((await readNow()) - before).toBeLessThan(minuteMs)
  })

  test('400 beyond 2199, however often it is moved; at the end of its time payments are made as ever', async () => {
    expect((await move({ advance: 'P90Y' })).status).toBe(200)
    expect(await move({ advance: 'P90Y' })).toMatchObject({ status: 400, body: { field: 'advance' } })
    expect((await move({ now: '2199-12-31T23:59:00Z' })).status).toBe(200)
    expect(await shop.create('CARD', { card: { expiryDate: '219912' } })).toMatchObject(done('OK'))
    const urls = { return: 'https://shop.example/a', cancel: 'https://shop.example/b' }
    const order = { transId: 'late', amount: { value: 1, currency: 'EUR' } }
    expect((await shop.call('POST', '/payments/sessions', { ...order, urls })).status).toBe(200)
  })

  test('400 when a plan would be charged more than 5,000 times in one call', async () => {
    const recurring = { frequency: 'DAILY', useCase: 'FIXED', autoCharge: true }
    expect((await beginPlan(shop, { recurring })).status).toBe(200)
    expect(await move({ advance: 'P100Y' })).toMatchObject({
      status: 400,
      body: { field: 'advance', error: expect.stringMatching(/about 36\d{3} charges.*smaller steps/) },
    })
    expect((await move({ advance: 'P3D' })).status).toBe(200)
  })

  test('one call runs a limited number of timers, and a step to the first due timer is always possible', async () => {
    const own = await openShop(gateway)
    for (const delayedHours of [5, 6, 7])
      await own.create('CARD', { captureMethod: { type: 'DELAYED', delayed: { delayedHours } } })
    const database = openDatabase(gateway.databaseUrl, () => undefined)
    try {
      const clock = { nowMs: Date.now, waitMs: async () => {} }
      const merchant = { merchantId: own.merchantId as MerchantId, clockOffsetMs: 0 } as Merchant
      const { isTooMuch } = createTestClock({
        ...{
          clock,
          store: createClockStore(database),
          onChange: () => {},
          findMerchant: async () => merchant,
        },
        ...{ runDue: async () => 0, finishTimers: async () => 0, reap: async () => 0 },
      })
      const inHours = (hours: number) => Date.now() + hours * 60 * minuteMs
      expect(await isTooMuch(merchant, inHours(8), 3)).toBe(false)
      expect(await isTooMuch(merchant, inHours(8), 2)).toBe(true)
      expect(await isTooMuch(merchant, inHours(5.5), 0)).toBe(true)
      expect(await isTooMuch(merchant, inHours(5), 0)).toBe(false)
    } finally {
      await database.close()
    }
  })

  test('a move waits for timers of the background worker as long as some of them run', async () => {
    let nowMs = 0
    let left = 5
    const merchant = { merchantId: shop.merchantId as MerchantId, clockOffsetMs: 0 } as Merchant
    const hasDue = async () => left > 0
    const store = {
      advance: async () => {},
      hasDue,
      listSentElsewhere: async () => [],
    } as unknown as ClockStore
    const pass = async (milliseconds: number) => {
      nowMs += milliseconds
    }
    const { move } = createTestClock({
      ...{ store, onChange: () => {}, findMerchant: async () => merchant },
      clock: { nowMs: () => nowMs, waitMs: pass },
      ...{ runDue: async () => 0, reap: async () => 0 },
      // One after the other, because their provider hangs.
      async finishTimers() {
        if (left === 0) return 0
        left -= 1
        await pass(20_000)
        return 1
      },
    })
    expect((await move(merchant, { byMs: minuteMs })).getTime()).toBe(5 * 20_000)
  })

  test('401 without credentials', async () => {
    expect((await shop.call('GET', '/test/clock', undefined, { authorization: 'Basic eDp5' })).status).toBe(
      401,
    )
  })
})

describe('moving it returns when all due work has run', () => {
  test('inquiries, delayed captures, lapses and expiries of many payments', async () => {
    // More than the worker runs in one round.
    const count = 60
    const each = <T>(make: () => Promise<T>) => Promise.all(Array.from({ length: count }, make))
    const unheard = await each(() => shop.authorize('CARD', { card: { number: '4000000000000101' } }))
    const later = { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 3 } } }
    const delayed = await each(() => shop.authorize('CARD', later))
    const forgotten = await each(() => shop.authorize('PROVIDERM'))
    const waiting = await each(async () => (await shop.create('PROVIDERK')).body.payId as string)
    await shop.advance('P8D')
    const statuses = async (payIds: string[]) => [
      ...new Set(await Promise.all(payIds.map(async payId => (await shop.read(payId)).status))),
    ]
    expect(await statuses(unheard)).toEqual(['REVERSED'])
    expect(await statuses(delayed)).toEqual(['OK'])
    expect(await statuses(forgotten)).toEqual(['REVERSED'])
    expect(await statuses(waiting)).toEqual(['FAILED'])
  })

  test('also when several callers move it at once', async () => {
    const payId = await shop.authorize('CARD')
    const before = await readNow()
    await Promise.all(Array.from({ length: 5 }, () => shop.advance('P2D')))
    expect((await shop.read(payId)).status).toBe('REVERSED')
    expect(await shop.events(payId)).toHaveLength(1)
    expect(await readNow()).toBeGreaterThanOrEqual(before + 2 * dayMs)
  })

  test('and when several move it to instants at once, it stands at the last of these', async () => {
    const last = (await readNow()) + 40 * dayMs
    const instants = [0, 1, 2, 3, 4].map(days => new Date(last - days * dayMs).toISOString())
    const answers = await Promise.all(instants.map(now => move({ now })))
    // An instant before the current time of the clock is refused.
    expect(answers.map(({ status }) => status).filter(status => status !== 400)).toContain(200)
    const now = await readNow()
    expect(now).toBeGreaterThanOrEqual(last)
    expect(now).toBeLessThan(last + dayMs)
  })
})

describe('keys are kept for 30 days', () => {
  const key = { 'idempotency-key': 'kept' }

  test('of the merchant’s own time', async () => {
    const payId = await shop.sell('CARD')
    const first = await shop.act(payId, 'refunds', 100, {}, key)
    await shop.advance('P29DT23H')
    expect((await shop.act(payId, 'refunds', 100, {}, key)).text).toBe(first.text)
    await shop.advance('PT1H1S')
    const anew = await shop.act(payId, 'refunds', 100, {}, key)
    expect(anew).toMatchObject(done('OK'))
    expect(anew.headers.get('idempotent-replayed')).toBeNull()
    expect(anew.body.xId).not.toBe(first.body.xId)
    expect((await shop.read(payId)).amount.refundedValue).toBe(200)
  })

  test('another merchant’s keys are kept', async () => {
    const neighbour = await openShop(gateway)
    const payId = await neighbour.sell('CARD')
    const first = await neighbour.act(payId, 'refunds', 100, {}, key)
    await shop.advance('P31D')
    expect((await neighbour.act(payId, 'refunds', 100, {}, key)).text).toBe(first.text)
  })

  test('any number of keys is deleted', async () => {
    await queryRows(
      gateway.databaseUrl,
      `INSERT INTO idempotency_key (merchant_id, verb, path, key, fingerprint, answer_status, answer_body, created_at)
       SELECT $1, 'POST', '/payments', 'bulk-' || i, repeat('0', 64), 200, '{}', now()
       FROM generate_series(1, 12000) i`,
      [shop.merchantId],
    )
    await shop.advance('P31D')
    const left = await queryRows(
      gateway.databaseUrl,
      'SELECT count(*)::int AS count FROM idempotency_key WHERE merchant_id = $1',
      [shop.merchantId],
    )
    expect(left).toEqual([{ count: 0 }])
  })
})

describe('access tokens', () => {
  const issue = async () => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: shop.merchantId,
      client_secret: shop.apiKey,
    }).toString()
    const { body } = await shop.call('POST', '/authorization/oauth/token', form, {
      'content-type': 'application/x-www-form-urlencoded',
    })
    return { authorization: `Bearer ${body.access_token}` }
  }
  const look = (headers: Record<string, string>) => shop.call('GET', '/test/clock', undefined, headers)

  test('end an hour of the merchant’s time after they were issued', async () => {
    const token = await issue()
    expect((await look(token)).status).toBe(200)
    await shop.advance('PT59M')
    expect((await look(token)).status).toBe(200)
    await shop.advance('PT1M1S')
    expect((await look(token)).status).toBe(401)
    expect((await look(await issue())).status).toBe(200)
  })

  test('of a merchant who moved its clock far ahead are valid for an hour from there', async () => {
    await shop.advance('P400D')
    const token = await issue()
    expect((await look(token)).status).toBe(200)
    await shop.advance('PT61M')
    expect((await look(token)).status).toBe(401)
  })
})
