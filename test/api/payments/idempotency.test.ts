/** One effect per Idempotency-Key, over HTTP, in one process and over two. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

const clock = createTestClock()
let acquirer: Acquirer
let gateway: TestGateway
let neighbour: TestGateway
beforeAll(async () => {
  acquirer = createAcquirer()
  const connectors = acquirer.connectors
  gateway = await startTestGateway({ clock, connectors, requestsPerSecond: 100_000 })
  neighbour = await startTestGateway({ clock, connectors, beside: gateway })
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await neighbour.stop()
  await gateway.stop()
})

let keys = 0
const newKey = () => ({ 'idempotency-key': `key-${++keys}` })
const create = (body: unknown, headers: Record<string, string>, at = gateway) =>
  at.call('POST', '/payments', body, headers)
const manual = { captureMethod: { type: 'MANUAL' } }
const captureBody = (value = 400) => ({ transId: 'parcel', amount: { value, currency: 'EUR' } })
const isReplay = (answer: { headers: Headers }) => answer.headers.get('idempotent-replayed') === 'true'

describe('replay', () => {
  test('200 the same bytes, one payment, one message', async () => {
    const headers = newKey()
    const body = cardPayment()
    const first = await create(body, headers)
    const messages = acquirer.ledger.length
    for (const at of [gateway, neighbour]) {
      const again = await create(body, headers, at)
      expect(again.status).toBe(200)
      expect(again.text).toBe(first.text)
      expect(isReplay(again)).toBe(true)
    }
    expect(isReplay(first)).toBe(false)
    expect(acquirer.ledger).toHaveLength(messages)
  })

  test('200 a capture', async () => {
    const { body } = await create(cardPayment(manual), newKey())
    const path = `/payments/${body.payId}/captures`
    const headers = newKey()
    const first = await gateway.call('POST', path, captureBody(), headers)
    const again = await neighbour.call('POST', path, captureBody(), headers)
    expect(again.text).toBe(first.text)
    expect(isReplay(again)).toBe(true)
    const record = await gateway.call('GET', `/payments/getByPayId/${body.payId}`)
    expect(record.body.amount.capturedValue).toBe(400)
  })

  test('422 a decline, although the transId is free again', async () => {
    const headers = newKey()
    const body = cardPayment({ card: { number: '4000000000000002' } })
    const first = await create(body, headers)
    const messages = acquirer.ledger.length
    const again = await create(body, headers)
    expect(again).toMatchObject({ status: 422, text: first.text })
    expect(isReplay(again)).toBe(true)
    expect(acquirer.ledger).toHaveLength(messages)
  })

  test('422 a refused transId, although it would be accepted by now', async () => {
    const taken = cardPayment({ card: { number: '4000000000000002' } })
    acquirer.failNext('AUTHORIZATION', 'lost_answer')
    await create(taken, newKey())
    const headers = newKey()
    const body = cardPayment({ transId: taken.transId })
    const first = await create(body, headers)
    expect(first.body.responseCode).toBe('20170001')
    clock.move(10 * secondMs)
    await gateway.gateway.timerWorker.runDue()
    const again = await create(body, headers)
    expect(again.text).toBe(first.text)
    expect(isReplay(again)).toBe(true)
    expect((await create(body, newKey())).status).toBe(200)
  })

  test('422 a refused capture, although it would be accepted by now', async () => {
    const { body } = await create(cardPayment(manual), newKey())
    const path = `/payments/${body.payId}/captures`
    const headers = newKey()
    acquirer.failNext('CAPTURE', 'lost_request')
    const first = await gateway.call('POST', path, captureBody(1001), headers)
    expect(first.body.responseCode).toBe('20200003')
    const again = await neighbour.call('POST', path, captureBody(1001), headers)
    expect(again.text).toBe(first.text)
    expect(isReplay(again)).toBe(true)
    await gateway.call('POST', path, captureBody(1), newKey())
  })

  test('200 PENDING stays the answer to its key after it was settled', async () => {
    const headers = newKey()
    const body = cardPayment({ card: { number: '4000000000000101' } })
    const first = await create(body, headers)
    clock.move(10 * secondMs)
    await gateway.gateway.timerWorker.runDue()
    const again = await create(body, headers)
    expect(first.body.status).toBe('PENDING')
    expect(again.text).toBe(first.text)
  })
})

describe('the same request', () => {
  test('200 in another order of keys and with other spacing', async () => {
    const headers = newKey()
    const body = cardPayment({ metadata: { b: 1, a: { d: 1, c: [1, 2] } } })
    const first = await create(body, headers)
    const turned = Object.fromEntries(
      Object.entries({ ...body, metadata: { a: { c: [1, 2], d: 1 }, b: 1 } }).reverse(),
    )
    const again = await create(JSON.stringify(turned, null, 3), headers)
    expect(again.text).toBe(first.text)
  })

  test('200 quotes around the key are not part of it', async () => {
    const body = cardPayment()
    const first = await create(body, { 'idempotency-key': 'with-quotes' })
    const again = await create(body, { 'idempotency-key': '"with-quotes"' })
    expect(again.text).toBe(first.text)
  })

  test('200 whichever credential is used', async () => {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: gateway.merchantId,
      client_secret: gateway.apiKey,
    }).toString()
    const { body: token } = await gateway.call('POST', '/authorization/oauth/token', form, {
      'content-type': 'application/x-www-form-urlencoded',
    })
    const headers = newKey()
    const body = cardPayment()
    const first = await create(body, headers)
    const again = await create(body, { ...headers, authorization: `Bearer ${token.access_token}` })
    expect(again.text).toBe(first.text)
    expect(isReplay(again)).toBe(true)
  })

  test('422 not with another order in a list', async () => {
    const headers = newKey()
    const body = cardPayment({ metadata: { list: [1, 2] } })
    await create(body, headers)
    const other = await create({ ...body, metadata: { list: [2, 1] } }, headers)
    expect(other.body.responseCode).toBe('20170002')
  })
})

describe('another request', () => {
  test('422 20170002 with another body, and the answer reveals nothing of the first', async () => {
    const headers = newKey()
    const body = cardPayment({ refNr: 'secret-ref', metadata: { secret: 1 } })
    const first = await create(body, headers)
    for (const at of [gateway, neighbour]) {
      const other = await create({ ...body, amount: { value: 1, currency: 'EUR' } }, headers, at)
      expect(other.status).toBe(422)
      expect(other.body).toEqual({
        merchantId: gateway.merchantId,
        status: 'FAILED',
        responseCode: '20170002',
        responseDescription: expect.stringMatching(/\w/),
      })
      expect(other.text).not.toContain(first.body.payId)
    }
  })

  test('422 20170002 with another card; the stored fingerprint does not reveal the number', async () => {
    const headers = newKey()
    const body = cardPayment()
    await create(body, headers)
    const card = { ...(body.paymentMethods as { card: object }).card, number: '4242424242424242' }
    const paymentMethods = { integrationType: 'DIRECT', type: 'CARD', card }
    expect((await create({ ...body, paymentMethods }, headers)).body.responseCode).toBe('20170002')
  })

  test('200 the same key on another path or of another merchant is another key', async () => {
    const headers = newKey()
    const created = await create(cardPayment(manual), headers)
    const captured = await gateway.call(
      'POST',
      `/payments/${created.body.payId}/captures`,
      captureBody(),
      headers,
    )
    expect(captured.status).toBe(200)
    const stranger = await gateway.gateway.merchants.create('Another shop')
    const authorization = basic(stranger.merchantId, stranger.apiKey)
    const theirs = await create(cardPayment(), { ...headers, authorization })
    expect(theirs.status).toBe(200)
    expect([captured, theirs].map(isReplay)).toEqual([false, false])
  })
})

describe('a key stays free after a bad request', () => {
  test('after 400', async () => {
    const headers = newKey()
    expect((await create(cardPayment({ surprise: 1 }), headers)).status).toBe(400)
    const unknown = cardPayment({ card: { number: '0123456789012345' } })
    expect((await create(unknown, headers)).status).toBe(400)
    const good = await create(cardPayment(), headers)
    expect(good.status).toBe(200)
    expect(isReplay(good)).toBe(false)
  })

  test('after 401, 404, 413 and 415', async () => {
    const headers = newKey()
    const statuses = [
      await create(cardPayment(), { ...headers, authorization: 'Basic eDp5' }),
      await gateway.call('POST', `/payments/${'0'.repeat(32)}/captures`, captureBody(), headers),
      await create(' '.repeat(1024 * 1024 + 1), headers),
      await create('{}', { ...headers, 'content-type': 'text/plain' }),
    ].map(answer => answer.status)
    expect(statuses).toEqual([401, 404, 413, 415])
    expect((await create(cardPayment(), headers)).status).toBe(200)
    const [row] = await queryRows<{ count: string }>(
      gateway.databaseUrl,
      'SELECT count(*) FROM idempotency_key WHERE key = $1',
      [headers['idempotency-key']],
    )
    expect(row?.count).toBe('1')
  })
})

describe('the key itself', () => {
  test.each([
    ['empty', '', '""'],
    ['only quotes', '""', String.raw`"\"\""`],
    ['256 characters', 'x'.repeat(256), `"${'x'.repeat(63)}…"`],
    ['a space inside', 'a b', '"a b"'],
    ['beyond ASCII', 'schlüssel', '"schlüssel"'],
  ])('400 %s, naming what was given', async (_, key, shown) => {
    expect(await create(cardPayment(), { 'idempotency-key': key })).toMatchObject({
      status: 400,
      body: {
        field: 'Idempotency-Key',
        error: `Idempotency-Key is ${shown}; allowed is 1 to 255 visible ASCII characters, with or without quotes around.`,
      },
    })
  })

  test.each(['x', 'x'.repeat(255), `!"#$%&'()*+,-./:;<=>?@[]^_{|}~`])('200 %s', async key => {
    expect((await create(cardPayment(), { 'idempotency-key': key })).status).toBe(200)
  })
})

describe('simultaneous requests', () => {
  test('200 twenty calls over two gateways: one effect, equal answers', async () => {
    const headers = newKey()
    const body = cardPayment()
    const messages = acquirer.ledger.length
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => create(body, headers, index % 2 ? gateway : neighbour)),
    )
    expect(new Set(answers.map(answer => answer.text)).size).toBe(1)
    expect(answers.filter(answer => !isReplay(answer))).toHaveLength(1)
    expect(acquirer.ledger.length - messages).toBe(2)
  })

  test('422 two bodies under one key: one wins, the other is refused', async () => {
    const headers = newKey()
    const bodies = [cardPayment(), cardPayment()]
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        create(bodies[index % 2], headers, index % 4 < 2 ? gateway : neighbour),
      ),
    )
    const won = answers.filter(answer => answer.status === 200)
    expect(won).toHaveLength(10)
    expect(new Set(won.map(answer => answer.body.payId)).size).toBe(1)
    for (const answer of answers.filter(answer => answer.status !== 200)) {
      expect(answer.body.responseCode).toBe('20170002')
    }
  })
})
