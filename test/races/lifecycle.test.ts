/**
 * Every pair of operations that compete for the same money, at the same moment, in one process and over two on one
 * database: no ceiling is exceeded, the losers get the right refusal, and the acquirer's ledger agrees to the cent.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { type Change, currency, methodPayment, openShop, type Shop, tokenOf } from '#test/support/shop.ts'
import { type Crowd, type CrowdAnswer, gatherCrowd } from '#test/support/simulation/crowd.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

let acquirer: Acquirer
let left: TestGateway
let right: TestGateway
let shop: Shop
let crowds: [Crowd, Crowd]
beforeAll(async () => {
  acquirer = createAcquirer()
  const { connectors } = acquirer
  left = await startTestGateway({ connectors })
  right = await startTestGateway({ connectors, beside: left })
  shop = await openShop(left)
  await left.gateway.merchants.set(shop.merchantId, { requestsPerSecond: 100_000 })
  crowds = [gatherCrowd(left, shop.authorization), gatherCrowd(right, shop.authorization)]
})
afterAll(async () => {
  expect(await findBrokenRules(left.databaseUrl)).toEqual({})
  for (const crowd of crowds) crowd.leave()
  await right.stop()
  await left.stop()
})

/** Enough payments for every order of two operations to happen. */
const crowdSize = inLongRun(60, 200)

const step = (value: number) => ({ transId: 'step', amount: { value, currency } })
const many = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))
const create = async (value: number, type: 'AUTOMATIC' | 'MANUAL'): Promise<string> => {
  const body = methodPayment('CARD', { amount: { value, currency }, captureMethod: { type } })
  return (await crowds[0].post('/payments', body)).body.payId
}
const succeeded = (answers: readonly CrowdAnswer[]) => answers.filter(({ status }) => status === 200)
const codes = (answers: readonly CrowdAnswer[]) => [
  ...new Set(answers.filter(({ status }) => status !== 200).map(({ body }) => body.responseCode)),
]

/** The operations on this payment in the acquirer's ledger. */
const ledgerOf = (payId: string, operation: string): number =>
  acquirer.ledger
    .filter(message => message.payId === payId && message.operation === operation && message.approved)
    .reduce((sum, { amount }) => sum + amount, 0)

async function expectLedger(payId: string) {
  const { amount, status } = await shop.read(payId)
  expect(amount).toMatchObject({
    authorizedValue: ledgerOf(payId, 'AUTHORIZATION') + ledgerOf(payId, 'INCREMENTAL'),
    capturedValue: ledgerOf(payId, 'CAPTURE'),
    reversedValue: ledgerOf(payId, 'REVERSAL'),
    refundedValue: ledgerOf(payId, 'REFUND'),
  })
  expect(amount.capturedValue + amount.reversedValue).toBeLessThanOrEqual(amount.authorizedValue)
  expect(amount.refundedValue).toBeLessThanOrEqual(amount.capturedValue)
  return { ...amount, status }
}

describe('refunds of 60 on 100', () => {
  test.each([
    [2, 'one process', (): [Crowd, Crowd] => [crowds[0], crowds[0]]],
    [8, 'one process', (): [Crowd, Crowd] => [crowds[0], crowds[0]]],
    [2, 'two processes', () => crowds],
    [8, 'two processes', () => crowds],
  ])('many payments, %d at once over %s: one each', async (count, _, through) => {
    const payIds = await many(crowdSize, () => create(100, 'AUTOMATIC'))
    const gates = through()
    const answers = await Promise.all(
      payIds.map(payId =>
        many(count, index => (gates[index % 2] ?? gates[0]).post(`/payments/${payId}/refunds`, step(60))),
      ),
    )
    expect(answers.filter(each => succeeded(each).length !== 1)).toEqual([])
    expect(codes(answers.flat())).toEqual(['20200004'])
    for (const payId of payIds) expect(ledgerOf(payId, 'REFUND')).toBe(60)
    expect((await expectLedger(payIds[0] ?? '')).refundedValue).toBe(60)
  })

  test('unknown outcomes count: after two lost answers a third refund is refused', async () => {
    const payId = await create(120, 'AUTOMATIC')
    acquirer.failNext('REFUND', 'lost_answer', 'lost_answer')
    const answers = await many(10, index =>
      crowds[index % 2 ? 0 : 1].post(`/payments/${payId}/refunds`, step(60)),
    )
    expect(succeeded(answers).map(({ body }) => body.status)).toEqual(['PENDING', 'PENDING'])
    expect(ledgerOf(payId, 'REFUND')).toBe(120)
    acquirer.heal()
  })
})

