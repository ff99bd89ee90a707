/** Random concurrent requests on the same few plans, customers, intents and payments, in two processes. */
import { test } from 'vitest'
import { dayOf } from '#domain/time/calendar.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { dayMs } from '#test/support/clock.ts'
import type { TestAnswer } from '#test/support/gateway.ts'
import { confirmation, eur } from '#test/support/intents.ts'
import { planPayment } from '#test/support/plans.ts'
import { methodPayment } from '#test/support/shop.ts'
import {
  type Act,
  leave,
  loseAnswer,
  meet,
  openScene,
  part,
  recent,
  runTimers,
  type Scene,
  withPayment,
} from '#test/support/simulation/meetings.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

const seeds = Array.from({ length: inLongRun(2, 20) }, (_, at) => at + 1)
const rounds = inLongRun(8, 40)

interface PlanScene extends Scene {
  readonly plans: { readonly planId: string; readonly payId: string }[]
  readonly customerIds: string[]
  readonly intents: string[]
}

type PlanAct = Act<PlanScene>

const cards = ['4111111111111111', '5555555555554444', '4000000000009995']

const about = ({ random }: PlanScene) => {
  const name = `customer ${random.below(3)}`
  return {
    customerInfo: { merchantCustomerId: name, email: 'ada@example.com' },
    card: { number: random.pick(cards), expiryDate: random.pick(['203001', '203112']) },
  }
}

function remember(scene: PlanScene, { body }: TestAnswer): void {
  if (body?.payId) scene.payIds.push(body.payId)
  if (body?.paymentPlanId && body.payId) scene.plans.push({ planId: body.paymentPlanId, payId: body.payId })
  const customerId = body?.customerInfo?.gatewayCustomerId
  if (customerId && !scene.customerIds.includes(customerId)) scene.customerIds.push(customerId)
}

/** Charged by the gateway, or by the merchant; with or without an end. */
const terms = ({ random, clock }: PlanScene) => ({
  ...{ frequency: 'DAILY', useCase: 'FIXED', autoCharge: random.chance(0.7) },
  ...(random.chance(0.2) ? { expiryDate: dayAfter(clock.nowMs(), random.below(8)) } : {}),
})

const dayAfter = (nowMs: number, days: number): string => dayOf(new Date(nowMs + days * dayMs))

const beginPlan: PlanAct = async scene => {
  const answer = await scene.ask(
    'POST',
    '/payments',
    methodPayment('CARD', planPayment({ recurring: terms(scene), payment: about(scene) })),
  )
  remember(scene, answer)
  return answer
}

const pay: PlanAct = async scene => {
  const answer = await scene.ask('POST', '/payments', methodPayment('CARD', about(scene)))
  remember(scene, answer)
  return answer
}

const withPlan =
  (verb: string, path: string, body: (scene: PlanScene) => object): PlanAct =>
  async scene => {
    const plan = recent(scene, scene.plans)
    return plan && scene.ask(verb, `/payment-plans/${plan.planId}${path}`, body(scene))
  }

const patchPlan = withPlan('PATCH', '', scene =>
  scene.random.pick([
    { amount: eur(500 + scene.random.below(500)) },
    { metadata: { turn: String(scene.next) } },
    { recurring: { expiryDate: dayAfter(scene.clock.nowMs(), scene.random.below(8)) } },
    { recurring: { expiryDate: '2027-04-01' } },
  ]),
)

const refund: PlanAct = async scene => {
  const payId = recent(scene, [...scene.payIds, ...scene.plans.slice(-2).map(plan => plan.payId)])
  const body = { transId: `refund-${++scene.next}`, amount: eur(scene.random.pick([1, 100, 1000])) }
  return payId === undefined ? undefined : scene.ask('POST', `/payments/${payId}/refunds`, body)
}

const reserve: PlanAct = async scene => {
  const captureMethod = scene.random.pick([
    { type: 'MANUAL' },
    { type: 'DELAYED', delayed: { delayedHours: 5 } },
  ] as const)
  const answer = await scene.ask(
    'POST',
    '/payments',
    methodPayment('CARD', { ...about(scene), captureMethod }),
  )
  remember(scene, answer)
  return answer
}

/** The methods of a known customer: one of them is removed, or a plan is charged with it from now on. */
const useMethods: PlanAct = async scene => {
  const id = recent(scene, scene.customerIds)
  if (id === undefined) return undefined
  const listed = await scene.ask('GET', `/customers/${id}/paymentMethods`)
  // A customer who was deleted in the meantime has none.
  const methodId: string | undefined = recent(scene, (listed.body.data ?? []) as AnyJson[])?.id
  const plan = recent(scene, scene.plans)
  if (methodId === undefined) return listed
  return plan && scene.random.chance(0.5)
    ? scene.ask('PATCH', `/payment-plans/${plan.planId}`, { paymentMethodId: methodId })
    : scene.ask('DELETE', `/customers/${id}/paymentMethods/${methodId}`)
}

const withCustomer =
  (verb: string, body?: (scene: PlanScene) => object): PlanAct =>
  async scene => {
    const id = recent(scene, scene.customerIds)
    return id === undefined ? undefined : scene.ask(verb, `/customers/${id}`, body?.(scene))
  }

const openIntent: PlanAct = async scene => {
  const answer = await scene.ask('POST', '/payment-intents', { amount: eur(1000) })
  scene.intents.push(answer.body.id)
  return answer
}

const withIntent =
  (path: string, body: (scene: PlanScene) => object): PlanAct =>
  async scene => {
    const id = recent(scene, scene.intents)
    return id === undefined ? undefined : scene.ask('POST', `/payment-intents/${id}${path}`, body(scene))
  }

const replay: PlanAct = async scene => {
  const listed = await scene.ask('GET', '/events')
  const event = recent(scene, (listed.body.data as { id: string }[]).slice(0, 3))
  return event && scene.ask('POST', `/events/${event.id}/replays`, {})
}

const acts: readonly PlanAct[] = [
  ...[beginPlan, pay, pay, patchPlan, patchPlan, refund, refund, openIntent, replay, loseAnswer],
  ...[runTimers, runTimers, runTimers, reserve, reserve, useMethods],
  ...['captures', 'captures', 'reversals', 'incrementals'].map(path => withPayment(path, part)),
  withPayment('cancellations', () => ({})),
  withPlan('POST', '/pause', () => ({})),
  withPlan('POST', '/resume', ({ random }) => ({ chargeNow: random.chance(0.5) })),
  withPlan('POST', '/resume', () => ({})),
  withPlan('POST', '/cancel', () => ({})),
  withPlan('POST', '/charge', scene => ({ transId: `charge-${++scene.next}` })),
  withCustomer('PATCH', ({ random }) => ({ firstName: `Ada ${random.below(9)}` })),
  withCustomer('DELETE'),
  withIntent('/confirm', ({ random }) => confirmation('CARD', { number: random.pick(cards) })),
  withIntent('/confirm', () => confirmation('CARD')),
  withIntent('/cancel', () => ({})),
]

test.each(seeds)('seed %i', { timeout: 600_000 }, async seed => {
  const scene: PlanScene = { ...(await openScene(seed)), plans: [], customerIds: [], intents: [] }
  try {
    await Promise.all([beginPlan(scene), pay(scene), openIntent(scene)])
    // An event about a plan names the last operation of the plan's first payment, which an earlier event may name too.
    await meet(scene, { acts, rounds, movesMs: [dayMs], accepted: ['an operation is told of once'] })
  } finally {
    await leave(scene)
  }
})
