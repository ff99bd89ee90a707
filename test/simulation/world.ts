/**
 * A shop, an acquirer and a gateway with every kind of fault, driven by a seed: declines, lost requests, lost answers,
 * silence, crashes at every gap, restarts, bursts, repeated keys, returned debits, disputes, and a clock that jumps.
 */

import { createTestClock, secondMs, type TestClock } from '#test/support/clock.ts'
import { type Crash, crashNames, createCrash } from '#test/support/database/crash.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import {
  startTestGateway,
  type TestAnswer,
  type TestGateway,
  type TestRequest,
} from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer, type Fault } from '#test/support/providers/acquirer.ts'
import { urls } from '#test/support/shop.ts'
import {
  type AuditedRequest,
  type Auditor,
  createAuditor,
  type Inspection,
  type LaterFate,
} from '#test/support/simulation/auditor.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'
import { createRandom, type Random } from '#test/support/simulation/random.ts'

interface World {
  readonly random: Random
  readonly clock: TestClock
  readonly acquirer: Acquirer
  readonly crash: Crash
  readonly auditor: Auditor
  readonly database: TestDatabase
  /** The history of steps, printed with a failure. */
  readonly diary: string[]
  /** Payments that wait, or waited, for a customer. */
  readonly visits: string[]
  gateway: TestGateway
  requests: number
}

export interface Verdict {
  readonly findings: readonly string[]
  readonly brokenRules: Readonly<Record<string, unknown[]>>
  readonly diary: readonly string[]
  /** The amount of money in each direction, so that a simulation without refunds or disputes is noticed. */
  readonly moved: Readonly<Record<Movement, number>>
}

const movements = ['captured', 'reversed', 'refunded', 'returned', 'disputed'] as const
export type Movement = (typeof movements)[number]

async function sumUp({ database }: World): Promise<Verdict['moved']> {
  const sums = movements.map(name => `coalesce(sum(${name}), 0)::integer AS ${name}`).join(', ')
  const [row] = await queryRows<Record<Movement, number>>(database.url, `SELECT ${sums} FROM payment`)
  return row ?? { captured: 0, reversed: 0, refunded: 0, returned: 0, disputed: 0 }
}

export async function simulate(seed: number, steps: number): Promise<Verdict> {
  const world = await createWorld(seed)
  try {
    for (let step = 0; step < steps; step++) {
      const deed = world.random.pick(deeds)
      world.diary.push(deed.name)
      await deed(world)
    }
    await comeToRest(world)
    const findings = await world.auditor.audit(inspect(world))
    const brokenRules = await findBrokenRules(world.database.url)
    return { findings, brokenRules, diary: world.diary, moved: await sumUp(world) }
  } finally {
    await world.gateway.stop()
    await world.database.drop()
  }
}

async function createWorld(seed: number): Promise<World> {
  const clock = createTestClock()
  const acquirer = createAcquirer()
  const crash = createCrash()
  const database = await createTestDatabase()
  const gateway = await startTestGateway({
    clock,
    connectors: acquirer.connectors,
    testCrash: crash.testCrash,
    databaseUrl: database.url,
    requestsPerSecond: 1_000_000,
  })
  const auditor = createAuditor(acquirer.ledger, fateOf)
  return {
    random: createRandom(seed),
    clock,
    acquirer,
    crash,
    auditor,
    database,
    diary: [],
    visits: [],
    gateway,
    requests: 0,
  }
}

type Deed = (world: World) => Promise<void>

/** A step that is listed more than once is done more often. */
const deeds: readonly Deed[] = [
  createOne,
  createOne,
  createOne,
  createAgain,
  createHosted,
  createHosted,
  visit,
  visit,
  visit,
  visitInTabs,
  captureOne,
  captureOne,
  captureOne,
  captureOne,
  captureInBurst,
  refundOne,
  refundOne,
  reverseOne,
  createDebit,
  repeatKey,
  repeatKey,
  moveClock,
  moveClock,
  fallSilent,
  die,
]

