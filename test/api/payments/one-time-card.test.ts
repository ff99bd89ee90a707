/** Card fields inside a shop's page, and their one-time cards. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let gateway: TestGateway
let neighbour: TestGateway
let fields: string
/** Called by the other process when it has stored a payment that it has not sent yet. */
let onRecord: (() => Promise<void>) | undefined
beforeAll(async () => {
  gateway = await startTestGateway({ clock })
  neighbour = await startTestGateway({
    clock,
    beside: gateway,
    testCrash: point => (point === 'afterRecord' ? onRecord?.() : undefined),
  })
  await gateway.gateway.merchants.set(gateway.merchantId as MerchantId, {
    frameOrigins: ['https://shop.example'],
  })
  fields = `${gateway.url}/pay/fields/${gateway.merchantId}`
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await neighbour.stop()
  await gateway.stop()
})

const entries = {
  number: '4111 1111 1111 1111',
  expiry: '12/30',
  securityCode: '123',
  cardholderName: 'Ada Lovelace',
}

async function post(form: Record<string, string>, headers: Record<string, string> = {}, url = fields) {
  const response = await fetch(url, {
    method: 'POST',
    body: new URLSearchParams(form),
    headers: { accept: 'application/json', 'sec-fetch-site': 'same-origin', ...headers },
  })
  return { status: response.status, text: await response.text() }
}

const makeToken = async (change: Record<string, string> = {}): Promise<string> =>
  JSON.parse((await post({ ...entries, ...change })).text).token

const pay = (token: string, change: { card?: object; [field: string]: unknown } = {}) => {
  const { card, ...rest } = change
  const payment = cardPayment(rest)
  const paymentMethods = { integrationType: 'DIRECT', type: 'CARD', card: { number: token, ...card } }
  return gateway.call('POST', '/payments', { ...payment, paymentMethods })
}

const unusable = { status: 400, body: { field: 'paymentMethods.card.number' } }

describe('the fields', () => {
  test('may be framed by the sites of the merchant only, and hold no card data', async () => {
    const page = await fetch(`${fields}?language=de`)
    const html = await page.text()
    expect(page.status).toBe(200)
    expect(page.headers.get('content-security-policy')).toContain('frame-ancestors https://shop.example;')
    expect(html).toContain('<html lang="de"')
    expect(html).toContain('data-fields')
  })

  test('give the token and the masked card', async () => {
    const { status, text } = await post(entries)
    expect(status).toBe(200)
    expect(JSON.parse(text)).toEqual({
      token: expect.stringMatching(/^ott_[\w-]{80,}$/),
      card: { brand: 'visa', last4Digits: '1111', expiryDate: '203012' },
    })
    expect(text).not.toContain('4111111111111111')
  })

  test('name every wrong entry', async () => {
    const { text } = await post({ ...entries, number: '4111 1111 1111 1112', expiry: '01/20' })
    expect(Object.keys(JSON.parse(text).errors)).toEqual(['number', 'expiry'])
  })

  test('answer in the language that the shop has chosen, whatever the browser prefers', async () => {
    const headers = { 'accept-language': 'en' }
    const page = await (await fetch(`${fields}?language=de-AT`, { headers })).text()
    const action = / action="([^"]+)"/.exec(page)?.[1] ?? ''
    const { text } = await post({ ...entries, expiry: '01/20' }, headers, `${gateway.url}${action}`)
    expect(JSON.parse(text).errors).toEqual({ expiry: 'Diese Karte ist abgelaufen.' })
  })

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another origin', { 'sec-fetch-site': 'same-site' }],
  ])('403 a form posted from %s', async (_, headers) => {
    expect((await post(entries, headers)).status).toBe(403)
  })

  test('do not exist for a merchant without frame origins, an unknown merchant and an invalid id', async () => {
    const { merchantId } = await gateway.gateway.merchants.create('No frames')
    const unknown = [merchantId, 'mer_none', "x'%00", 'a'.repeat(500)]
    const answers = await Promise.all(
      unknown.map(id => post(entries, {}, `${gateway.url}/pay/fields/${encodeURIComponent(id)}`)),
    )
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404])
  })
})

