/**
 * Limits on declines of a card or an address, and on payouts: 422 without a call to the provider, in all processes, by
 * the merchant's clock.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { firstPayId } from '#domain/ids.ts'
import { currencies } from '#domain/money/currencies.ts'
import { maximumAmount } from '#domain/money/money.ts'
import { toCountKey } from '#http/authentication/shared-counts.ts'
import { cardEntries, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { openPageShop, type PageShop } from '#test/support/browser/page-shop.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { confirmation, openIntents } from '#test/support/intents.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

/** Valid, and in no catalogue. */
const card = { number: '4539578763621486' }
/** An amount that is always declined with 05. */
const declining = { value: 99_990_305, currency: 'EUR' }
const tooMany = { status: 422, body: { status: 'FAILED', responseCode: '20200016' } }

type Limits = Parameters<TestGateway['gateway']['merchants']['set']>[1]

async function openLimited(limits: Limits): Promise<Shop> {
  const shop = await openShop(gateway)
  await gateway.gateway.merchants.set(shop.merchantId, limits)
  return shop
}

/** Processes learn of each other by heartbeats: each must have written one since the other started. */
async function knowEachOther({ databaseUrl }: TestGateway): Promise<void> {
  const [{ now } = {}] = await queryRows<{ now: string }>(databaseUrl, 'SELECT now()::text AS now')
  const seen = () => queryRows(databaseUrl, `SELECT 1 FROM gateway_process WHERE seen_at > '${now}'`)
  await expect.poll(async () => (await seen()).length, { timeout: 20_000 }).toBe(2)
}

const decline = async (shop: Shop, change: object = { card }) =>
  (await shop.create('CARD', { amount: declining, ...change })).body.responseCode

describe('declines of one card', () => {
  test('422 above the limit for that card alone, until the window is over', async () => {
    const shop = await openLimited({ declinesPerCard: '2/PT1H' })
    expect([await decline(shop), await decline(shop)]).toEqual(['21000305', '21000305'])
    const refused = await shop.create('CARD', { card })
    expect(refused).toMatchObject(tooMany)
    expect(refused.body.payId).toBeUndefined()
    expect(await shop.create('CARD', { card: { number: '4716067763538366' } })).toMatchObject({ status: 200 })
    await shop.advance('PT59M')
    expect(await shop.create('CARD', { card })).toMatchObject(tooMany)
    await shop.advance('PT2M')
    expect(await shop.create('CARD', { card })).toMatchObject({ status: 200 })
  })

  test('422 under its pseudo number too, and the refusal is kept under its Idempotency-Key', async () => {
    const shop = await openLimited({ declinesPerCard: '1/PT1H' })
    const { body } = await shop.create('CARD', { card })
    await decline(shop)
    const number = (await shop.read(body.payId)).paymentMethods.card.pseudoCardNumber
    const headers = { 'idempotency-key': 'k-1' }
    const change = { transId: 'once', card: { number, securityCode: undefined } }
    const first = await shop.create('CARD', change, headers)
    expect(first).toMatchObject(tooMany)
    await shop.advance('PT2H')
    expect((await shop.create('CARD', change, headers)).text).toBe(first.text)
  })

  test('a refused try uses up no ordered fault', async () => {
    const shop = await openLimited({ declinesPerCard: '1/PT1H' })
    await decline(shop)
    const rule = { operation: 'AUTHORIZATION', fault: 'decline', code: '51', times: 1 }
    expect((await shop.call('POST', '/test/faults', rule)).status).toBe(200)
    expect(await shop.create('CARD', { card })).toMatchObject(tooMany)
    const { body } = await shop.create('CARD', { card: { number: '4716067763538366' } })
    expect(body.responseCode).toBe('21000351')
  })

  test('published test cards never count, and without a limit nothing does', async () => {
    const limited = await openLimited({ declinesPerCard: '1/PT1H', declinesPerAddress: '1/PT1H' })
    const free = await openLimited({})
    for (let at = 0; at < 3; at += 1) {
      const browserInfo = { ipAddress: '203.0.113.9' }
      expect(await decline(limited, { card: { number: '4000000000000002' }, browserInfo })).toBe('21000305')
      expect(await decline(free)).toBe('21000305')
    }
  })

  test('many at once reach at most twice the limit, over two processes', async () => {
    const other = await startTestGateway({ beside: gateway })
    try {
      await knowEachOther(gateway)
      const shop = await openLimited({ declinesPerCard: '4/PT1H' })
      const { authorization } = shop
      const body = (at: number) => ({ ...payment(`at-once-${at}`), amount: declining })
      const answers = await Promise.all(
        Array.from({ length: 40 }, async (_, at) => {
          const process = at % 2 === 0 ? gateway : other
          return (await process.call('POST', '/payments', body(at), { authorization })).body.responseCode
        }),
      )
      const declined = answers.filter(code => code === '21000305')
      expect(declined.length).toBeGreaterThanOrEqual(4)
      expect(declined.length).toBeLessThanOrEqual(8)
      expect(answers.filter(code => code === '20200016')).toHaveLength(40 - declined.length)
    } finally {
      await other.stop()
    }
  })

  test('another process follows, and a limit that is set later counts earlier declines', async () => {
    const other = await startTestGateway({ beside: gateway })
    try {
      const shop = await openLimited({ declinesPerCard: '5/PT1H' })
      for (let at = 0; at < 3; at += 1) await decline(shop)
      expect((await shop.create('CARD', { card })).status).toBe(200)
      await gateway.gateway.merchants.set(shop.merchantId, { declinesPerCard: '3/PT1H' })
      for (const process of [gateway, other]) {
        await process.gateway.engine.velocity.refresh()
        const { authorization } = shop
        const answer = await process.call('POST', '/payments', payment('follow'), { authorization })
        expect(answer).toMatchObject(tooMany)
      }
    } finally {
      await other.stop()
    }
  })
})