async function createOne(world: World): Promise<void> {
  await perform(world, prepareCreate(world))
}

async function createHosted(world: World): Promise<void> {
  const request = prepareHosted(world)
  const { body } = await perform(world, request)
  world.visits.push(body.payId)
}

/** A customer visits a page and acts; the gateway must know whether there was anything to do. */
async function visit(world: World): Promise<void> {
  const request = prepareVisit(world)
  if (!request) return
  const answer = await world.gateway.send(request)
  world.diary.push(
    `  ${request.path} ${JSON.stringify(request.body)} → ${answer.status} ${answer.body.status}`,
  )
  if (answer.status !== 200) throw new Error(answer.text)
}

async function visitInTabs(world: World): Promise<void> {
  const first = prepareVisit(world)
  if (!first) return
  const all = Array.from({ length: 4 }, () => ({ ...first, body: { action: pickAction(world) } }))
  world.diary.push(`  ${first.path} ${JSON.stringify(all.map(({ body }) => body.action))}`)
  await Promise.all(all.map(request => world.gateway.send(request)))
}

/** Reuses the transId of an earlier payment. */
async function createAgain(world: World): Promise<void> {
  const earlier = world.auditor.repeatable.filter(({ path }) => path === '/payments')
  if (earlier.length === 0) return
  const { transId } = world.random.pick(earlier).body as { transId: string }
  await perform(world, prepareCreate(world, transId))
}

async function captureOne(world: World): Promise<void> {
  const request = prepareCapture(world)
  if (request) await perform(world, request)
}

async function refundOne(world: World): Promise<void> {
  const request = prepareFollowUp(world, 'refunds')
  if (request) await perform(world, request)
}

async function reverseOne(world: World): Promise<void> {
  const request = prepareFollowUp(world, 'reversals')
  if (request) await perform(world, request)
}

async function createDebit(world: World): Promise<void> {
  await perform(world, prepareDebit(world))
}

async function captureInBurst(world: World): Promise<void> {
  const first = prepareCapture(world)
  if (!first) return
  const all = [first, ...Array.from({ length: 4 }, () => prepareCapture(world, first.path) ?? first)]
  // The same request twice would be a repetition, whose order is undefined.
  await Promise.all([...new Set(all)].map(request => perform(world, request)))
}

/** The same request again, or another one under its key. */
async function repeatKey(world: World): Promise<void> {
  const { auditor, random } = world
  if (auditor.repeatable.length === 0) return
  const request = random.pick(auditor.repeatable)
  const body = random.chance(0.2) ? { ...(request.body as object), refNr: 'other' } : request.body
  await perform(world, { ...request, body })
}

async function moveClock({ clock, gateway, random }: World): Promise<void> {
  // At most ten minutes, so that all jumps together stay below the day after which inquiries end.
  clock.move(random.pick([1, 10, 30, 60, 600]) * secondMs)
  await gateway.gateway.timerWorker.runDue()
}

async function fallSilent({ acquirer, random }: World): Promise<void> {
  acquirer.setSilent(random.chance(0.5))
}

/** The process dies at a gap of an operation, and another one takes over. */
async function die(world: World): Promise<void> {
  const { random, crash, auditor, acquirer } = world
  if (random.chance(0.3)) return dieVisiting(world)
  const request = random.chance(0.5)
    ? prepareCreate(world)
    : (prepareAnyFollowUp(world) ?? prepareCreate(world))
  const point = random.pick(crashNames)
  const before = acquirer.inquiries()
  const answer = await crash.die(point, world.gateway, { verb: 'POST', ...request })
  world.diary.push(`  ${point} ${request.path} ${JSON.stringify(request.body)}`)
  // A refused request never reached the gap.
  if (answer) auditor.hear(request, answer)
  else auditor.lose(request, point === 'afterSettle')
  acquirer.heal()
  await restart(world)
  await world.gateway.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
  world.diary.push(`  ${acquirer.inquiries() - before} inquiries`)
}

