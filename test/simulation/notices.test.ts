/**
 * A merchant, its customers and a provider that do things by chance, and the provider's notices about them in any order:
 * approvals that come late, captures and refunds that are taken back or were made in its dashboard, returns and disputes.
 * Nothing gives a 5xx, and the doctor finds nothing afterwards.
 */
import { expect, test } from 'vitest'
import type { NoticeFact } from '#connectors/contract.ts'
import { examine } from '#storage/doctor/doctor.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { createTestClock, dayMs, secondMs, type TestClock } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { findBrokenRules } from '#test/support/invariants.ts'
import { type LateStage, openLateStage } from '#test/support/late-stage.ts'
import { createRandom, type Random } from '#test/support/random.ts'
import { inLongRun } from '#test/support/size.ts'

const seeds = Array.from({ length: inLongRun(2, 20) }, (_, at) => at + 1)
const steps = inLongRun(80, 200)
/** After so many steps the books are examined: a fault is then found near the step that made it. */
const examinedEvery = inLongRun(40, 20)

interface Scene extends LateStage {
  readonly clock: TestClock
  readonly random: Random
  readonly payIds: string[]
  /** Names of what the provider does by itself. */
  next: number
}

const hourMs = 60 * 60 * secondMs

const euros = (value: number) => ({ value, currency: 'EUR' })
const part = (random: Random): number => random.pick([1000, 1000, 600, 400, 150])

async function create({ random, gateway, provider, payIds }: Scene): Promise<string> {
  const type = random.pick(['AUTOMATIC', 'AUTOMATIC', 'MANUAL', 'MANUAL', 'DELAYED'])
  const behaviour = random.pick([
    'approve',
    'approve',
    'approve',
    'decline',
    'lostAfter',
    'lostBefore',
  ] as const)
  provider.arm('AUTHORIZATION', behaviour)
  const captureMethod = type === 'DELAYED' ? { type, delayed: { delayedHours: 5 } } : { type }
  const { body, status, text } = await gateway.call('POST', '/payments', cardPayment({ captureMethod }))
  if (body.payId) payIds.push(body.payId)
  return `create ${body.payId} ${type} ${behaviour}: ${status} ${body.status ?? text}`
}

async function act(scene: Scene, payId: string): Promise<string> {
  const { random, gateway, provider } = scene
  const [path, type] = random.pick([
    ['captures', 'CAPTURE'],
    ['captures', 'CAPTURE'],
    ['refunds', 'REFUND'],
    ['reversals', 'REVERSAL'],
    ['incrementals', 'INCREMENTAL'],
    ['cancellations', undefined],
  ] as const)
  const behaviour = random.pick(['approve', 'approve', 'decline', 'lostAfter'] as const)
  if (type) provider.arm(type, behaviour)
  const value = part(random)
  const body = type ? { transId: `act-${++scene.next}`, amount: euros(value) } : {}
  const answer = await gateway.call('POST', `/payments/${payId}/${path}`, body)
  return `${path} ${value} ${behaviour} of ${payId}: ${answer.status} ${answer.body?.status ?? answer.text}`
}

function makeFact(scene: Scene, { payId, operations }: AnyJson): NoticeFact {
  const { random } = scene
  const [first] = operations
  const one = random.pick(operations as AnyJson[])
  const amount = euros(part(random))
  const transactionId = `by-itself-${++scene.next}`
  const subject = { transactionId, paymentTransactionId: `late_${first.xId}` }
  const own = { reference: one.xId }
  const provider = {
    echo: { reference: one.xId, amount: euros(one.amount.value) },
    transactionId: `late_${one.xId}`,
  }
  switch (random.below(7)) {
    case 0:
      return { kind: 'takenBack', operation: one.type, subject: own, detail: '0305' }
    case 1:
    case 2: {
      const type = random.pick(['CAPTURE', 'REFUND', 'REVERSAL'] as const)
      const made = { echo: { reference: payId, amount }, transactionId }
      return {
        kind: 'outcome',
        operation: type,
        subject,
        amount,
        outcome: { kind: 'approved', provider: made },
      }
    }
    case 3:
      return {
        kind: 'outcome',
        operation: one.type,
        subject: own,
        outcome: { kind: 'declined', detail: '0305', provider },
      }
    case 4:
      return {
        kind: 'outcome',
        operation: one.type,
        subject: own,
        amount: euros(one.amount.value),
        outcome: { kind: 'approved', provider },
      }
    case 5:
      return { kind: 'return', subject: own, amount, detail: '0351', transactionId }
    default:
      return {
        kind: 'dispute',
        subject: random.chance(0.5) ? own : subject,
        dispute: {
          providerDisputeId: `du_${payId}`,
          stage: random.pick(['INQUIRY', 'CHARGEBACK'] as const),
          status: random.pick(['OPEN', 'WON', 'LOST'] as const),
          amount,
          reasonCode: '4837',
          reasonGroup: 'FRAUD',
        },
      }
  }
}

async function step(scene: Scene): Promise<string> {
  const { random, payIds, clock, read, tell, deliver, runTimers, lastState } = scene
  const kind = random.below(10)
  if (payIds.length === 0 || kind < 2) return create(scene)
  const payId = random.pick(payIds.slice(-6))
  if (kind < 5) return act(scene, payId)
  if (kind < 6) {
    await deliver()
    return 'deliver'
  }
  if (kind < 7) {
    const hops = random.pick([1, 1, 1, 3, 10])
    const hopMs = hops > 1 ? dayMs : random.pick([30 * secondMs, hourMs, 6 * hourMs])
    for (let hop = 0; hop < hops; hop += 1) {
      clock.move(hopMs)
      for (let runs = 0; runs < 50 && (await runTimers()) > 0; runs += 1);
      // What a provider has not told for days is left to a person.
      if (hops > 1) await deliver()
    }
    return `${(hops * hopMs) / secondMs} s later`
  }
  const fact = makeFact(scene, await read(payId))
  await tell(fact)
  return `told of ${payId}: ${JSON.stringify(fact)}: ${await lastState()}`
}

test.each(seeds)('seed %i', { timeout: 600_000 }, async seed => {
  const clock = createTestClock()
  const stage = await openLateStage({ clock })
  try {
    const scene: Scene = { ...stage, clock, random: createRandom(seed), payIds: [], next: 0 }
    const taken: string[] = []
    for (let at = 1; at <= steps; at += 1) {
      taken.push(await step(scene))
      expect(taken.at(-1)).not.toMatch(/: 5\d\d/)
      if (at % examinedEvery !== 0 && at !== steps) continue
      const found = (await examine(stage.gateway.databaseUrl)).filter(one => one.found > 0)
      const broken = await findBrokenRules(stage.gateway.databaseUrl)
      const payId = found[0]?.examples[0]?.payId?.replaceAll('-', '')
      const story = taken.filter(
        line => payId === undefined || line.includes(payId) || /later|deliver/.test(line),
      )
      expect({ found, broken }, story.slice(-60).join('\n')).toEqual({ found: [], broken: {} })
    }
  } finally {
    await stage.gateway.stop()
  }
})
