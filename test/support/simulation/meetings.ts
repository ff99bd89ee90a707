/**
 * Merchants, customers and timers that act on the same few payments at the same moment, at random and in two processes.
 * No request gets a 5xx, no background work fails, and the doctor finds nothing afterwards.
 */
import { expect } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, type TestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { eur } from '#test/support/intents.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { openShop } from '#test/support/shop.ts'
import { countDue, findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'
import { createRandom, type Random } from '#test/support/simulation/random.ts'

/** The number of simultaneous acts in each round, on a few objects only. */
const actsPerRound = 12

export interface Scene {
  readonly random: Random
  readonly clock: TestClock
  readonly acquirer: Acquirer
  readonly gateways: readonly [TestGateway, TestGateway]
  readonly merchantId: string
  /** Sends a request to one of the two processes. */
  ask(verb: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  readonly payIds: string[]
  /** The number for the next unique name. */
  next: number
}

export type Act<S extends Scene = Scene> = (scene: S) => Promise<unknown>

/** Of the last few, so that several acts meet. */
export const recent = <T>({ random }: Scene, from: readonly T[]): T | undefined =>
  from.length === 0 ? undefined : random.pick(from.slice(-3))

export const withPayment =
  (path: string, body: (scene: Scene) => object): Act =>
  async scene => {
    const payId = recent(scene, scene.payIds)
    return payId === undefined ? undefined : scene.ask('POST', `/payments/${payId}/${path}`, body(scene))
  }

export const part = (scene: Scene) => ({
  transId: `part-${++scene.next}`,
  amount: eur(scene.random.pick([100, 400, 1000])),
})

export const runTimers: Act = ({ random, gateways }) => random.pick(gateways).gateway.timerWorker.runDue()

export const loseAnswer: Act = async ({ random, acquirer }) =>
  acquirer.failNext(
    random.pick(['AUTHORIZATION', 'CAPTURE', 'REFUND'] as const),
    random.pick(['lost_answer', 'lost_request'] as const),
  )

export async function openScene(seed: number): Promise<Scene> {
  const [random, clock, acquirer] = [createRandom(seed), createTestClock(), createAcquirer()]
  const { connectors } = acquirer
  const left = await startTestGateway({ clock, connectors, requestsPerSecond: 10_000 })
  const right = await startTestGateway({ clock, connectors, beside: left })
  const { merchantId, authorization } = await openShop(left)
  await left.gateway.merchants.endpoints.add({ merchantId, url: 'http://127.0.0.1:9/all', kind: 'ENHANCED' })
  const gateways = [left, right] as const
  return {
    ...{ random, clock, acquirer, gateways, merchantId, payIds: [], next: 0 },
    ask: (verb, path, body, headers) =>
      random.pick(gateways).call(verb, path, body, { authorization, ...headers }),
  }
}

/** Chooses random simultaneous acts, round by round, and checks the books after every fourth round. */
export async function meet<S extends Scene>(
  scene: S,
  {
    acts,
    rounds,
    movesMs,
    accepted = [],
  }: {
    acts: readonly Act<S>[]
    rounds: number
    /** By one of these the clock moves after every second round. */
    movesMs: readonly number[]
    /** Rules that these acts may break. */
    accepted?: readonly string[]
  },
): Promise<void> {
  for (let round = 1; round <= rounds; round += 1) {
    const chosen = Array.from({ length: actsPerRound }, () => scene.random.pick(acts))
    await Promise.all(chosen.map(act => act(scene)))
    expect(listComplaints(scene)).toEqual([])
    if (round % 2 === 0) scene.clock.move(scene.random.pick(movesMs))
    if (round % 4 !== 0) continue
    await settle(scene)
    await expectWhole(scene, accepted)
  }
}

export async function leave({ gateways }: Scene): Promise<void> {
  for (const { stop } of gateways.toReversed()) await stop()
}

/** Runs all due work in both processes until none is left. */
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

/**
 * Checks the doctor, the rules of the books, and the provider's ledger, which must have each of our paid operations
 * exactly once.
 */
async function expectWhole({ gateways, acquirer }: Scene, accepted: readonly string[]): Promise<void> {
  const [{ databaseUrl }] = gateways
  const found = (await examine(databaseUrl)).filter(one => one.found > 0)
  const rules = Object.entries(await findBrokenRules(databaseUrl))
  const broken = rules.filter(([rule]) => !accepted.includes(rule))
  expect({ found, broken, provider: await compareWithProvider(databaseUrl, acquirer.ledger) }).toEqual({
    found: [],
    broken: [],
    provider: [],
  })
}

/** One line of the provider's own ledger. */
export interface ProviderEntry {
  readonly reference: string
  readonly amount: number
  readonly approved: boolean
}

/**
 * Every difference between the operations that the provider has approved and those that we recorded as approved, as
 * texts. The provider is not called for the first step of a payment that is confirmed later, and returns come from the
 * bank without a call.
 */
export async function compareWithProvider(
  databaseUrl: string,
  ledger: readonly ProviderEntry[],
): Promise<readonly string[]> {
  const operations = await queryRows<{ id: string; type: string; state: string; amount: string }>(
    databaseUrl,
    `SELECT replace(x_id::text, '-', '') AS id, type, state, amount FROM operation o WHERE type <> 'RETURN' AND NOT
      (type = 'AUTHORIZATION' AND EXISTS (SELECT 1 FROM operation c WHERE c.pay_id = o.pay_id AND c.type = 'CONFIRM'))`,
  )
  const approved = new Map<string, number>()
  const differences: string[] = []
  for (const { reference, amount, approved: isApproved } of ledger) {
    if (!isApproved) continue
    if (approved.has(reference)) differences.push(`${reference} was approved twice`)
    approved.set(reference, amount)
  }
  for (const { id, type, state, amount } of operations) {
    const isDone = state === 'OK' || state === 'AUTHORIZED'
    const isOpen = state === 'SENT' || state === 'PENDING'
    if (isDone && approved.get(id) !== Number(amount))
      differences.push(`${type} ${id} is ${state} over ${amount}, the provider has ${approved.get(id)}`)
    if (!(isDone || isOpen) && approved.has(id)) differences.push(`${type} ${id} is ${state}, but taken`)
    approved.delete(id)
  }
  return [...differences, ...[...approved.keys()].map(reference => `nobody knows of ${reference}`)]
}

/**
 * There is no receiver at the endpoint, so its messages fail for good after some days. And PostgreSQL ends a
 * transaction whose process stalls for ten seconds, as on an overloaded machine; background work is then retried.
 */
const listComplaints = ({ gateways }: Scene): readonly string[] =>
  gateways.flatMap(({ logged }) =>
    logged.filter(
      line =>
        /"level":"(error|fatal)"|TIMER_FAILED|"status":5\d\d/.test(line) &&
        !line.includes('WEBHOOK_FAILED') &&
        !/connection error and is not queryable.*background work failed; it will be tried again/.test(line),
    ),
  )
