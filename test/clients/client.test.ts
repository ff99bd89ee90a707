/** The TypeScript client against a real gateway: its examples, its retries, its webhooks, and what must not compile. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sumCaptured } from '#client/examples/list.ts'
import { pay, payDeclined } from '#client/examples/pay.ts'
import { createReceiver } from '#client/examples/webhook.ts'
import {
  AuthenticationError,
  adviceFor,
  ConnectionError,
  type CreatePayment,
  InvalidRequestError,
  isUnknown,
  NotFoundError,
  RateLimitError,
  Tollgate,
  type TollgateOptions,
  verifyWebhook,
  WebhookVerificationError,
} from '#client/src/index.ts'
import { listResponseCodes } from '#domain/response-codes.ts'
import { projectRoot } from '#test/support/docs/docs.ts'
import { compileMisuse } from '#test/support/docs/misuse.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { signMessage } from '#webhooks/sign.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

const connect = (change: Partial<TollgateOptions> = {}): Tollgate =>
  new Tollgate({
    baseUrl: `${gateway.url}/api/v2`,
    merchantId: gateway.merchantId,
    apiKey: gateway.apiKey,
    pause: async () => undefined,
    ...change,
  })

const order = (transId: string): CreatePayment => ({
  transId,
  amount: { value: 1000, currency: 'EUR' },
  paymentMethods: {
    integrationType: 'DIRECT',
    type: 'CARD',
    card: { number: '4111111111111111', expiryDate: '203012', securityCode: '123' },
  },
})

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v2`
}

/** A fetch that passes everything on, but does to requests that change something what the test says. */
function meddle(step: (count: number, real: () => Promise<Response>) => Promise<Response>) {
  const keys: string[] = []
  let tokens = 0
  const meddled: typeof fetch = (url, init) => {
    const real = () => fetch(url, init)
    if (String(url).endsWith('/oauth/token')) {
      tokens += 1
      return real()
    }
    keys.push(new Headers(init?.headers).get('idempotency-key') ?? '')
    return step(keys.length, real)
  }
  return { fetch: meddled, keys, tokens: () => tokens }
}

describe('the examples of the client’s documentation', () => {
  test('reserve, capture, refund and look', async () => {
    expect(await pay(connect(), 'client-1')).toBe('captured 1000, refunded 400')
  })

  test('a decline is an error with advice', async () => {
    expect(await payDeclined(connect(), 'client-2')).toBe('21000305: other card')
  })

  test('a list is walked to its end, page by page', async () => {
    const other = await gateway.gateway.merchants.create('Another shop')
    const shop = connect({ merchantId: other.merchantId, apiKey: other.apiKey })
    for (const name of ['a', 'b', 'c', 'd', 'e']) await shop.payments.create(order(name))
    expect(await sumCaptured(shop)).toBe(5000)
  })

  test('lists with numbered pages begin at the first one', async () => {
    const other = await gateway.gateway.merchants.create('A shop with customers')
    const shop = connect({ merchantId: other.merchantId, apiKey: other.apiKey })
    const customerInfo = { email: 'ada@example.com', merchantCustomerId: 'ada' }
    const recurring = { frequency: 'MONTHLY', useCase: 'FIXED' } as const
    const credentialOnFile = { type: 'RECURRING', initialPayment: true, recurring } as const
    await shop.payments.create({ ...order('subscribed'), customerInfo, credentialOnFile })
    const names: unknown[] = []
    for await (const { merchantCustomerId } of shop.customers.list()) names.push(merchantCustomerId)
    for await (const plan of shop.plans.list({ status: 'ACTIVE' })) names.push(plan.merchantCustomerId)
    expect(names).toEqual(['ada', 'ada'])
  })

  test('an intent is confirmed by the server', async () => {
    const shop = connect()
    const { id } = await shop.intents.create({
      transId: 'client-intent',
      amount: { value: 1000, currency: 'EUR' },
    })
    const confirmed = await shop.intents.confirm(id, {
      integrationType: 'DIRECT',
      type: 'CARD',
      card: { number: '4111111111111111', expiryDate: '203012', securityCode: '123' },
    })
    expect(confirmed.status).toBe('OK')
    expect((await shop.intents.get(id)).status).toBe('SUCCEEDED')
  })

  test('a webhook is verified and told apart by its type', async () => {
    const { merchantId, apiKey, webhookSecret } =
      await gateway.gateway.merchants.create('A shop that listens')
    const heard = Promise.withResolvers<string>()
    const server = createServer(createReceiver(webhookSecret, (_, sentence) => heard.resolve(sentence)))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const webhook = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const shop = connect({ merchantId, apiKey })
    const created = await shop.payments.create({ ...order('told'), urls: { webhook } })
    await shop.test.sendEvent(created.payId ?? '', { type: 'dispute.opened' })
    expect(await heard.promise).toBe('told: disputed')
    server.close()
  })
})

