/** Webhooks as a merchant gets them: content, retries and order. */
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Receiver, startReceiver } from '#test/support/receiver.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'
import { eventsOf, lostAnswer, plainHeaders, raiseEvent, tellingOf } from '#test/support/webhooks.ts'

/** It stands still unless the test moves the merchant's clock, so that no retry comes by itself. */
const clock = createTestClock(Date.now())
let gateway: TestGateway
let shop: Shop
let receiver: Receiver
beforeAll(async () => {
  gateway = await startTestGateway({ clock })
})
beforeEach(async () => {
  shop = await openShop(gateway)
  receiver = await startReceiver()
})
afterEach(() => receiver.close())
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const hook = () => tellingOf(receiver)
const raise = (more: object = hook()) => raiseEvent(shop, more)
const eventOf = async (payId: string) => (await eventsOf(shop, payId))[0]

describe('an event', () => {
  test('arrives with the enhanced body and a signature that others can verify', async () => {
    const created = await gateway.gateway.merchants.create('Signed')
    const payId = await raise()
    const [heard] = receiver.heard
    expect(receiver.heard).toHaveLength(1)
    const record = await shop.read(payId)
    expect(heard?.body).toEqual({
      type: 'payment.captured',
      payId,
      merchantId: shop.merchantId,
      transId: record.transId,
      status: 'OK',
      responseCode: '00000000',
      responseDescription: expect.any(String),
      amount: {
        value: 1000,
        currency: 'EUR',
        authorizedValue: 1000,
        capturedValue: 1000,
        refundedValue: 0,
        reversedValue: 0,
        returnedValue: 0,
        disputedValue: 0,
      },
      operation: {
        xId: record.operations[1].xId,
        type: 'CAPTURE',
        status: 'OK',
        amount: { value: 1000, currency: 'EUR' },
        responseCode: '00000000',
        responseDescription: expect.any(String),
      },
      paymentMethods: [{ type: 'CARD' }],
      creationDate: record.creationDate,
      sequence: 1,
      xId: record.operations[0].xId,
    })
    const event = await eventOf(payId)
    expect(heard?.headers['webhook-id']).toBe(event.id)
    // Another merchant's secret does not verify the message.
    expect(() =>
      new Webhook(created.webhookSecret).verify(heard?.raw ?? '', plainHeaders(heard?.headers)),
    ).toThrow()
  })

  test('is verified by an independent implementation with the secret that was shown', async () => {
    const { merchantId, webhookSecret, apiKey } = await gateway.gateway.merchants.create('Signed')
    const authorization = `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`
    shop = { ...shop, merchantId, call: (v, p, b, h) => gateway.call(v, p, b, { authorization, ...h }) }
    const { body } = await shop.call('POST', '/payments', {
      transId: 'signed',
      amount: { value: 1000, currency: 'EUR' },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'CARD',
        card: { number: '4000000000000101', expiryDate: '203012' },
      },
      ...hook(),
    })
    await shop.call('POST', '/test/clock', { advance: 'PT11S' })
    const verify = (secret: string, index = 0) =>
      new Webhook(secret).verify(
        receiver.heard[index]?.raw ?? '',
        plainHeaders(receiver.heard[index]?.headers),
      )
    expect(verify(webhookSecret)).toMatchObject({ payId: body.payId })

    // While the secret rotates both verify the message; a day later only the new one does.
    const next = (await gateway.gateway.merchants.rotateWebhookSecret(merchantId, 24)) ?? ''
    const id = receiver.heard[0]?.headers['webhook-id']
    await shop.call('POST', `/events/${id}/replays`)
    await receiver.reached(2)
    expect(verify(webhookSecret, 1)).toEqual(verify(next, 1))
    expect(receiver.heard[1]?.headers['webhook-signature']).toMatch(/^v1,\S{44} v1,\S{44}$/)
    await shop.call('POST', '/test/clock', { advance: 'PT25H' })
    await shop.call('POST', `/events/${id}/replays`)
    await receiver.reached(3)
    expect(verify(next, 2)).toMatchObject({ payId: body.payId })
    expect(() => verify(webhookSecret, 2)).toThrow()
  })

  test('carries real time, whatever the test clock says', async () => {
    await shop.advance('P30D')
    await raise()
    const seconds = Number(receiver.heard[0]?.headers['webhook-timestamp'])
    expect(seconds).toBe(Math.floor(clock.nowMs() / 1000))
  })

  test('goes to the merchant’s own address when the payment names none', async () => {
    await gateway.gateway.merchants.set(shop.merchantId, { webhookUrl: `${receiver.url}/own?shop=1` })
    const payId = await raise({})
    expect(receiver.heard.map(({ path }) => path)).toEqual(['/own?shop=1'])
    expect(await eventOf(payId)).toMatchObject({ status: 'DELIVERED', url: `${receiver.url}/own?shop=1` })
  })

  test('is only the payId, unsigned, for a merchant of the basic kind', async () => {
    await gateway.gateway.merchants.set(shop.merchantId, { webhookKind: 'BASIC' })
    const payId = await raise()
    expect(receiver.heard.map(({ raw }) => raw)).toEqual([JSON.stringify({ payId })])
    expect(receiver.heard[0]?.headers).not.toHaveProperty('webhook-signature')
  })

  test('without any address fails at once and says why', async () => {
    const payId = await raise({})
    const event = await eventOf(payId)
    expect(event).toMatchObject({
      status: 'FAILED',
      attempts: [{ answer: expect.stringContaining('address') }],
    })
    expect(event).not.toHaveProperty('url')
    expect(event.attempts[0]).not.toHaveProperty('status')
  })

  test('is written for a payment whose address an earlier release stored with more characters than an event can have', async () => {
    const long = `http://localhost/${'é'.repeat(500)}`
    const refused = await shop.create('CARD', { urls: { webhook: long } })
    expect(refused).toMatchObject({ status: 400, body: { field: 'urls.webhook' } })
    const { payId } = (await shop.create('CARD', lostAnswer)).body
    await queryRows(
      gateway.databaseUrl,
      `UPDATE payment SET details = jsonb_set(details::jsonb, '{urls}', jsonb_build_object('webhook', $2::text))::json WHERE pay_id = $1`,
      [payId, new URL(long).href],
    )
    await shop.advance('PT1M')
    expect(await eventOf(payId)).toMatchObject({
      body: { status: 'OK' },
      attempts: [{ answer: expect.stringMatching(/^not sent: neither/) }],
    })
  })

  test('is sent for delayed captures, lapses and expiries', async () => {
    const later = { captureMethod: { type: 'DELAYED', delayed: { delayedHours: 2 } } }
    const captured = (await shop.create('CARD', { ...later, ...hook() })).body.payId
    const lapsed = await shop.authorize('CARD', hook())
    const expired = (await shop.create('CARD', { card: { eventToken: 'ORDER' }, ...hook() })).body.payId
    await shop.advance('P8D')
    const told = receiver.heard.map(({ body }) => [body.payId, body.status])
    expect(told).toHaveLength(3)
    expect(told).toEqual(
      expect.arrayContaining([
        [captured, 'OK'],
        [lapsed, 'REVERSED'],
        [expired, 'FAILED'],
      ]),
    )
  })
})

