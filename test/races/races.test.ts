/** Concurrent requests, in one process and over two on one database: ceilings hold, and duplicates have one effect. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  basic,
  cardPayment,
  startTestGateway,
  type TestAnswer,
  type TestGateway,
} from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

let acquirer: Acquirer
let left: TestGateway
let right: TestGateway
/** The point at which `left` waits, between the provider's answer and recording it. */
let gate: (() => Promise<void>) | undefined
beforeAll(async () => {
  acquirer = createAcquirer()
  const connectors = acquirer.connectors
  const testCrash = (point: string) => (point === 'afterCall' ? gate?.() : undefined)
  left = await startTestGateway({ connectors, testCrash, requestsPerSecond: 100_000 })
  right = await startTestGateway({ connectors, beside: left })
})
afterAll(async () => {
  expect(await findBrokenRules(left.databaseUrl)).toEqual({})
  await right.stop()
  await left.stop()
})

const authorize = async (value = 1000): Promise<string> => {
  const request = cardPayment({ amount: { value, currency: 'EUR' }, captureMethod: { type: 'MANUAL' } })
  return (await left.call('POST', '/payments', request)).body.payId
}
const capture = (at: TestGateway, payId: string, value: number, more: object = {}) =>
  at.call('POST', `/payments/${payId}/captures`, {
    transId: 'parcel',
    amount: { value, currency: 'EUR' },
    ...more,
  })
const everywhere = (count: number, send: (at: TestGateway, index: number) => Promise<TestAnswer>) =>
  Promise.all(Array.from({ length: count }, (_, index) => send(index % 2 ? left : right, index)))
const record = async (payId: string) => (await right.call('GET', `/payments/getByPayId/${payId}`)).body
const withStatus = (answers: readonly TestAnswer[], status: number) =>
  answers.filter(answer => answer.status === status)

/** The amount captured from this payment, by the acquirer's ledger. */
async function sumTaken(payId: string): Promise<number> {
  const references = (await record(payId)).operations.map((operation: { xId: string }) => operation.xId)
  return acquirer.ledger
    .filter(
      ({ operation, approved, reference }) =>
        operation === 'CAPTURE' && approved && references.includes(reference),
    )
    .reduce((sum, message) => sum + message.amount, 0)
}

describe('captures of one payment', () => {
  test('two hundred of 100 on 1000 in one process: ten succeed', async () => {
    const payId = await authorize()
    const answers = await Promise.all(Array.from({ length: 200 }, () => capture(left, payId, 100)))
    expect(withStatus(answers, 200)).toHaveLength(10)
    expect(withStatus(answers, 422)).toHaveLength(190)
    expect((await record(payId)).amount.capturedValue).toBe(1000)
    expect(await sumTaken(payId)).toBe(1000)
  })

  test('two hundred of 100 on 1000 over two processes: ten succeed', async () => {
    const payId = await authorize()
    const answers = await everywhere(200, at => capture(at, payId, 100))
    expect(withStatus(answers, 200)).toHaveLength(10)
    expect(withStatus(answers, 422)).toHaveLength(190)
    expect((await record(payId)).amount.capturedValue).toBe(1000)
    expect(await sumTaken(payId)).toBe(1000)
  })

  test('a result that is recorded late sees what the other process did in the meantime', async () => {
    const payId = await authorize()
    const reached = Promise.withResolvers<void>()
    const opened = Promise.withResolvers<void>()
    gate = () => {
      reached.resolve()
      return opened.promise
    }
    const late = capture(left, payId, 100)
    await reached.promise
    expect((await capture(right, payId, 200)).status).toBe(200)
    opened.resolve()
    gate = undefined
    expect((await late).status).toBe(200)
    expect((await record(payId)).amount.capturedValue).toBe(300)
    expect(await capture(right, payId, 701)).toMatchObject({ status: 422 })
  })

  test('another merchant at the same moment finds nothing', async () => {
    const payId = await authorize()
    const { merchantId, apiKey } = await left.gateway.merchants.create('Stranger')
    const authorization = basic(merchantId, apiKey)
    const body = { transId: 'parcel', amount: { value: 10, currency: 'EUR' } }
    const answers = await everywhere(40, (at, index) =>
      at.call('POST', `/payments/${payId}/captures`, body, index % 4 < 2 ? {} : { authorization }),
    )
    expect(withStatus(answers, 200)).toHaveLength(20)
    expect(withStatus(answers, 404)).toHaveLength(20)
    expect((await record(payId)).amount.capturedValue).toBe(200)
  })

  test('mixed amounts over two processes never exceed the ceiling', async () => {
    const payId = await authorize()
    const answers = await everywhere(60, (at, index) => capture(at, payId, 37 + ((index * 53) % 211)))
    const { amount, operations } = await record(payId)
    expect(amount.capturedValue).toBeLessThanOrEqual(1000)
    expect(await sumTaken(payId)).toBe(amount.capturedValue)
    expect(operations).toHaveLength(1 + withStatus(answers, 200).length)
  })

  test('lost answers over two processes count as captured', async () => {
    const payId = await authorize()
    acquirer.failNext('CAPTURE', ...Array.from({ length: 5 }, () => 'lost_answer' as const))
    const answers = await everywhere(40, at => capture(at, payId, 200))
    expect(withStatus(answers, 200)).toHaveLength(5)
    expect((await record(payId)).amount.capturedValue).toBe(0)
    expect(await sumTaken(payId)).toBe(1000)
    acquirer.heal()
  })

  test('declines over two processes release their reservations', async () => {
    const payId = await authorize()
    const answers = await everywhere(40, (at, index) =>
      capture(at, payId, 100, index % 2 ? { simulationMode: '0305' } : {}),
    )
    expect(withStatus(answers, 200).length).toBeLessThanOrEqual(10)
    const rest = 1000 - (await record(payId)).amount.capturedValue
    if (rest > 0) expect((await capture(right, payId, rest)).status).toBe(200)
    expect(await sumTaken(payId)).toBe(1000)
  })

  test('one number of a series is used once', async () => {
    const payId = await authorize()
    const answers = await everywhere(30, at =>
      capture(at, payId, 1, { captureMethod: { manual: { currentSequence: 1 } } }),
    )
    expect(withStatus(answers, 200)).toHaveLength(1)
  })

  test('many payments at once do not hold each other up or mix', async () => {
    const payIds = await Promise.all(Array.from({ length: 20 }, (_, index) => authorize(100 * (index + 1))))
    await everywhere(400, (at, index) => capture(at, payIds[index % 20] ?? '', 100))
    const sums = await Promise.all(payIds.map(async payId => (await record(payId)).amount.capturedValue))
    expect(sums).toEqual(payIds.map((_, index) => 100 * (index + 1)))
  })
})