describe('retries', () => {
  test('a lost answer is asked for again under the same key, and the payment is made once', async () => {
    const { fetch: meddled, keys } = meddle(async (count, real) => {
      const answer = await real()
      if (count === 1) throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
      return answer
    })
    const created = await connect({ fetch: meddled }).payments.create(order('lost-once'))
    expect(created.status).toBe('OK')
    expect(keys).toEqual([keys[0], keys[0]])
    const { body } = await gateway.call('GET', '/payments?transId=lost-once')
    expect(body.data).toHaveLength(1)
  })

  test('when every answer is lost the outcome is PENDING with the key, and the key gets the answer later', async () => {
    const { fetch: meddled, keys } = meddle(async (_, real) => {
      await real()
      throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
    })
    const lost = await connect({ fetch: meddled }).payments.create(order('lost'))
    expect(keys).toHaveLength(3)
    expect(lost).toMatchObject({ status: 'PENDING', responseCode: '60000200', transId: 'lost' })
    if (!isUnknown(lost)) throw new Error('an answer came after all')
    const again = await connect().payments.create(order('lost'), { idempotencyKey: lost.idempotencyKey })
    expect(again.status).toBe('OK')
  })

  test('a server error at every attempt of a capture is PENDING and names the payment', async () => {
    const created = await connect().payments.create({ ...order('broken'), captureMethod: { type: 'MANUAL' } })
    const { fetch: meddled } = meddle(async () => new Response('{}', { status: 502 }))
    const amount = { value: 1000, currency: 'EUR' }
    const outcome = await connect({ fetch: meddled }).payments.capture(created.payId ?? '', {
      transId: 'broken',
      amount,
    })
    expect(outcome).toMatchObject({ status: 'PENDING', payId: created.payId })
  })

  test('a gateway that cannot be reached is an error: nothing was sent', async () => {
    const away = connect({ baseUrl: 'http://127.0.0.1:1/api/v2' })
    const error = await away.payments.create(order('away')).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ arrived: false })
  })

  test('Retry-After is honoured up to the longest pause', async () => {
    const limited = (seconds: number) =>
      new Response('{}', { status: 429, headers: { 'retry-after': String(seconds) } })
    const pauses: number[] = []
    const pause = async (ms: number) => void pauses.push(ms)
    const once7 = meddle(async (count, real) => (count === 1 ? limited(7) : real()))
    expect((await connect({ fetch: once7.fetch, pause }).payments.create(order('limited'))).status).toBe('OK')
    expect(pauses).toEqual([7000])
    const { fetch: long } = meddle(async () => limited(3600))
    const error = await connect({ fetch: long, pause })
      .payments.create(order('limited-2'))
      .catch(caught => caught)
    expect(error).toBeInstanceOf(RateLimitError)
    expect(error).toMatchObject({ retryAfterSeconds: 3600 })
    expect(pauses).toEqual([7000])
  })

  test('a refused access token is fetched anew, once', async () => {
    const seen = meddle(async (count, real) => (count === 1 ? new Response('{}', { status: 401 }) : real()))
    await connect({ fetch: seen.fetch }).payments.create(order('renewed'))
    expect(seen.tokens()).toBe(2)
  })

  test('an access token that is refused to several calls at once is fetched anew for all of them', async () => {
    const calls = 10
    const seen = meddle(async (count, real) =>
      count <= calls ? new Response('{}', { status: 401 }) : real(),
    )
    const shop = connect({ fetch: seen.fetch })
    const pages = Array.from({ length: calls }, () => shop.payments.list({ limit: 1 }).next())
    await expect(Promise.all(pages)).resolves.toHaveLength(calls)
    expect(seen.tokens()).toBe(2)
  })

  test('a lost answer stays PENDING when the key is refused afterwards', async () => {
    const { fetch: meddled } = meddle(async (count, real) => {
      if (count > 1) return new Response('{}', { status: 403 })
      await real()
      throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
    })
    const lost = await connect({ fetch: meddled }).payments.create(order('lost-and-locked-out'))
    expect(isUnknown(lost)).toBe(true)
  })
})

