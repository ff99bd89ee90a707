/** One effect per Idempotency-Key on every operation of a payment: replayed, refused with another body, joined at once. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { currency, methodPayment, openShop, type Shop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  // Starts today: moving the clock deletes keys that are too old by the database's own clock, which no test can stop.
  gateway = await startTestGateway({ clock: createTestClock(Date.now()) })
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

interface Request {
  readonly verb: 'POST' | 'PATCH'
  readonly path: string
  readonly body: Record<string, unknown>
}

const manual = { captureMethod: { type: 'MANUAL' } }
const step = { transId: 'step', amount: { value: 100, currency } }
const on = (name: string, make: () => Promise<string>) => async (): Promise<Request> => ({
  verb: 'POST',
  path: `/payments/${await make()}/${name}`,
  body: step,
})

const endpoints: [name: string, prepare: () => Promise<Request>][] = [
  ['create', async () => ({ verb: 'POST', path: '/payments', body: methodPayment('CARD') })],
  [
    'create of two steps',
    async () => ({ verb: 'POST', path: '/payments', body: methodPayment('PROVIDERK') }),
  ],
  [
    'credit',
    async () => ({
      verb: 'POST',
      path: '/payments/refunds',
      body: {
        ...step,
        transId: 'credit',
        paymentMethods: {
          directDebit: { account: { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' } },
        },
      },
    }),
  ],
  ['confirm', on('confirms', async () => (await shop.create('PROVIDERR', manual)).body.payId)],
  ['incremental', on('incrementals', () => shop.authorize('CARD'))],
  ['capture', on('captures', () => shop.authorize('CARD'))],
  ['reversal', on('reversals', () => shop.authorize('CARD'))],
  ['refund', on('refunds', () => shop.sell('CARD'))],
  [
    'update',
    async () => ({
      verb: 'PATCH',
      path: `/payments/${await shop.authorize('CARD')}`,
      body: { metadata: { note: 1 } },
    }),
  ],
]

let keys = 0
const newKey = () => ({ 'idempotency-key': `life-${++keys}` })
const send = ({ verb, path, body }: Request, headers: Record<string, string>) =>
  shop.call(verb, path, body, headers)
const isReplay = ({ headers }: TestAnswer) => headers.get('idempotent-replayed') === 'true'
const operationsOf = async ({ body }: TestAnswer) => (await shop.read(body.payId)).operations.length

describe.each(endpoints)('%s', (_, prepare) => {
  test('200 the same bytes again, and nothing happens twice', async () => {
    const request = await prepare()
    const key = newKey()
    const first = await send(request, key)
    expect([first.status, isReplay(first)]).toEqual([200, false])
    const made = await operationsOf(first)
    for (const again of [await send(request, key), await send(request, key)]) {
      expect(again.text).toBe(first.text)
      expect([again.status, isReplay(again)]).toEqual([200, true])
    }
    expect(await operationsOf(first)).toBe(made)
  })

  test('422 20170002 with another body, and the answer reveals nothing of the first', async () => {
    const request = await prepare()
    const key = newKey()
    const first = await send(request, key)
    const made = await operationsOf(first)
    const other = await send({ ...request, body: { ...request.body, refNr: 'other' } }, key)
    expect(other.status).toBe(422)
    expect(other.body).toEqual({
      merchantId: shop.merchantId,
      status: 'FAILED',
      responseCode: '20170002',
      responseDescription: expect.any(String),
    })
    expect(await operationsOf(first)).toBe(made)
  })

  test('ten at the same moment: one effect, equal answers', async () => {
    const request = await prepare()
    const key = newKey()
    const answers = await Promise.all(Array.from({ length: 10 }, () => send(request, key)))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers.filter(isReplay)).toHaveLength(9)
    expect(answers[0]?.status).toBe(200)
  })

  test('a bad request does not use the key up', async () => {
    const request = await prepare()
    const key = newKey()
    const bad = await send({ ...request, body: { ...request.body, surprise: 1 } }, key)
    expect(bad.status).toBe(400)
    const good = await send(request, key)
    expect([good.status, isReplay(good)]).toEqual([200, false])
  })
})

const moving = endpoints.filter(([name]) => !['update', 'create of two steps'].includes(name))

describe.each(moving)('%s', (_, prepare) => {
  test('422 a decline stays the answer', async () => {
    const request = await prepare()
    const key = newKey()
    const declined = { ...request, body: { ...request.body, simulationMode: '0351' } }
    const first = await send(declined, key)
    expect(first.status).toBe(422)
    const again = await send(declined, key)
    expect(again.text).toBe(first.text)
    expect(isReplay(again)).toBe(true)
  })

  test('200 PENDING stays the answer to its key after it was settled', async () => {
    const request = await prepare()
    const key = newKey()
    await shop.fail({ operation: '*', fault: 'lost_answer' })
    const first = await send(request, key)
    expect(first.body.status).toBe('PENDING')
    await shop.advance('PT10S')
    const again = await send(request, key)
    expect(again.text).toBe(first.text)
    expect(isReplay(again)).toBe(true)
  })
})

test('422 a refusal of ours is kept, although it would be accepted by now', async () => {
  const payId = await shop.authorize('CARD')
  const request: Request = { verb: 'POST', path: `/payments/${payId}/refunds`, body: step }
  const key = newKey()
  const first = await send(request, key)
  expect(first.body.responseCode).toBe('20200004')
  await shop.act(payId, 'captures', 1000)
  const again = await send(request, key)
  expect(again.text).toBe(first.text)
  expect((await send(request, newKey())).status).toBe(200)
})

test('one key is independent on every path', async () => {
  const payId = await shop.authorize('CARD')
  const key = newKey()
  const answers = [
    await shop.act(payId, 'incrementals', 100, {}, key),
    await shop.act(payId, 'captures', 100, {}, key),
    await shop.act(payId, 'refunds', 100, {}, key),
    await shop.call('PATCH', `/payments/${payId}`, { refNr: 'x' }, key),
  ]
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(answers.filter(isReplay)).toEqual([])
})