test('422 for a card that is blocked after 100,000 others', async () => {
  const shop = await openLimited({ declinesPerCard: '1/PT1H' })
  await queryRows(
    gateway.databaseUrl,
    `INSERT INTO velocity (merchant_id, kind, subject, declines, blocked_until)
     SELECT $1, 'CARD', 'card ' || n, '{}', now() + interval '1 hour' FROM generate_series(1, 100000) n`,
    [shop.merchantId],
  )
  await gateway.gateway.engine.velocity.refresh()
  expect(await decline(shop)).toBe('21000305')
  expect(await shop.create('CARD', { card })).toMatchObject(tooMany)
  await queryRows(gateway.databaseUrl, 'DELETE FROM velocity WHERE merchant_id = $1', [shop.merchantId])
})

describe('confirms of a card that came with an earlier step', () => {
  const twoLimits: [string, Limits][] = [
    ['card', { declinesPerCard: '2/PT1H' }],
    ['address', { declinesPerAddress: '2/PT1H' }],
  ]

  async function openOrder(shop: Shop): Promise<string> {
    const browserInfo = { ipAddress: '203.0.113.11' }
    const { body } = await shop.create('CARD', { card: { ...card, eventToken: 'ORDER' }, browserInfo })
    return body.payId
  }

  test.each(twoLimits)('422 above the limit of the %s, and the payment stays open', async (_, limits) => {
    const shop = await openLimited(limits)
    const payIds = [await openOrder(shop), await openOrder(shop), await openOrder(shop)]
    const [first = '', second = '', third = ''] = payIds
    for (const payId of [first, second])
      expect((await shop.act(payId, 'confirms', 1000, { simulationMode: '0305' })).body).toMatchObject({
        status: 'FAILED',
        responseCode: '21000305',
      })
    expect(await shop.act(third, 'confirms', 1000)).toMatchObject(tooMany)
    expect(await shop.read(third)).toMatchObject({ status: 'AUTHORIZE_REQUEST', operations: [{}] })
    await shop.advance('PT2H')
    expect(await shop.act(third, 'confirms', 1000)).toMatchObject({ status: 200 })
  })

  test('many at once exceed the limit by at most itself', async () => {
    const shop = await openLimited({ declinesPerCard: '2/PT1H' })
    const payIds = await Promise.all(Array.from({ length: 12 }, () => openOrder(shop)))
    const answers = await Promise.all(
      payIds.map(async payId => {
        const { body } = await shop.act(payId, 'confirms', 1000, { simulationMode: '0305' })
        return body.responseCode
      }),
    )
    const declined = answers.filter(code => code === '21000305').length
    expect(declined).toBeGreaterThanOrEqual(2)
    expect(declined).toBeLessThanOrEqual(4)
    expect(answers.filter(code => code === '20200016')).toHaveLength(12 - declined)
  })
})