/** The same for a customer's visit, whose result no merchant's request waits for. */
async function dieVisiting(world: World): Promise<void> {
  const request = prepareVisit(world)
  if (!request) return
  const point = world.random.pick(crashNames)
  await world.crash.die(point, world.gateway, request)
  world.diary.push(`  ${point} ${request.path} ${JSON.stringify(request.body)}`)
  world.acquirer.heal()
  await restart(world)
  await world.gateway.gateway.settleWorker.recover(new Date(Date.now() + secondMs))
}

async function restart(world: World): Promise<void> {
  const old = world.gateway
  world.gateway = await startTestGateway({
    clock: world.clock,
    connectors: world.acquirer.connectors,
    testCrash: world.crash.testCrash,
    databaseUrl: world.database.url,
    beside: old,
  })
  await old.stop()
}

async function perform(world: World, request: AuditedRequest): Promise<TestAnswer> {
  const answer = await world.gateway.send({ verb: 'POST', ...request })
  world.diary.push(`  ${request.path} ${JSON.stringify(request.body)} → ${answer.status} ${answer.text}`)
  world.auditor.hear(request, answer)
  return answer
}

const faults: readonly Fault[] = ['lost_answer', 'lost_request', 'throws']

/** A fault for the next request. */
function chooseLuck(
  { random, acquirer }: World,
  operation: 'AUTHORIZATION' | 'CAPTURE' | 'REFUND' | 'REVERSAL',
): object {
  if (random.chance(0.2)) acquirer.failNext(operation, random.pick(faults))
  return random.chance(0.15) ? { simulationMode: random.pick(['0305', '0351', 'Test:0396']) } : {}
}

function nameRequest(world: World): { name: string; headers: Record<string, string> } {
  const name = `s-${++world.requests}`
  return { name, headers: world.random.chance(0.8) ? { 'idempotency-key': `key-${name}` } : {} }
}

function prepareCreate(world: World, transId?: string): AuditedRequest {
  const { random } = world
  const { name, headers } = nameRequest(world)
  const number = pickCard(world)
  return {
    path: '/payments',
    headers,
    body: {
      transId: transId ?? name,
      amount: { value: 1 + random.below(2000), currency: 'EUR' },
      captureMethod: { type: random.chance(0.3) ? 'AUTOMATIC' : 'MANUAL' },
      paymentMethods: { integrationType: 'DIRECT', type: 'CARD', card: { number, expiryDate: '203012' } },
      ...chooseLuck(world, 'AUTHORIZATION'),
    },
  }
}

/** Declined at the capture; disputed two days after it; or nothing special. */
const pickCard = ({ random }: World): string =>
  random.chance(0.1) ? '4000000000000341' : random.chance(0.4) ? disputedCard : '4111111111111111'

const disputedCard = '4000000000002685'
/** A debit of this account is returned two days after it was captured. */
const returningAccount = 'DE35370400440532013002'

function fateOf({ body }: AuditedRequest): LaterFate | undefined {
  const { card, directDebit } = (body as DirectPayment).paymentMethods
  if (directDebit?.account.number === returningAccount) return 'returned'
  return card?.number === disputedCard ? 'disputed' : undefined
}

interface DirectPayment {
  readonly paymentMethods: {
    readonly card?: { readonly number: string }
    readonly directDebit?: { readonly account: { readonly number: string } }
  }
}

function prepareDebit(world: World): AuditedRequest {
  const { random } = world
  const { name, headers } = nameRequest(world)
  const number = random.chance(0.5) ? returningAccount : 'DE89370400440532013000'
  return {
    path: '/payments',
    headers,
    body: {
      transId: name,
      amount: { value: 1 + random.below(2000), currency: 'EUR' },
      captureMethod: { type: random.chance(0.6) ? 'AUTOMATIC' : 'MANUAL' },
      paymentMethods: {
        integrationType: 'DIRECT',
        type: 'DIRECTDEBIT',
        directDebit: { account: { number, accountHolderName: 'Ada Lovelace' } },
      },
      ...chooseLuck(world, 'AUTHORIZATION'),
    },
  }
}

