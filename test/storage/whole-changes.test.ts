/**
 * Concurrent changes: a change with several guards is atomic, and two changes to one row in one batch are
 * both written.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CustomerId, IntentId, MerchantId, PayId, PlanId } from '#domain/ids.ts'
import { endPlan } from '#lifecycle/plans/plan.ts'
import type { Engine } from '#operations/engine.ts'
import type { Change } from '#storage/commit/change.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openIntents } from '#test/support/intents.ts'
import { beginPlan } from '#test/support/plans.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
let engine: Engine
let merchantId: MerchantId
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
  engine = gateway.gateway.engine
  merchantId = shop.merchantId as MerchantId
})
afterAll(() => gateway.stop())

const daily = { frequency: 'DAILY', autoCharge: true, useCase: 'FIXED' }
const now = new Date()

/** A plan and the payment that began it, as they are stored. */
async function begin() {
  const { body } = await beginPlan(shop, { recurring: daily })
  const plan = await engine.plans.find(merchantId, body.paymentPlanId as PlanId)
  const payment = await engine.payments.byPayId(merchantId, body.payId as PayId)
  if (!plan || !payment) throw new Error('the plan is not there')
  return { plan, payment }
}

type Begun = Awaited<ReturnType<typeof begin>>

/** The end of the plan with its event, which the payment counts. */
const endOf = ({ plan, payment }: Begun): Change => ({
  updatePlan: { plan: endPlan(plan, 'SUSPENDED', now), expectedVersion: plan.version },
  updatePayment: {
    payment: { ...payment, version: payment.version + 1, eventSequence: payment.eventSequence + 1 },
    expectedVersion: payment.version,
    extent: 'settled',
  },
})

const stored = async ({ plan, payment }: Begun) => ({
  plan: await engine.plans.find(merchantId, plan.planId),
  payment: await engine.payments.byPayId(merchantId, payment.payId),
})

test('if the plan was changed in the meantime, its payment counts no event', async () => {
  const begun = await begin()
  const patched = await shop.call('PATCH', `/payment-plans/${begun.plan.planId}`, { metadata: { a: 'b' } })
  expect(patched.status, patched.text).toBe(200)
  const before = await stored(begun)
  expect(await engine.commit(endOf(begun))).toEqual({ committed: false, conflict: 'plan_changed' })
  expect(await stored(begun)).toEqual(before)
})

test('if the payment was changed in the meantime, its plan continues', async () => {
  const begun = await begin()
  const { payId, transId } = begun.payment
  const refunded = await shop.call('POST', `/payments/${payId}/refunds`, {
    transId: `${transId}-back`,
    amount: { value: 1, currency: 'EUR' },
  })
  expect(refunded.status, refunded.text).toBe(200)
  const before = await stored(begun)
  expect(await engine.commit(endOf(begun))).toEqual({ committed: false, conflict: 'version_changed' })
  expect(await stored(begun)).toEqual(before)
})

test('a refused change leaves the others of its batch as they are', async () => {
  const stale = await begin()
  const good = await begin()
  await shop.call('PATCH', `/payment-plans/${stale.plan.planId}`, { metadata: { a: 'b' } })
  expect(await Promise.all([endOf(stale), endOf(good)].map(engine.commit))).toEqual([
    { committed: false, conflict: 'plan_changed' },
    { committed: true },
  ])
  expect(await stored(good)).toMatchObject({
    plan: { status: 'SUSPENDED' },
    payment: { version: good.payment.version + 1 },
  })
})

const openIntent = async () => (await openIntents(shop, gateway).intent()) as IntentId
const pay = async () => (await shop.create('CARD')).body.payId as PayId