describe('what is never sent, and what is not followed', () => {
  test.each(['clé-1', 'a\nb', 'a b', '€', '', 'k'.repeat(256)])(
    'an idempotencyKey that HTTP cannot carry is an error, not an open outcome: %j',
    async idempotencyKey => {
      const seen = meddle((_, real) => real())
      const shop = connect({ fetch: seen.fetch })
      const error = await shop.payments.create(order('odd-key'), { idempotencyKey }).catch(caught => caught)
      expect(error).toBeInstanceOf(TypeError)
      expect(error.message).toContain('must be 1 to 255 visible ASCII characters')
      expect(seen.keys).toEqual([])
    },
  )

  test('a body that JSON cannot carry is an error, not an open outcome', async () => {
    const huge = { ...order('huge'), metadata: { big: 1n } }
    await expect(connect().payments.create(huge)).rejects.toBeInstanceOf(TypeError)
  })

  test.each(['.', '..'])('an id "%s" calls no other endpoint', async id => {
    const shop = connect()
    await expect(shop.plans.payments(id).next()).rejects.toThrow('which is no id')
    const amount = { value: 1000, currency: 'EUR' }
    await expect(shop.payments.refund(id, { transId: 'dots', amount })).rejects.toThrow('which is no id')
  })

  test.each([301, 302, 303, 307, 308])('a redirect is an error that names its target: %i', async status => {
    const headers = { location: 'https://www.pay.example/api/v2/payments' }
    const server = createServer((request, response) => {
      if (request.url?.endsWith('/token')) response.end('{"access_token":"t","expires_in":3600}')
      else response.writeHead(request.method === 'POST' ? status : 200, headers).end('{"data":[]}')
    })
    const error = await connect({ baseUrl: await listen(server) })
      .payments.create(order('moved'))
      .catch(caught => caught)
    server.close()
    expect([error.status, error.message]).toEqual([
      status,
      `The gateway's address redirects to ${headers.location} (HTTP ${status}); baseUrl must be the address itself.`,
    ])
  })

  test('the API key is not carried to where the token endpoint redirects', async () => {
    const bodies: string[] = []
    const thief = createServer(async (request, response) => {
      bodies.push(await text(request))
      response.end('{"access_token":"t","expires_in":3600}')
    })
    const location = await listen(thief)
    const server = createServer((_, response) => response.writeHead(307, { location }).end())
    const error = await connect({ baseUrl: await listen(server) })
      .payments.get('0'.repeat(32))
      .catch(caught => caught)
    for (const each of [server, thief]) each.close()
    expect(error.message).toContain('redirects to')
    expect(bodies).toEqual([])
  })
})

describe('answers that are none of the gateway', () => {
  test.each(['', '<html>Welcome to our network</html>', '{"payId":"1'])(
    'a 200 that is not readable leaves the outcome open: %j',
    async body => {
      const seen = meddle(async () => new Response(body))
      const outcome = await connect({ fetch: seen.fetch }).payments.create(order('unreadable'))
      expect([isUnknown(outcome), seen.keys.length]).toEqual([true, 3])
      await expect(connect({ fetch: seen.fetch }).payments.get('0'.repeat(32))).rejects.toMatchObject({
        name: 'ConnectionError',
        message: "The gateway's answer was lost (HTTP 200).",
      })
    },
  )

  test.each([
    [404, 'default backend - 404'],
    [400, '<html>400 Bad Request</html>'],
    [413, '{"message":"too large"}'],
  ])('a lost answer stays PENDING when a proxy answers %i in place of the gateway', async (status, body) => {
    const { fetch: meddled, keys } = meddle(async (count, real) => {
      if (count > 1) return new Response(body, { status })
      await real()
      return new Response('', { status: 502 })
    })
    expect(isUnknown(await connect({ fetch: meddled }).payments.create(order(`proxy-${status}`)))).toBe(true)
    expect(keys).toHaveLength(2)
  })

  test('a lost answer stays PENDING when a redirect follows', async () => {
    const { fetch: meddled } = meddle(async (count, real) => {
      if (count > 1)
        return new Response('', { status: 302, headers: { location: 'https://maintenance.example/' } })
      await real()
      throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } })
    })
    expect(isUnknown(await connect({ fetch: meddled }).payments.create(order('lost-and-moved')))).toBe(true)
  })

  test('the open outcome of an intent names the intent, not a payment', async () => {
    const { fetch: meddled } = meddle(async () => new Response('{}', { status: 502 }))
    const outcome = await connect({ fetch: meddled }).intents.confirm('0'.repeat(32), {
      integrationType: 'DIRECT',
      type: 'CARD',
      card: { number: '4111111111111111', expiryDate: '203012' },
    })
    expect(outcome).toMatchObject({ status: 'PENDING', paymentIntentId: '0'.repeat(32) })
    expect(outcome).not.toHaveProperty('payId')
  })

  test('an attempt that took too long says so', async () => {
    const { fetch: meddled } = meddle(() =>
      Promise.reject(AbortSignal.abort(new DOMException('', 'TimeoutError')).reason),
    )
    await expect(connect({ fetch: meddled }).payments.get('0'.repeat(32))).rejects.toThrow(
      "The gateway's answer was lost (TimeoutError).",
    )
  })
})