function prepareHosted(world: World): AuditedRequest {
  const { random } = world
  const { name, headers } = nameRequest(world)
  return {
    path: '/payments',
    headers,
    body: {
      transId: name,
      amount: { value: 1 + random.below(2000), currency: 'EUR' },
      captureMethod: { type: random.chance(0.3) ? 'AUTOMATIC' : 'MANUAL' },
      urls,
      paymentMethods: { integrationType: 'HOSTED', type: random.pick(['CARD', 'PROVIDERT', 'PROVIDERZ']) },
    },
  }
}

const pickAction = ({ random }: World): string =>
  random.pick(['approve', 'approve', 'decline', 'decline', 'pending', 'cancel'])

function prepareVisit(world: World): TestRequest | undefined {
  if (world.visits.length === 0) return undefined
  const payId = world.random.pick(world.visits)
  if (world.random.chance(0.2)) world.acquirer.failNext('AUTHORIZATION', world.random.pick(faults))
  return {
    verb: 'POST',
    path: `/test/payments/${payId}/customer-action`,
    body: { action: pickAction(world) },
  }
}

/** Mostly small amounts, so that a payment takes several; sometimes one that is too large. */
function prepareCapture(world: World, path?: string, small = false): AuditedRequest | undefined {
  const { random, auditor } = world
  if (auditor.payIds.length === 0) return undefined
  const { headers } = nameRequest(world)
  return {
    path: path ?? `/payments/${random.pick(auditor.payIds)}/captures`,
    headers,
    body: {
      transId: 'parcel',
      amount: { value: 1 + random.below(small || random.chance(0.8) ? 300 : 3000), currency: 'EUR' },
      ...chooseLuck(world, 'CAPTURE'),
    },
  }
}

function prepareFollowUp(world: World, kind: 'refunds' | 'reversals'): AuditedRequest | undefined {
  const { random, auditor } = world
  if (auditor.payIds.length === 0) return undefined
  const { headers } = nameRequest(world)
  return {
    path: `/payments/${random.pick(auditor.payIds)}/${kind}`,
    headers,
    body: {
      transId: kind,
      amount: { value: 1 + random.below(random.chance(0.7) ? 300 : 2000), currency: 'EUR' },
      ...chooseLuck(world, kind === 'refunds' ? 'REFUND' : 'REVERSAL'),
    },
  }
}

const prepareAnyFollowUp = (world: World): AuditedRequest | undefined =>
  world.random.chance(0.5)
    ? prepareCapture(world, undefined, true)
    : prepareFollowUp(world, world.random.pick(['refunds', 'reversals']))

/**
 * Faults end and time passes: open operations must be settled within a day; captures are returned or disputed after
 * two.
 */
async function comeToRest({ acquirer, clock, gateway }: World): Promise<void> {
  acquirer.heal()
  acquirer.setSilent(false)
  for (let hour = 0; hour < 72; hour++) {
    clock.move(3600 * secondMs)
    while ((await gateway.gateway.timerWorker.runDue()) > 0);
  }
}

function inspect({ gateway, database }: World): Inspection {
  const read = async (path: string) => {
    const { status, body } = await gateway.call('GET', path)
    return status === 200 ? body : undefined
  }
  return {
    byPayId: payId => read(`/payments/getByPayId/${payId}`),
    byTransId: transId => read(`/payments/getByTransId/${transId}`),
    resend: request => gateway.send({ verb: 'POST', ...request }),
    // A dispute has events of its own under the reference of its capture.
    async countEvents(xId) {
      const about = `x_id = $1 AND type NOT LIKE 'dispute.%'`
      const rows = await queryRows(database.url, `SELECT 1 FROM event WHERE ${about}`, [xId])
      return rows.length
    },
  }
}