describe('two operations at once over two processes, on many payments', () => {
  async function race(first: readonly [string, number], second: readonly [string, number]) {
    const payIds = await many(crowdSize / 2, () => create(1000, 'MANUAL'))
    return Promise.all(
      payIds.map(async (payId, index) => {
        const [one, other] = index % 2 ? [0, 1] : [1, 0]
        const answers = await Promise.all([
          crowds[one as 0 | 1].post(`/payments/${payId}/${first[0]}`, step(first[1])),
          crowds[other as 0 | 1].post(`/payments/${payId}/${second[0]}`, step(second[1])),
        ])
        return { payId, answers }
      }),
    )
  }

  test('capture against reversal: one of them, never both', async () => {
    for (const value of [1000, 600]) {
      const ends = await race(['captures', value], ['reversals', value])
      for (const { answers, payId } of ends) {
        const after = await expectLedger(payId)
        expect(succeeded(answers)).toHaveLength(1)
        expect(after.capturedValue + after.reversedValue).toBe(value)
      }
      expect(codes(ends.flatMap(({ answers }) => answers)).every(code => /^2020000[238]$/.test(code))).toBe(
        true,
      )
    }
  })

  test('incremental against capture: no more is captured than was authorised by then', async () => {
    const ends = await race(['incrementals', 500], ['captures', 1200])
    for (const { answers, payId } of ends) {
      const after = await expectLedger(payId)
      const [raised, captured] = answers
      expect(raised?.status).toBe(200)
      expect(after.authorizedValue).toBe(1500)
      expect(after.capturedValue).toBe(captured?.status === 200 ? 1200 : 0)
    }
  })

  test('incremental against a capture of everything: an increment after it is refused', async () => {
    const ends = await race(['incrementals', 500], ['captures', 1000])
    for (const { answers, payId } of ends) {
      const after = await expectLedger(payId)
      const [raised, captured] = answers
      expect(captured?.status).toBe(200)
      expect(after.capturedValue).toBe(1000)
      expect(after.authorizedValue).toBe(raised?.status === 200 ? 1500 : 1000)
    }
    expect(codes(ends.flatMap(({ answers }) => answers)).filter(code => code !== '20200002')).toEqual([])
  })

  test('incremental against reversal: the reversal also releases an increment that came before it', async () => {
    const ends = await race(['incrementals', 500], ['reversals', 1000])
    for (const { answers, payId } of ends) {
      const [raised, reversed] = answers
      expect(reversed?.status).toBe(200)
      const { amount, status } = await shop.read(payId)
      expect(amount.authorizedValue).toBe(raised?.status === 200 ? 1500 : 1000)
      expect(amount.reversedValue).toBe(status === 'REVERSED' ? amount.authorizedValue : 1000)
      expect(ledgerOf(payId, 'REVERSAL')).toBe(1000)
    }
  })

  test('two reversals of 600 on 1000: one', async () => {
    const ends = await race(['reversals', 600], ['reversals', 600])
    for (const { answers, payId } of ends) {
      const after = await expectLedger(payId)
      expect(succeeded(answers)).toHaveLength(1)
      expect(after.reversedValue).toBe(600)
    }
  })

  test('a refund and a capture of the rest: both', async () => {
    const payIds = await many(50, () => create(1000, 'MANUAL'))
    await Promise.all(payIds.map(payId => crowds[0].post(`/payments/${payId}/captures`, step(400))))
    await Promise.all(
      payIds.map(async payId => {
        const answers = await Promise.all([
          crowds[0].post(`/payments/${payId}/captures`, step(600)),
          crowds[1].post(`/payments/${payId}/refunds`, step(400)),
        ])
        expect(succeeded(answers)).toHaveLength(2)
        expect(await expectLedger(payId)).toMatchObject({ capturedValue: 1000, refundedValue: 400 })
      }),
    )
  })
})