describe('creations', () => {
  test('one transId, 50 times over two processes: one live payment', async () => {
    const request = cardPayment()
    const messages = acquirer.ledger.length
    const answers = await everywhere(50, at => at.call('POST', '/payments', request))
    expect(withStatus(answers, 200)).toHaveLength(1)
    for (const refused of withStatus(answers, 422)) expect(refused.body.responseCode).toBe('20170001')
    expect(withStatus(answers, 422)).toHaveLength(49)
    expect(acquirer.ledger.length - messages).toBe(2)
    const stored = await queryRows(left.databaseUrl, 'SELECT 1 FROM payment WHERE trans_id = $1', [
      request.transId,
    ])
    expect(stored).toHaveLength(1)
  })

  test('one key, 20 times over two processes: one effect and 20 equal answers', async () => {
    const request = cardPayment()
    const messages = acquirer.ledger.length
    const answers = await everywhere(20, at =>
      at.call('POST', '/payments', request, { 'idempotency-key': 'race' }),
    )
    expect(new Set(answers.map(answer => `${answer.status} ${answer.text}`)).size).toBe(1)
    expect(answers.filter(answer => answer.headers.get('idempotent-replayed') === null)).toHaveLength(1)
    expect(acquirer.ledger.length - messages).toBe(2)
  })

  test('many keys at once over two processes, each twice: one payment each', async () => {
    const requests = Array.from({ length: 40 }, () => cardPayment())
    const answers = await everywhere(160, (at, index) =>
      at.call('POST', '/payments', requests[index % 40], { 'idempotency-key': `many-${index % 40}` }),
    )
    expect(withStatus(answers, 200)).toHaveLength(160)
    expect(new Set(answers.map(answer => answer.body.payId)).size).toBe(40)
  })

  test('one new card, 40 times over two processes: one row in the vault', async () => {
    const number = '4012888888881881'
    const answers = await everywhere(40, at =>
      at.call('POST', '/payments', cardPayment({ card: { number } })),
    )
    expect(withStatus(answers, 200)).toHaveLength(40)
    const pseudo = await Promise.all(
      answers.map(async ({ body }) => (await record(body.payId)).paymentMethods.card.pseudoCardNumber),
    )
    expect(new Set(pseudo).size).toBe(1)
  })

  test('the first payments of a new merchant over two processes share one data key', async () => {
    const { merchantId, apiKey } = await left.gateway.merchants.create('Newcomer')
    const authorization = basic(merchantId, apiKey)
    const answers = await everywhere(10, at => at.call('POST', '/payments', cardPayment(), { authorization }))
    expect(withStatus(answers, 200)).toHaveLength(10)
    const { body } = await right.call('GET', `/payments/getByPayId/${answers[0]?.body.payId}`, undefined, {
      authorization,
    })
    const { pseudoCardNumber } = body.paymentMethods.card
    for (const at of [left, right]) {
      const card = { number: pseudoCardNumber, expiryDate: undefined }
      const paid = await at.call('POST', '/payments', cardPayment({ card }), { authorization })
      expect(paid.status, paid.text).toBe(200)
    }
  })
})
