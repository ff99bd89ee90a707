/** Many confirmations of one payment intent at once, in one process and over two: one payment, one charge. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { IntentId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import { findMethod } from '#methods/catalogue.ts'
import { createPayment } from '#operations/payments/create-payment.ts'
import { startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { confirmation, eur, type IntentShop, openIntents } from '#test/support/intents.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { findMerchant, openShop, refused, type Shop } from '#test/support/shop.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

let acquirer: Acquirer
let left: TestGateway
let right: TestGateway
let shop: Shop
let intents: IntentShop
/** The point at which `left` waits, between the provider's answer and recording it. */
let gate: (() => Promise<void>) | undefined
beforeAll(async () => {
  acquirer = createAcquirer()
  const { connectors } = acquirer
  const testCrash = (point: string) => (point === 'afterCall' ? gate?.() : undefined)
  left = await startTestGateway({ connectors, testCrash })
  right = await startTestGateway({ connectors, beside: left })
  shop = await openShop(left)
  intents = openIntents(shop, left)
})
afterAll(async () => {
  expect(await findBrokenRules(left.databaseUrl)).toEqual({})
  await right.stop()
  await left.stop()
})

const confirmAt = (at: TestGateway, id: string, body: unknown, headers: Record<string, string> = {}) =>
  at.call('POST', `/payment-intents/${id}/confirm`, body, { authorization: shop.authorization, ...headers })
const everywhere = (count: number, send: (at: TestGateway) => Promise<TestAnswer>) =>
  Promise.all(Array.from({ length: count }, (_, index) => send(index % 2 ? left : right)))
const withStatus = (answers: readonly TestAnswer[], status: number) =>
  answers.filter(answer => answer.status === status)
const paymentsOf = (id: string) =>
  queryRows<{ status: string }>(
    left.databaseUrl,
    `SELECT status FROM payment WHERE details->>'paymentIntentId' = $1`,
    [id],
  )

test('forty confirmations over two processes: one pays, the others are refused as already paid', async () => {
  const id = await intents.intent({ amount: eur(1234) })
  const heard = acquirer.ledger.length
  const answers = await everywhere(40, at => confirmAt(at, id, confirmation('CARD')))
  const [paid] = withStatus(answers, 200)
  expect(withStatus(answers, 200)).toHaveLength(1)
  const others = answers.filter(answer => answer !== paid)
  for (const answer of others) expect(answer).toMatchObject(refused('20200010'))
  expect(new Set(others.map(({ body }) => body.payId))).toEqual(new Set([paid?.body.payId]))
  expect(await paymentsOf(id)).toHaveLength(1)
  // One authorisation with its capture.
  expect(acquirer.ledger.slice(heard).map(({ amount }) => amount)).toEqual([1234, 1234])
})

test('forty with one key over two processes: one payment and one answer', async () => {
  const id = await intents.intent()
  const headers = { 'idempotency-key': 'one-tap' }
  const answers = await everywhere(40, at => confirmAt(at, id, confirmation('CARD'), headers))
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
  expect(answers[0]?.status).toBe(200)
  expect(await paymentsOf(id)).toHaveLength(1)
})

test('after a decline another confirmation may try, but never two at a time', async () => {
  const id = await intents.intent({ simulationMode: '0305' })
  const answers = await everywhere(20, at => confirmAt(at, id, confirmation('CARD')))
  const tried = answers.filter(({ body }) => body.responseCode === '21000305')
  expect(tried.length).toBeGreaterThan(0)
  expect(tried.length + answers.filter(({ body }) => body.responseCode === '20200010').length).toBe(20)
  expect(await paymentsOf(id)).toEqual(tried.map(() => ({ status: 'FAILED' })))
})

test('during the provider call, a confirmation at the other process is refused', async () => {
  const id = await intents.intent()
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  gate = () => {
    reached.resolve()
    return opened.promise
  }
  const slow = confirmAt(left, id, confirmation('CARD'))
  await reached.promise
  expect(await confirmAt(right, id, confirmation('CARD'))).toMatchObject(refused('20200010'))
  opened.resolve()
  gate = undefined
  expect((await slow).status).toBe(200)
})

test('two intents of one transId: one is paid, the other stays open', async () => {
  const request = { transId: 'one-order', captureMethod: { type: 'MANUAL' } }
  const ids = [await intents.intent(request), await intents.intent(request)]
  const answers = await Promise.all(ids.map(id => confirmAt(left, id, confirmation('CARD'))))
  expect(answers.map(({ body }) => body.responseCode).sort()).toEqual(['00000000', '20170001'])
  const paid = answers.find(({ status }) => status === 200)
  const open = ids[answers.findIndex(({ status }) => status === 422)] ?? ''
  await shop.act(paid?.body.payId, 'reversals', 1000)
  expect((await confirmAt(right, open, confirmation('CARD'))).status).toBe(200)
})

/** Bypasses the rule and uses different transIds, so that only the claim can refuse them. */
test('forty payments that claim one intent at the same moment: one is made', async () => {
  const id = (await intents.intent()) as IntentId
  const method = findMethod('CARD')
  const merchant = await findMerchant(shop, left)
  if (!method) throw new Error('the method is gone')
  const { merchantId } = merchant
  const heard = acquirer.ledger.length
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, (_, index) =>
      createPayment(
        {
          merchant,
          command: {
            merchantId,
            transId: `claim-${index}`,
            method,
            integrationType: 'DIRECT',
            amount: eur(1000),
            captureMethod: { type: 'MANUAL' },
            details: {},
            own: { paymentIntentId: id },
          },
          card: { number: new Secret('4111111111111111'), expiryDate: '203012' },
          intent: { intentId: id, declines: 0 },
        },
        (index % 2 ? left : right).gateway.engine,
      ),
    ),
  )
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  const lost = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  expect(new Set(lost.map(error => error.conflict))).toEqual(new Set(['intent_taken']))
  expect(await paymentsOf(id)).toEqual([{ status: 'AUTHORIZED' }])
  expect(acquirer.ledger.length - heard).toBe(1)
  expect(await intents.confirm(id, confirmation('CARD'))).toMatchObject(refused('20200010'))
})