test('if another payment has claimed the intent, the quote stays free', async () => {
  const payId = await pay()
  const claim = { merchantId, intentId: await openIntent(), payId, declines: 0 }
  expect(await engine.commit({ claimIntent: claim })).toEqual({ committed: true })
  const quoteId = 'f'.repeat(32)
  await queryRows(
    gateway.databaseUrl,
    `INSERT INTO dcc_quote (merchant_id, quote_id, bin, merchant_value, merchant_currency, cardholder_value,
       cardholder_currency, exchange_rate, markup_percentage, rate_source, quoted_at, expires_at)
     VALUES ($1, $2, '400000', 1000, 'EUR', 1100, 'USD', '1.100000', '3.00', 'test', now(), now() + interval '1 hour')`,
    [merchantId, quoteId],
  )
  const userOf = () =>
    queryRows(gateway.databaseUrl, 'SELECT pay_id FROM dcc_quote WHERE quote_id = $1', [quoteId])
  const useQuote = { merchantId, quoteId, payId }
  expect(await engine.commit({ claimIntent: claim, useQuote })).toEqual({
    committed: false,
    conflict: 'intent_taken',
  })
  expect(await userOf()).toEqual([{ pay_id: null }])
  const users = await Promise.all([{ useQuote }, { useQuote }].map(engine.commit))
  expect(users).toContainEqual({ committed: true })
  expect(users).toContainEqual({ committed: false, conflict: 'quote_taken' })
})

test('one of several changes that claim or end an intent at once succeeds', async () => {
  const intentId = await openIntent()
  const claimOf = (payId: PayId): Change => ({ claimIntent: { merchantId, intentId, payId, declines: 0 } })
  const all = [claimOf(await pay()), { endIntent: { merchantId, intentId, now } }, claimOf(await pay())]
  const answers = await Promise.all(all.map(engine.commit))
  const done = answers.findIndex(({ committed }) => committed)
  expect(answers).toEqual(
    answers.map((_, index) =>
      index === done ? { committed: true } : { committed: false, conflict: 'intent_taken' },
    ),
  )
  const intent = await engine.intents.find(merchantId, intentId)
  expect(intent?.payment?.payId).toBe(all[done]?.claimIntent?.payId)
  expect(intent?.cancelledAt).toEqual(all[done]?.endIntent?.now)
})

test.each(['first', 'last'])(
  'a plan that ends when its charge gets its outcome, %s: both are written',
  async order => {
    const { plan, payment } = await begin()
    const { planId } = plan
    await queryRows(
      gateway.databaseUrl,
      'UPDATE payment_plan SET charging_pay_id = initial_pay_id WHERE plan_id = $1',
      [planId],
    )
    const end: Change = {
      updatePlan: { plan: endPlan(plan, 'SUSPENDED', now), expectedVersion: plan.version },
    }
    const result = { status: 'ACTIVE', nextPaymentDate: '2099-01-01', tries: 0 } as const
    const outcome: Change = { endTurn: { merchantId, planId, payId: payment.payId, ...result, now } }
    const commitBoth = async () => {
      if (order === 'first') return Promise.all([end, outcome].map(engine.commit))
      return (await Promise.all([outcome, end].map(engine.commit))).toReversed()
    }
    const [ended, settled] = await commitBoth()
    expect(settled).toEqual({ committed: true })
    // Each is a statement of its own. In either order, the plan is not charged again.
    const after = await engine.plans.find(merchantId, planId)
    expect(after?.chargingPayId).toBeUndefined()
    if (ended?.committed) expect(after).toMatchObject({ status: 'SUSPENDED', version: plan.version + 2 })
    else expect(after).toMatchObject({ status: 'ACTIVE', version: plan.version + 1 })
  },
)

test.each(['first', 'last'])(
  'a stored card gets the new expiry date of the payment that comes %s',
  async order => {
    const customerInfo = { merchantCustomerId: `renews ${order}`, email: 'ada@example.com' }
    const { body } = await shop.create('CARD', { customerInfo, card: { expiryDate: '203001' } })
    const customerId = body.customerInfo.gatewayCustomerId as CustomerId
    const read = () => engine.storedMethods.listRemembered(merchantId, customerInfo.merchantCustomerId)
    const [card] = await read()
    if (!card) throw new Error('the card was not stored')
    const { cardId, methodId, brand, last4Digits } = card
    const method = { cardId, methodId, brand, last4Digits, type: 'CARD' }
    const uses: Change[] = [
      { customer: { merchantId, customerId, method: { ...method, expiryDate: '203505' }, usedAt: now } },
      { customer: { merchantId, customerId, method, usedAt: now } },
    ]
    const answers = await Promise.all((order === 'first' ? uses : uses.toReversed()).map(engine.commit))
    expect(answers).toEqual([{ committed: true }, { committed: true }])
    expect(await read()).toMatchObject([{ expiryDate: '203505' }])
  },
)