describe('the signal of a call', () => {
  test('ends the pause before the next attempt', async () => {
    const stop = new AbortController()
    const { fetch: meddled } = meddle(async () => new Response('{}', { status: 503 }))
    const pause = () => {
      stop.abort(new Error('the customer went away'))
      return new Promise<void>(() => undefined)
    }
    const shop = connect({ fetch: meddled, pause })
    const { transId, amount } = order('left')
    const urls = { return: 'https://shop.example/', cancel: 'https://shop.example/' }
    const session = shop.payments.createSession({ transId, amount, urls }, { signal: stop.signal })
    await expect(session).rejects.toThrow('the customer went away')
  })

  test('leaves the outcome of a payment open once it was sent, and the key gets the answer later', async () => {
    const stop = new AbortController()
    const { fetch: meddled } = meddle(async (_, real) => {
      await real()
      stop.abort(new Error('the customer went away'))
      throw stop.signal.reason
    })
    const shop = connect({ fetch: meddled })
    const left = await shop.payments.create(order('left-sent'), { signal: stop.signal })
    expect(left).toMatchObject({
      status: 'PENDING',
      transId: 'left-sent',
      cause: { cause: stop.signal.reason },
    })
    if (!isUnknown(left)) throw new Error('an answer came after all')
    const again = await connect().payments.create(order('left-sent'), { idempotencyKey: left.idempotencyKey })
    expect(again.status).toBe('OK')
    const early = shop.payments.create(order('left-unsent'), { signal: stop.signal })
    await expect(early).rejects.toThrow('the customer went away')
  })

  test('leaves it open also in the pause after a lost answer', async () => {
    const stop = new AbortController()
    const { fetch: meddled } = meddle(async () => new Response('{}', { status: 503 }))
    const pause = () => {
      stop.abort(new Error('the customer went away'))
      return new Promise<void>(() => undefined)
    }
    const shop = connect({ fetch: meddled, pause })
    const left = await shop.payments.create(order('left-in-pause'), { signal: stop.signal })
    expect(isUnknown(left)).toBe(true)
  })

  test('does not end another call that waits for the same access token', async () => {
    const asked = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<void>()
    const slow: typeof fetch = async (url, init) => {
      if (String(url).endsWith('/token')) {
        asked.resolve()
        await stopped.promise
        init?.signal?.throwIfAborted()
      }
      return fetch(url, init)
    }
    const shop = connect({ fetch: slow, retries: 0 })
    const stop = new AbortController()
    const left = shop.payments.create(order('left-early'), { signal: stop.signal }).catch(caught => caught)
    const stayed = shop.payments.create(order('stayed'))
    await asked.promise
    stop.abort(new Error('the customer went away'))
    stopped.resolve()
    expect(await left).toMatchObject({ message: 'the customer went away' })
    expect((await stayed).status).toBe('OK')
  })
})