const payment = (transId: string) => ({
  transId,
  amount: { value: 100, currency: 'EUR' },
  paymentMethods: {
    integrationType: 'DIRECT',
    type: 'CARD',
    card: { ...card, expiryDate: '203012', cardholderName: 'Ada Lovelace' },
  },
})

test('declines of one address: 422 for every card from that address', async () => {
  const shop = await openLimited({ declinesPerAddress: '2/PT1H' })
  const browserInfo = { ipAddress: '203.0.113.7' }
  for (const number of [card.number, '4716067763538366'])
    expect(await decline(shop, { card: { number }, browserInfo })).toBe('21000305')
  expect(await shop.create('CARD', { card: { number: '4024007198964305' }, browserInfo })).toMatchObject(
    tooMany,
  )
  expect(await shop.create('CARD', { card, browserInfo: { ipAddress: '203.0.113.8' } })).toMatchObject({
    status: 200,
  })
})

test.each([
  ['IPv6: the whole /64', ['2001:db8:1:2::7', '2001:db8:1:2:ffff::8', '2001:db8:1:2::9'], '2001:db8:1:3::7'],
  ['IPv4 in any form', ['203.0.113.7', '::ffff:203.0.113.7', '::FFFF:cb00:7107'], '203.0.113.9'],
])('declines of one address, %s', async (_, [first, second, third], other) => {
  const shop = await openLimited({ declinesPerAddress: '2/PT1H' })
  for (const ipAddress of [first, second])
    expect(await decline(shop, { card, browserInfo: { ipAddress } })).toBe('21000305')
  const numbers = { card: { number: '4024007198964305' } }
  expect(await shop.create('CARD', { ...numbers, browserInfo: { ipAddress: third } })).toMatchObject(tooMany)
  const elsewhere = { ...numbers, browserInfo: { ipAddress: other } }
  expect(await shop.create('CARD', elsewhere)).toMatchObject({ status: 200 })
})

