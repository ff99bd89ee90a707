/**
 * What merchants, customers and timers do to the same few plans, customers, intents and payments at the same moment, by
 * chance and in two processes. Nothing gives a 5xx, no background work fails, and the doctor finds nothing afterwards.
 */
import { expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { type Acquirer, createAcquirer } from '#test/support/acquirer.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { createTestClock, dayMs, type TestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { confirmation, eur } from '#test/support/intents.ts'
import { countDue, findBrokenRules, queryRows } from '#test/support/invariants.ts'
import { planPayment } from '#test/support/plans.ts'
import { createRandom, type Random } from '#test/support/random.ts'
import { methodPayment, openShop } from '#test/support/shop.ts'
import { inLongRun } from '#test/support/size.ts'

const seeds = Array.from({ length: inLongRun(2, 20) }, (_, at) => at + 1)
const rounds = inLongRun(8, 40)
/** Done at the same moment in each round, about a few things only. */
const actsPerRound = 12

interface Scene {
  readonly random: Random
  readonly clock: TestClock
  readonly acquirer: Acquirer
  readonly gateways: readonly [TestGateway, TestGateway]
  /** Asks one of the two processes. */
  ask(verb: string, path: string, body?: unknown): Promise<TestAnswer>
  readonly plans: { readonly planId: string; readonly payId: string }[]
  readonly payIds: string[]
  readonly customerIds: string[]
  readonly intents: string[]
  next: number
}

const cards = ['4111111111111111', '5555555555554444', '4000000000009995']

const about = ({ random }: Scene) => {
  const name = `customer ${random.below(3)}`
  return {
    customerInfo: { merchantCustomerId: name, email: 'ada@example.com' },
    card: { number: random.pick(cards), expiryDate: random.pick(['203001', '203112']) },
  }
}

/** Of the last few, so that several acts meet. */
const recent = <T>({ random }: Scene, from: readonly T[]): T | undefined =>
  from.length === 0 ? undefined : random.pick(from.slice(-3))

function remember(scene: Scene, { body }: TestAnswer): void {
  if (body?.payId) scene.payIds.push(body.payId)
  if (body?.paymentPlanId && body.payId) scene.plans.push({ planId: body.paymentPlanId, payId: body.payId })
  const customerId = body?.customerInfo?.gatewayCustomerId
  if (customerId && !scene.customerIds.includes(customerId)) scene.customerIds.push(customerId)
}

type Act = (scene: Scene) => Promise<TestAnswer | undefined>

const daily = { frequency: 'DAILY', autoCharge: true, useCase: 'FIXED' }

const beginPlan: Act = async scene => {
  const answer = await scene.ask(
    'POST',
    '/payments',
    methodPayment('CARD', planPayment({ recurring: daily, payment: about(scene) })),
  )
  remember(scene, answer)
  return answer
}

const pay: Act = async scene => {
  const answer = await scene.ask('POST', '/payments', methodPayment('CARD', about(scene)))
  remember(scene, answer)
  return answer
}

const withPlan =
  (verb: string, path: string, body: (scene: Scene) => object): Act =>
  async scene => {
    const plan = recent(scene, scene.plans)
    return plan && scene.ask(verb, `/payment-plans/${plan.planId}${path}`, body(scene))
  }

const patchPlan = withPlan('PATCH', '', scene =>
  scene.random.pick([
    { amount: eur(500 + scene.random.below(500)) },
    { metadata: { turn: String(scene.next) } },
    { recurring: { expiryDate: '2027-04-01' } },
  ]),
)

const refund: Act = async scene => {
  const payId = recent(scene, [...scene.payIds, ...scene.plans.slice(-2).map(plan => plan.payId)])
  const body = { transId: `refund-${++scene.next}`, amount: eur(scene.random.pick([1, 100, 1000])) }
  return payId === undefined ? undefined : scene.ask('POST', `/payments/${payId}/refunds`, body)
}

const reserve: Act = async scene => {
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

const withPayment =
  (path: string, body: (scene: Scene) => object): Act =>
  async scene => {
    const payId = recent(scene, scene.payIds)
    return payId === undefined ? undefined : scene.ask('POST', `/payments/${payId}/${path}`, body(scene))
  }

const part = (scene: Scene) => ({
  transId: `part-${++scene.next}`,
  amount: eur(scene.random.pick([100, 400, 1000])),
})

/** The methods of a known customer: one of them is removed, or a plan is charged with it from now on. */
const useMethods: Act = async scene => {
  const id = recent(scene, scene.customerIds)
  if (id === undefined) return undefined
  const listed = await scene.ask('GET', `/customers/${id}/paymentMethods`)
  // A customer that was deleted meanwhile has none.
  const methodId: string | undefined = recent(scene, (listed.body.data ?? []) as AnyJson[])?.id
  const plan = recent(scene, scene.plans)
  if (methodId === undefined) return listed
  return plan && scene.random.chance(0.5)
    ? scene.ask('PATCH', `/payment-plans/${plan.planId}`, { paymentMethodId: methodId })
    : scene.ask('DELETE', `/customers/${id}/paymentMethods/${methodId}`)
}

const withCustomer =
  (verb: string, body?: (scene: Scene) => object): Act =>
  async scene => {
    const id = recent(scene, scene.customerIds)
    return id === undefined ? undefined : scene.ask(verb, `/customers/${id}`, body?.(scene))
  }

const openIntent: Act = async scene => {
  const answer = await scene.ask('POST', '/payment-intents', { amount: eur(1000) })
  scene.intents.push(answer.body.id)
  return answer
}

const withIntent =
  (path: string, body: (scene: Scene) => object): Act =>
  async scene => {
    const id = recent(scene, scene.intents)
    return id === undefined ? undefined : scene.ask('POST', `/payment-intents/${id}${path}`, body(scene))
  }

const replay: Act = async scene => {
  const listed = await scene.ask('GET', '/events')
  const event = recent(scene, (listed.body.data as { id: string }[]).slice(0, 3))
  return event && scene.ask('POST', `/events/${event.id}/replays`, {})
}

const runTimers: Act = async ({ random, gateways }) => {
  await random.pick(gateways).gateway.timerWorker.runDue()
  return undefined
}

const loseAnswer: Act = async ({ random, acquirer }) => {
  acquirer.failNext(
    random.pick(['AUTHORIZATION', 'REFUND'] as const),
    random.pick(['lost_answer', 'lost_request'] as const),
  )
  return undefined
}

const acts: readonly Act[] = [
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

async function open(seed: number): Promise<Scene> {
  const [random, clock, acquirer] = [createRandom(seed), createTestClock(), createAcquirer()]
  const { connectors } = acquirer
  const left = await startTestGateway({ clock, connectors, requestsPerSecond: 10_000 })
  const right = await startTestGateway({ clock, connectors, beside: left })
  const { merchantId, authorization } = await openShop(left)
  await left.gateway.merchants.endpoints.add({ merchantId, url: 'http://127.0.0.1:9/all', kind: 'ENHANCED' })
  const gateways = [left, right] as const
  return {
    ...{ random, clock, acquirer, gateways, next: 0 },
    ask: (verb, path, body) => random.pick(gateways).call(verb, path, body, { authorization }),
    ...{ plans: [], payIds: [], customerIds: [], intents: [] },
  }
}

/** Whatever is due, in both processes, until nothing is. */
async function settle({ acquirer, gateways, clock }: Scene): Promise<void> {
  acquirer.heal()
  const [{ databaseUrl }] = gateways
  for (let minutes = 0; minutes < 20; minutes += 1) {
    do await Promise.all(gateways.map(({ gateway }) => gateway.timerWorker.runDue()))
    while ((await countDue(databaseUrl, clock.nowMs())) > 0)
    const open = await queryRows(databaseUrl, `SELECT 1 FROM operation WHERE state = 'SENT'`)
    if (open.length === 0) return
    clock.move(60_000)
  }
  throw new Error('an operation got no answer within twenty minutes')
}

/** Nobody listens at the endpoint, so its messages fail for good after some days. */
const complaints = ({ gateways }: Scene): readonly string[] =>
  gateways.flatMap(({ logged }) =>
    logged.filter(
      line =>
        /"level":"(error|fatal)"|TIMER_FAILED|"status":5\d\d/.test(line) && !line.includes('WEBHOOK_FAILED'),
    ),
  )

test.each(seeds)('seed %i', { timeout: 600_000 }, async seed => {
  const scene = await open(seed)
  const [{ databaseUrl }] = scene.gateways
  try {
    await Promise.all([beginPlan(scene), pay(scene), openIntent(scene)])
    for (let round = 1; round <= rounds; round += 1) {
      const chosen = Array.from({ length: actsPerRound }, () => scene.random.pick(acts))
      await Promise.all(chosen.map(act => act(scene)))
      expect(complaints(scene)).toEqual([])
      if (round % 2 === 0) scene.clock.move(dayMs)
      if (round % 4 !== 0) continue
      await settle(scene)
      const found = (await examine(databaseUrl)).filter(one => one.found > 0)
      // A plan that is resumed without its card is suspended once more, and its first payment tells of both.
      const { 'an operation is told of once': _, ...broken } = await findBrokenRules(databaseUrl)
      expect({ found, broken }).toEqual({ found: [], broken: {} })
    }
  } finally {
    for (const { stop } of scene.gateways.toReversed()) await stop()
  }
})