describe('errors', () => {
  test('a missing merchant id is named', async () => {
    await expect(connect({ merchantId: '' }).payments.get('0'.repeat(32))).rejects.toThrow(
      'client_id is missing; it is the merchant id. (HTTP 400)',
    )
  })

  test('wrong credentials are an error of their own', async () => {
    const stranger = connect({ apiKey: `${gateway.apiKey.slice(0, -1)}x` })
    await expect(stranger.payments.get('0'.repeat(32))).rejects.toBeInstanceOf(AuthenticationError)
  })

  test('an unknown payment is an error of its own', async () => {
    await expect(connect().payments.get('0'.repeat(32))).rejects.toBeInstanceOf(NotFoundError)
  })

  test('errors in a request are listed by field', async () => {
    const wrong = { ...order('x'), amount: { value: -1, currency: 'EUR' } }
    const error = await connect()
      .payments.create(wrong)
      .catch(caught => caught)
    expect(error).toBeInstanceOf(InvalidRequestError)
    expect(Object.keys(error.fields)).toEqual(['amount.value'])
    expect(error.message).toMatch(/^amount\.value is -1; allowed is .*\(HTTP 400\)$/)
  })

  test('the message names the fields also where the answer is problem details', async () => {
    const error = await connect()
      .payments.refund('0'.repeat(32), { transId: '', amount: { value: 0, currency: 'EUR' } })
      .catch(caught => caught)
    expect(Object.keys(error.fields)).toEqual(['transId', 'amount.value'])
    expect(error.message).toMatch(/^transId is ""; allowed .* amount\.value is 0; allowed .*\(HTTP 400\)$/)
  })

  test('an address that would send cards in clear is refused', () => {
    expect(() => connect({ baseUrl: 'http://pay.example.com/api/v2' })).toThrow('must be https')
  })

  test('every response code has the advice of the gateway', () => {
    const wrong = listResponseCodes().filter(({ code, advice }) => adviceFor(code) !== advice)
    expect(wrong).toEqual([])
  })
})

describe('verifyWebhook', () => {
  const key = Buffer.alloc(32, 7)
  const secret = `whsec_${key.toString('base64')}`
  const now = new Date('2026-11-15T12:00:00Z')
  const body = '{"type":"refund.succeeded"}'
  const timestamp = now.getTime() / 1000
  const headers = {
    'Webhook-Id': 'one',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,AAAA ${signMessage({ id: 'one', timestamp, body }, [key])}`,
  }

  test('accepts what was signed, also with one of two secrets', () => {
    const other = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
    const { id, event } = verifyWebhook({ body, headers, secret: [other, secret], now })
    expect([id, event.type]).toEqual(['one', 'refund.succeeded'])
  })

  /** A receiver with such a secret would accept what anybody has signed with it. */
  test.each([
    ['an empty one', ''],
    ['one without a key', 'whsec_'],
    ['dots', 'whsec_...'],
    ['an ellipsis', 'whsec_…'],
    ['words', 'whsec_your_webhook_secret_goes_here'],
    ['a short one', 'whsec_c2VjcmV0'],
    ['one character', `whsec_${'x'.repeat(40)}`],
    ['none', []],
    ['an old secret beside a placeholder', [secret, 'whsec_']],
  ])('refuses to verify with a placeholder: %s', (_, placeholder) => {
    const encoded = [placeholder].flat().at(-1)?.slice('whsec_'.length) ?? ''
    const forged = signMessage({ id: 'one', timestamp, body }, [Buffer.from(encoded, 'base64')])
    const signed = { ...headers, 'webhook-signature': forged }
    expect(() => verifyWebhook({ body, headers: signed, secret: placeholder, now })).toThrow(TypeError)
  })

  test.each([
    ['another body', { body: `${body} ` }],
    ['another secret', { secret: `whsec_${Buffer.alloc(32, 9).toString('base64')}` }],
    ['six minutes later', { now: new Date(now.getTime() + 360_000) }],
    ['no headers', { headers: {} }],
  ])('refuses %s', (_, change) => {
    expect(() => verifyWebhook({ body, headers, secret, now, ...change })).toThrow(WebhookVerificationError)
  })
})

test('every line of the misuse list fails to compile, and nothing else does', async () => {
  const folder = join(projectRoot, 'clients/typescript/misuse')
  const { complaints, expected, missed } = await compileMisuse(folder, 'misuse.ts')
  expect(complaints).toEqual([])
  expect(expected).toBeGreaterThan(10)
  expect(missed).toEqual([])
})