describe('on our own pages', () => {
  const urls = { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' }

  async function openLimitedPages(limits: Limits): Promise<PageShop> {
    const shop = await openPageShop(gateway, { urls })
    await gateway.gateway.merchants.set(shop.merchantId, limits)
    return shop
  }

  /** The status of the answer to the customer's form, and the status of the payment. */
  async function tryCard(shop: PageShop, change: object = { amount: declining }) {
    const { href, payId } = await shop.session(change)
    const status = await sendForm(await openPage(href), cardEntries(card.number))
    return { href, status, codes: (await shop.tries(payId))[1] }
  }

  test('a blocked card is refused there too, without a call to the provider', async () => {
    const shop = await openLimitedPages({ declinesPerCard: '1/PT1H' })
    expect(await tryCard(shop)).toMatchObject({ codes: ['21000305'] })
    expect(await tryCard(shop, {})).toMatchObject({ status: 429, codes: ['60000100'] })
    expect(await shop.create('CARD', { card })).toMatchObject(tooMany)
  })

  test("the client's address counts, whatever address the merchant sends", async () => {
    const shop = await openLimitedPages({ declinesPerAddress: '1/PT1H' })
    const elsewhere = { browserInfo: { ipAddress: '203.0.113.77' } }
    expect(await tryCard(shop, { amount: declining, ...elsewhere })).toMatchObject({ codes: ['21000305'] })
    expect(await tryCard(shop, elsewhere)).toMatchObject({ status: 429 })
  })

  test('a decline is counted before the next form from the address is tried', async () => {
    const shop = await openLimitedPages({ declinesPerAddress: '1/PT1H' })
    const sessions = await Promise.all(
      Array.from({ length: 16 }, async () => {
        const { href, payId } = await shop.session({ amount: declining })
        return { payId, form: await openPage(href) }
      }),
    )
    await Promise.all(sessions.map(({ form }) => sendForm(form, cardEntries(card.number))))
    const tried = await Promise.all(sessions.map(async ({ payId }) => (await shop.tries(payId))[1]))
    expect(tried.filter(([code]) => code === '21000305')).toHaveLength(1)
  })

  test('a decline counts once where the merchant names the address that we see', async () => {
    const shop = await openLimitedPages({ declinesPerAddress: '2/PT1H' })
    const here = { browserInfo: { ipAddress: '127.0.0.1' } }
    expect(await tryCard(shop, { amount: declining, ...here })).toMatchObject({ codes: ['21000305'] })
    expect(await tryCard(shop, { amount: declining, ...here })).toMatchObject({ codes: ['21000305'] })
    expect(await tryCard(shop, here)).toMatchObject({ status: 429 })
  })

  test.each<[string, Limits, object]>([
    ['card', { declinesPerCard: '1/PT1H' }, {}],
    ['address', { declinesPerAddress: '1/PT1H' }, {}],
    [
      'address, also where the merchant names another one',
      { declinesPerAddress: '1/PT1H' },
      { browserInfo: { ipAddress: '203.0.113.78' } },
    ],
  ])('a challenge that the customer fails is a decline of the %s', async (_, limits, change) => {
    const shop = await openLimitedPages(limits)
    const challenge = { threeDsPolicy: { challengePreference: 'MANDATE_CHALLENGE' } }
    const { href } = await shop.session({ paymentMethods: { card: challenge }, ...change })
    const form = await openPage(href)
    const body = new URLSearchParams({ ...form.hidden, ...cardEntries(card.number) })
    // The browser follows to the page of the bank, which has an address of its own.
    const { url } = await fetch(form.url, { method: 'POST', body })
    expect(await sendForm({ url, hidden: {} }, { action: 'decline' })).toBe(303)
    expect(await tryCard(shop, {})).toMatchObject({ status: 429 })
  })
})

test('429 for the address after 300 declines in ten minutes, those of a challenge among them', async () => {
  const ours = await startTestGateway()
  const other = await startTestGateway({ beside: ours })
  try {
    await knowEachOther(ours)
    const shop = await openPageShop(ours, {
      urls: { return: 'https://shop.example/a', cancel: 'https://shop.example/b' },
    })
    // As if a third process had counted 299.
    const counted = `declines:${toCountKey('address 127.0.0.1')}`
    await queryRows(ours.databaseUrl, 'INSERT INTO limit_use (process, name, used) VALUES (-1, $1, 299)', [
      counted,
    ])
    const challenge = { threeDsPolicy: { challengePreference: 'MANDATE_CHALLENGE' } }
    const { href, payId } = await shop.session({ paymentMethods: { card: challenge } })
    const form = await openPage(href)
    const body = new URLSearchParams({ ...form.hidden, ...cardEntries(card.number) })
    const { url } = await fetch(form.url, { method: 'POST', body })
    expect(await sendForm({ url, hidden: {} }, { action: 'decline' })).toBe(303)
    expect((await shop.tries(payId))[1]).toHaveLength(1)
    const next = async () =>
      sendForm(await openPage((await shop.session()).href), cardEntries('4716067763538366'))
    await expect.poll(next, { timeout: 10_000 }).toBe(429)
  } finally {
    await other.stop()
    await ours.stop()
  }
})

describe("under the token of an intent, on the customer's device", () => {
  async function tryIntent(shop: Shop, request: object, claimed: string) {
    const intents = openIntents(shop, gateway)
    const id = await intents.intent(request)
    const body = { ...confirmation('CARD', card), browserInfo: { ipAddress: claimed, userAgent: 'App/1' } }
    return intents.confirm(id, body, await intents.bearer(id))
  }

  test("the client's address counts, whatever address the device sends", async () => {
    const shop = await openLimited({ declinesPerAddress: '1/PT1H' })
    const declined = await tryIntent(shop, { amount: declining }, '203.0.113.1')
    expect(declined.body.responseCode).toBe('21000305')
    expect(await tryIntent(shop, {}, '203.0.113.2')).toMatchObject(tooMany)
    // Other addresses are not blocked.
    const elsewhere = { card, browserInfo: { ipAddress: '203.0.113.1' } }
    expect(await shop.create('CARD', elsewhere)).toMatchObject({ status: 200 })
  })

  test('the address counts that the merchant gave with the intent', async () => {
    const shop = await openLimited({ declinesPerAddress: '1/PT1H' })
    const seen = { browserInfo: { ipAddress: '203.0.113.3' } }
    await tryIntent(shop, { amount: declining, ...seen }, '203.0.113.4')
    expect(await tryIntent(shop, seen, '203.0.113.5')).toMatchObject(tooMany)
    const paid = await tryIntent(shop, {}, '203.0.113.3')
    expect(paid.status).toBe(200)
    expect((await shop.read(paid.body.payId)).browserInfo).toEqual({
      ipAddress: '127.0.0.1',
      userAgent: 'App/1',
    })
  })
})

describe('payouts', () => {
  const payOut = (shop: Shop, value: number, change: object = {}) =>
    shop.call('POST', '/payments/refunds', {
      transId: `out-${++counter}`,
      amount: { value, currency: 'EUR' },
      paymentMethods: {
        card: { ...card, cardholderName: 'Ada Lovelace', expiryDate: '203012', brand: 'visa' },
      },
      ...change,
    })
  let counter = 0

  test('422 above the sum of the window; declined payouts do not count; other currencies are refused', async () => {
    const shop = await openLimited({ payoutLimit: '100000000EUR/P1D' })
    expect(await payOut(shop, 60_000_000)).toMatchObject({ status: 200 })
    expect(await payOut(shop, 60_000_000)).toMatchObject(tooMany)
    // Declined by its amount, which is below what is left only if it does not stay reserved.
    await gateway.gateway.merchants.set(shop.merchantId, { payoutLimit: '200000000EUR/P1D' })
    for (let at = 0; at < 3; at += 1)
      expect((await payOut(shop, 99_990_305)).body).toMatchObject({
        status: 'FAILED',
        responseCode: '21000305',
      })
    expect(await payOut(shop, 100, { amount: { value: 100, currency: 'USD' } })).toMatchObject(tooMany)
    expect(await payOut(shop, 140_000_000)).toMatchObject({ status: 200 })
    expect(await payOut(shop, 1)).toMatchObject(tooMany)
    await shop.advance('P1D')
    expect(await payOut(shop, 100)).toMatchObject({ status: 200 })
  })

  test('each currency may have a limit of its own, however long', async () => {
    const limits = currencies.map(({ code }) => `${maximumAmount}${code}/PT00000000000000000000000001.5S`)
    const shop = await openLimited({ payoutLimit: limits.join(',').replace(`${maximumAmount}USD`, '100USD') })
    expect(await payOut(shop, 101, { amount: { value: 101, currency: 'USD' } })).toMatchObject(tooMany)
    expect(await payOut(shop, 101, { amount: { value: 101, currency: 'GBP' } })).toMatchObject({
      status: 200,
    })
  })

  test('a payout that never reached its provider does not count', async () => {
    const shop = await openLimited({ payoutLimit: '1000EUR/P1D' })
    const unreached = { number: '4000000000000259', cardholderName: 'Ada Lovelace', expiryDate: '203012' }
    expect(
      (await payOut(shop, 1000, { paymentMethods: { card: { ...unreached, brand: 'visa' } } })).body,
    ).toMatchObject({ status: 'FAILED', responseCode: '21000391' })
    expect(await payOut(shop, 1000)).toMatchObject({ status: 200 })
  })

  test('several at once do not pass the limit together', async () => {
    const shop = await openLimited({ payoutLimit: '1000EUR/P1D' })
    const answers = await Promise.all(Array.from({ length: 8 }, () => payOut(shop, 300)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3)
    const [{ sum } = { sum: 0 }] = await queryRows<{ sum: number }>(
      gateway.databaseUrl,
      'SELECT sum(amount)::integer AS sum FROM payout WHERE merchant_id = $1',
      [shop.merchantId],
    )
    expect(sum).toBe(900)
  })

  test('after an hour, one that was never stored or that failed no longer counts; one that was made does', async () => {
    const shop = await openLimited({ payoutLimit: '1000EUR/P30D' })
    const run = (sql: string, ...values: unknown[]) =>
      queryRows(gateway.databaseUrl, sql, [shop.merchantId, ...values])
    const hourMs = 3_600_000
    // As if the process or the database had been lost between counting the payout and storing the payment.
    const nowMs = Date.now()
    const count = (ageMs: number, amount: number) =>
      run(
        "INSERT INTO payout (merchant_id, payout_id, currency, amount, paid_at) VALUES ($1, $2, 'EUR', $3, now())",
        firstPayId(nowMs - ageMs),
        amount,
      )
    const counted = async () =>
      (await run('SELECT amount::integer FROM payout WHERE merchant_id = $1 ORDER BY amount')).map(
        ({ amount }) => amount,
      )
    for (const [at, status] of ['OK', 'FAILED'].entries()) {
      const payId = firstPayId(nowMs - 3 * hourMs - at)
      const { body } = await payOut(shop, 1, status === 'OK' ? {} : { simulationMode: '0305' })
      await run(
        `INSERT INTO payment SELECT (jsonb_populate_record(p, jsonb_build_object('pay_id', $3::uuid,
           'trans_id', $2::text || '-earlier'))).* FROM payment p WHERE merchant_id = $1 AND pay_id = $2::uuid`,
        body.payId,
        payId,
      )
      await count(3 * hourMs + at, 100 + at)
    }
    await count(hourMs / 2, 200)
    await count(2 * hourMs, 300)
    await count(33 * 24 * hourMs, 400)
    expect(await counted()).toEqual([1, 100, 101, 200, 300, 400])
    await gateway.gateway.engine.velocity.reap()
    expect(await counted()).toEqual([1, 100, 200])
    expect(await payOut(shop, 700)).toMatchObject(tooMany)
    expect(await payOut(shop, 699)).toMatchObject({ status: 200 })
  })

  test('payouts of years are deleted in rounds, so that no statement takes long', async () => {
    const shop = await openLimited({ payoutLimit: '1000EUR/P30D' })
    const run = (sql: string) => queryRows(gateway.databaseUrl, sql, [shop.merchantId])
    await run(`INSERT INTO payout (merchant_id, payout_id, currency, amount, paid_at)
      SELECT $1, lpad(to_hex(number), 32, '0')::uuid, 'EUR', 1, now() FROM generate_series(1, 10001) number`)
    for (const left of [1, 0]) {
      await gateway.gateway.engine.velocity.reap()
      expect(await run('SELECT 1 FROM payout WHERE merchant_id = $1')).toHaveLength(left)
    }
  })
})