describe('one of each', () => {
  test('ten confirmations of one payment over two processes: one', async () => {
    const payments = await many(20, async () => (await shop.create('PROVIDERK')).body)
    for (const created of payments) {
      const answers = await many(10, index =>
        crowds[index % 2 ? 0 : 1].post(`/payments/${created.payId}/confirms`, {
          ...step(1000),
          ...tokenOf(created),
        }),
      )
      expect(succeeded(answers)).toHaveLength(1)
      expect(codes(answers)).toEqual(['20200010'])
      expect(ledgerOf(created.payId, 'CONFIRM')).toBe(1000)
      expect(ledgerOf(created.payId, 'CAPTURE')).toBe(1000)
    }
  })

  test('twenty credits with one transId over two processes: one', async () => {
    const account = { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' }
    const body = { ...step(500), transId: 'one-credit', paymentMethods: { directDebit: { account } } }
    const before = acquirer.ledger.length
    const answers = await many(20, index => crowds[index % 2 ? 0 : 1].post('/payments/refunds', body))
    expect(succeeded(answers)).toHaveLength(1)
    expect(codes(answers)).toEqual(['20170001'])
    expect(acquirer.ledger.length - before).toBe(1)
  })

  test('twenty updates of payments to the same transId: one succeeds', async () => {
    const change: Change = { captureMethod: { type: 'MANUAL' } }
    const payIds = await many(20, async () => (await shop.create('PROVIDERR', change)).body.payId as string)
    const answers = await Promise.all(
      payIds.map((payId, index) =>
        (index % 2 ? left : right).call(
          'PATCH',
          `/payments/${payId}`,
          { transId: 'wanted' },
          {
            authorization: shop.authorization,
          },
        ),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const losers = answers.filter(({ status }) => status !== 200)
    expect(new Set(losers.map(({ body }) => body.responseCode))).toEqual(new Set(['20170001']))
  })
})

test('captures of 300 on 1000, 20 at once over two processes, on 50 payments: three each', async () => {
  const payIds = await many(50, () => create(1000, 'MANUAL'))
  const answers = await Promise.all(
    payIds.map(payId =>
      many(20, index => crowds[index % 2 ? 0 : 1].post(`/payments/${payId}/captures`, step(300))),
    ),
  )
  expect(answers.filter(each => succeeded(each).length !== 3)).toEqual([])
  expect(codes(answers.flat())).toEqual(['20200003'])
  for (const payId of payIds) expect(ledgerOf(payId, 'CAPTURE')).toBe(900)
})

/** The full number in the long run; sixteen times as many as can succeed are enough to fill the queue. */
const atOnce = inLongRun(800, 10_000)

describe(`${atOnce} captures at once on one payment of 10,000`, () => {
  test('of 250 each: exactly 40 succeed, and not a cent more is captured', async () => {
    const payId = await create(10_000, 'MANUAL')
    const answers = await many(atOnce, () => crowds[0].post(`/payments/${payId}/captures`, step(250)))
    expect(succeeded(answers)).toHaveLength(40)
    expect(codes(answers)).toEqual(['20200002'])
    expect(await expectLedger(payId)).toMatchObject({ capturedValue: 10_000, status: 'OK' })
  })

  test('of 100 each over two processes: 50 succeed, the maximum for one payment', async () => {
    const payId = await create(10_000, 'MANUAL')
    const answers = await many(inLongRun(800, 2_000), index =>
      crowds[index % 2 ? 0 : 1].post(`/payments/${payId}/captures`, step(100)),
    )
    expect(succeeded(answers)).toHaveLength(50)
    expect(codes(answers)).toEqual(['20200006'])
    expect((await expectLedger(payId)).capturedValue).toBe(5_000)
  })
})
