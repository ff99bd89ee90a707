/**
 * Random actions of a merchant, its customers and a provider, with the provider's notices about them in any order: late
 * approvals, captures and refunds that are taken back or were made in the provider's dashboard, returns and disputes.
 * Nothing gives a 5xx, and the doctor finds nothing afterwards.
 */
import { expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, dayMs, hourMs, secondMs, type TestClock } from '#test/support/clock.ts'
import { type LateStage, openLateStage } from '#test/support/providers/late-stage.ts'
import { act, create, makeFact, type NoticeScene } from '#test/support/providers/notice-acts.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'
import { createRandom } from '#test/support/simulation/random.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

const seeds = Array.from({ length: inLongRun(2, 20) }, (_, at) => at + 1)
const steps = inLongRun(80, 200)
/** The books are examined after this many steps, so that a fault is found near the step that caused it. */
const examinedEvery = inLongRun(40, 20)

interface Scene extends LateStage, Omit<NoticeScene, keyof LateStage> {
  readonly clock: TestClock
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
      // After days without an answer an operation is left to the operator.
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