describe('retries', () => {
  const pausesInSeconds = [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

  test('come after the pauses of the contract, by the merchant’s clock, and then it has failed', async () => {
    receiver.behave(() => 500)
    const payId = await raise()
    expect(receiver.heard).toHaveLength(1)
    const moveTo = (instantMs: number) =>
      shop.call('POST', '/test/clock', { now: new Date(instantMs).toISOString() })
    for (const [index, seconds] of pausesInSeconds.entries()) {
      const last = Date.parse((await eventOf(payId)).attempts.at(-1).at)
      // 10 % either way: not before nine tenths, certainly after eleven.
      await moveTo(last + seconds * 900 - 1_000)
      expect(receiver.heard).toHaveLength(index + 1)
      await moveTo(last + seconds * 1_100 + 1_000)
      expect(receiver.heard).toHaveLength(index + 2)
    }
    const event = await eventOf(payId)
    expect(event).toMatchObject({ status: 'FAILED' })
    expect(event.attempts.map(({ status }: { status: number }) => status)).toEqual(Array(10).fill(500))
    await shop.advance('P30D')
    expect(receiver.heard).toHaveLength(10)
    expect(new Set(receiver.heard.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([event.id]))
    expect(new Set(receiver.heard.map(({ raw }) => raw)).size).toBe(1)
  })

  test('all run in one jump of the clock, each dated when it was due', async () => {
    receiver.behave(() => 500)
    const payId = await raise()
    await shop.advance('P4D')
    const { attempts, status } = await eventOf(payId)
    expect([status, attempts.length]).toEqual(['FAILED', 10])
    const gaps = attempts
      .slice(1)
      .map(
        ({ at }: { at: string }, index: number) => (Date.parse(at) - Date.parse(attempts[index].at)) / 1000,
      )
    for (const [index, gap] of gaps.entries()) {
      expect(gap).toBeGreaterThanOrEqual((pausesInSeconds[index] ?? 0) * 0.9)
      expect(gap).toBeLessThanOrEqual((pausesInSeconds[index] ?? 0) * 1.1)
    }
  })

  test.each([200, 201, 204, 299])('end with a %i', async status => {
    receiver.behave(() => (receiver.heard.length === 1 ? 503 : status))
    const payId = await raise()
    expect(await eventOf(payId)).toMatchObject({ status: 'PENDING', attempts: [{ status: 503 }] })
    await shop.advance('PT6S')
    expect(await eventOf(payId)).toMatchObject({ status: 'DELIVERED', attempts: [{}, { status }] })
    await shop.advance('P5D')
    expect(receiver.heard).toHaveLength(2)
  })

  test('stop at a 410', async () => {
    receiver.behave(() => 410)
    const payId = await raise()
    await shop.advance('P5D')
    expect(receiver.heard).toHaveLength(1)
    expect(await eventOf(payId)).toMatchObject({ status: 'FAILED', attempts: [{ status: 410 }] })
  })

  test.each(['120', 'date'])('wait for Retry-After: %s', async kind => {
    receiver.behave((_, response) => {
      const value = kind === 'date' ? new Date(clock.nowMs() + 120_000).toUTCString() : kind
      response.writeHead(429, { 'retry-after': value }).end()
      return undefined
    })
    await raise()
    await shop.advance('PT100S')
    expect(receiver.heard).toHaveLength(1)
    await shop.advance('PT21S')
    expect(receiver.heard).toHaveLength(2)
  })

  test('redirects are not followed', async () => {
    const other = await startReceiver()
    receiver.behave((_, response) => {
      response.writeHead(307, { location: `${other.url}/elsewhere` }).end('moved')
      return undefined
    })
    const payId = await raise()
    expect(await eventOf(payId)).toMatchObject({
      status: 'PENDING',
      attempts: [{ status: 307, answer: 'moved' }],
    })
    expect(other.heard).toEqual([])
    await other.close()
  })

  test('the first bytes of the answer are kept, without card numbers and zero bytes', async () => {
    receiver.behave((_, response) => {
      response.writeHead(500).end(`oops 4111111111111111 \u0000 ${'x'.repeat(100_000)}`)
      return undefined
    })
    const [{ answer }] = (await eventOf(await raise())).attempts
    expect(answer).toMatch(/^oops /)
    expect(answer).not.toContain('4111111111111111')
    expect(answer).not.toContain('\u0000')
    expect(answer.length).toBeLessThanOrEqual(1024)
  })

  test('an unreachable receiver gives an attempt without a status', async () => {
    const gone = await startReceiver()
    await gone.close()
    const payId = await raise({ urls: { webhook: gone.url } })
    const [attempt] = (await eventOf(payId)).attempts
    expect(attempt).toMatchObject({ answer: expect.stringMatching(/^no answer: /) })
    expect(attempt).not.toHaveProperty('status')
  })
})

describe('order', () => {
  /** Settled after ten seconds, lapsed after a week: two events. */
  const twice = { ...lostAnswer, captureMethod: { type: 'MANUAL' } }

  test('events of one payment come in the order of their numbers', async () => {
    const payId = (await shop.create('CARD', { ...twice, ...hook() })).body.payId
    await shop.advance('P8D')
    expect(receiver.heard.map(({ body }) => [body.payId, body.sequence, body.status])).toEqual([
      [payId, 1, 'AUTHORIZED'],
      [payId, 2, 'REVERSED'],
    ])
  })

  test('a later event waits while the earlier one is retried, and is sent after three attempts', async () => {
    receiver.behave(({ body }) => (body.sequence === 1 ? 500 : 204))
    const payId = (await shop.create('CARD', { ...twice, ...hook() })).body.payId
    await shop.advance('PT11S')
    // The second event is there at once: the shop's authorisation is made to end now.
    await queryRows(
      gateway.databaseUrl,
      `UPDATE payment SET authorization_expires_at = created_at WHERE pay_id = $1`,
      [payId],
    )
    await queryRows(gateway.databaseUrl, `UPDATE timer SET run_at = $2 WHERE pay_id = $1`, [
      payId,
      new Date(clock.nowMs()),
    ])
    const numbers = () => receiver.heard.map(({ body }) => body.sequence)
    await shop.advance('PT1S')
    expect((await eventsOf(shop, payId)).map(({ sequence }: { sequence: number }) => sequence)).toEqual([
      2, 1,
    ])
    expect(numbers()).toEqual([1])
    await shop.advance('PT5S')
    expect(numbers()).toEqual([1, 1])
    await shop.advance('PT6M')
    expect(numbers()).toEqual([1, 1, 1, 2])
  })
})