describe('the token', () => {
  test('pays once with everything that the customer typed', async () => {
    const token = await makeToken()
    const paid = await pay(token)
    expect(paid).toMatchObject({ status: 200, body: { status: 'OK' } })
    const { body: record } = await gateway.call('GET', `/payments/getByPayId/${paid.body.payId}`)
    expect(record.paymentMethods.card).toMatchObject({
      last4Digits: '1111',
      expiryDate: '203012',
      cardHolderName: 'Ada Lovelace',
    })
    expect(await pay(token)).toMatchObject(unusable)
  })

  test('two requests at once with one token: one of them pays', async () => {
    const token = await makeToken()
    const answers = await Promise.all([pay(token), pay(token), pay(token)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400])
  })

  test('a repeated request under its key gets the first answer', async () => {
    const body = {
      ...cardPayment(),
      paymentMethods: { integrationType: 'DIRECT', type: 'CARD', card: { number: await makeToken() } },
    }
    const send = () => gateway.call('POST', '/payments', body, { 'idempotency-key': 'one-time-1' })
    const first = await send()
    expect(first.status).toBe(200)
    expect((await send()).text).toBe(first.text)
  })

  test('is not used up by a request that is refused for another reason', async () => {
    const token = await makeToken()
    expect((await pay(token, { amount: { value: 1000, currency: 'XXX' } })).status).toBe(400)
    expect((await pay(token)).status).toBe(200)
  })

  // Each line: what is wrong with the first request, besides the card that it has.
  test.each<[string, Record<string, string>, { card?: object; [field: string]: unknown }, object]>([
    ['a transId that is taken', {}, { transId: 'taken' }, { responseCode: '20170001' }],
    ['3-D Secure without addresses', { number: '4000002760003184' }, {}, { field: 'urls' }],
    ['another brand', {}, { card: { brand: 'mastercard' } }, { field: 'paymentMethods.card.brand' }],
    [
      'a quote that is gone',
      {},
      { card: { dcc: { quoteId: '1', accepted: true } } },
      { responseCode: '28000001' },
    ],
  ])('pays after %s was refused, and once only', async (_, card, change, refusal) => {
    await gateway.call('POST', '/payments', { ...cardPayment(), transId: 'taken' })
    const token = await makeToken(card)
    expect((await pay(token, change)).body).toMatchObject(refusal)
    const paid = await pay(token, {
      urls: { return: 'https://shop.example', cancel: 'https://shop.example' },
    })
    expect(paid.status).toBe(200)
    expect(await pay(token)).toMatchObject(unusable)
  })

  test('pays after a refused request was repeated under its key', async () => {
    await gateway.call('POST', '/payments', { ...cardPayment(), transId: 'taken' })
    const number = await makeToken()
    const paymentMethods = { integrationType: 'DIRECT', type: 'CARD', card: { number } }
    const body = { ...cardPayment(), transId: 'taken', paymentMethods }
    const send = () => gateway.call('POST', '/payments', body, { 'idempotency-key': 'one-time-refused' })
    const first = await send()
    expect(first.body).toMatchObject({ responseCode: '20170001' })
    expect((await send()).text).toBe(first.text)
    expect((await pay(number)).status).toBe(200)
  })

  test('pays after the confirm of a payment intent was refused', async () => {
    const token = await makeToken()
    const confirm = async (intent: object) => {
      const { body } = await gateway.call('POST', '/payment-intents', intent)
      const request = { integrationType: 'DIRECT', type: 'CARD', card: { number: token } }
      return gateway.call('POST', `/payment-intents/${body.id}/confirm`, request)
    }
    expect(await confirm({})).toMatchObject({ status: 400, body: { field: 'amount' } })
    const amount = { value: 1000, currency: 'EUR' }
    expect(await confirm({ amount })).toMatchObject({ status: 200, body: { status: 'OK' } })
    expect(await confirm({ amount })).toMatchObject({ status: 400, body: { field: 'card.number' } })
  })

  describe('under an Idempotency-Key that another process has', () => {
    const body = async () => ({
      ...cardPayment(),
      paymentMethods: { integrationType: 'DIRECT', type: 'CARD', card: { number: await makeToken() } },
    })

    test('one payment and one answer, however many send it at once', async () => {
      for (let round = 0; round < 10; round += 1) {
        const request = await body()
        const key = { 'idempotency-key': `one-time-crowd-${round}` }
        const send = (at: TestGateway) =>
          at.call('POST', '/payments', request, {
            authorization: basic(gateway.merchantId, gateway.apiKey),
            ...key,
          })
        const answers = await Promise.all([gateway, neighbour, gateway, neighbour].map(send))
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
        expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
      }
    })

    test('another request under it is refused, and the token cannot be used beside it', async () => {
      const request = await body()
      const key = { 'idempotency-key': 'one-time-other' }
      const { promise: stored, resolve: record } = Promise.withResolvers<void>()
      const { promise: sent, resolve: send } = Promise.withResolvers<void>()
      onRecord = () => {
        record()
        return sent
      }
      const authorization = basic(gateway.merchantId, gateway.apiKey)
      const first = neighbour.call('POST', '/payments', request, { authorization, ...key })
      await stored
      onRecord = undefined
      expect(await gateway.call('POST', '/payments', request)).toMatchObject(unusable)
      const other = await gateway.call('POST', '/payments', { ...request, refNr: 'other' }, key)
      expect(other.body).toMatchObject({ responseCode: '20170002' })
      const again = gateway.call('POST', '/payments', request, key)
      send()
      expect((await first).body).toMatchObject({ status: 'OK' })
      expect((await again).text).toBe((await first).text)
    })
  })

  test('is used up by a payment that is declined, and given back in time only', async () => {
    const declined = await makeToken({ number: '4000000000000002' })
    expect((await pay(declined)).status).toBe(422)
    expect(await pay(declined)).toMatchObject(unusable)
    const late = await makeToken()
    clock.move(14 * 60 * secondMs)
    await gateway.call('POST', '/payments', { ...cardPayment(), transId: 'taken' })
    expect((await pay(late, { transId: 'taken' })).status).toBe(422)
    clock.move(60 * secondMs)
    expect(await pay(late)).toMatchObject(unusable)
  })

  test('expires after 15 minutes', async () => {
    const [inTime, late] = [await makeToken(), await makeToken()]
    clock.move(15 * 60 * secondMs - 1)
    expect((await pay(inTime)).status).toBe(200)
    clock.move(1)
    expect(await pay(late)).toMatchObject(unusable)
  })

  test('cannot be used by another merchant', async () => {
    const token = await makeToken()
    const other = await gateway.gateway.merchants.create('Other')
    const refused = await gateway.call(
      'POST',
      '/payments',
      {
        ...cardPayment(),
        paymentMethods: { integrationType: 'DIRECT', type: 'CARD', card: { number: token } },
      },
      { authorization: basic(other.merchantId, other.apiKey) },
    )
    expect(refused).toMatchObject(unusable)
    expect((await pay(token)).status).toBe(200)
  })

  test('is refused if it is changed by one character, truncated or made up, and pays once it is whole', async () => {
    const token = await makeToken()
    const at = token.length - 8
    const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
    for (const wrong of [changed, token.slice(0, -30), `ott_${'A'.repeat(120)}`, 'ott_'])
      expect(await pay(wrong), wrong).toMatchObject({ status: 400 })
    expect((await pay(token)).status).toBe(200)
  })

  test('a date or code sent beside it is refused, naming the field', async () => {
    const refused = await pay(await makeToken(), { card: { securityCode: '999' } })
    expect(refused).toMatchObject({ status: 400, body: { field: 'paymentMethods.card.securityCode' } })
  })

  test('a brand that the card cannot bear is refused', async () => {
    const refused = await pay(await makeToken(), { card: { brand: 'mastercard' } })
    expect(refused).toMatchObject({ status: 400, body: { field: 'paymentMethods.card.brand' } })
  })

  test('only endpoints that pay take one', async () => {
    const token = await makeToken()
    const tokenized = await gateway.call('POST', '/services/tokenService', { type: 'CARD', number: token })
    expect(tokenized.status).toBe(400)
  })
})

test('the database holds a sealed key while the token can be used, and nothing of the card', async () => {
  const client = new pg.Client(gateway.databaseUrl)
  await client.connect()
  try {
    await client.query('TRUNCATE one_time_key')
    const token = await makeToken()
    const kept = await client.query('SELECT * FROM one_time_key')
    expect(kept.rowCount).toBe(1)
    expect(JSON.stringify(kept.rows)).not.toContain('411111')
    await pay(token)
    expect((await client.query('SELECT FROM one_time_key')).rowCount).toBe(0)
    // It also expires by real time, even if the merchant's clock stands still.
    const old = await makeToken()
    await client.query(`UPDATE one_time_key SET made_at = now() - interval '15 minutes'`)
    expect(await pay(old)).toMatchObject(unusable)
    expect((await client.query('SELECT FROM one_time_key')).rowCount).toBe(0)
  } finally {
    await client.end()
  }
})

test('one address gets only so many tokens in ten minutes', async () => {
  let text = ''
  for (let made = 0; made < 80 && !text.includes('"message"'); made += 1) text = (await post(entries)).text
  expect(JSON.parse(text)).toEqual({ message: expect.any(String) })
})
