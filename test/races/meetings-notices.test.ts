/**
 * Notices of a provider, requests of the merchant and timers that meet at the same few payments, by chance and in two
 * processes: approvals that come late, money that is given back, captures and refunds that are taken back or were made in
 * the provider's dashboard, returns and disputes. Nothing gives a 5xx, and the doctor finds nothing afterwards.
 */
import { expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { createTestClock, dayMs, hourMs, minuteMs } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { findBrokenRules, queryRows } from '#test/support/invariants.ts'
import { openLateStage, word } from '#test/support/late-stage.ts'
import { act, create, makeFact, type NoticeScene } from '#test/support/notice-acts.ts'
import { hostedBody } from '#test/support/paid-late.ts'
import { createRandom } from '#test/support/random.ts'
import { inLongRun } from '#test/support/size.ts'

const seeds = Array.from({ length: inLongRun(2, 20) }, (_, at) => at + 1)
const rounds = inLongRun(12, 60)
const actsPerRound = 8

interface Scene extends Omit<NoticeScene, 'gateway'> {
  readonly clock: ReturnType<typeof createTestClock>
  readonly gateways: readonly [TestGateway, TestGateway]
  readonly accountId: string
  /** References of pages that customers may still pay on. */
  readonly pages: string[]
}

const pickGateway = ({ random, gateways }: Scene): TestGateway => random.pick(gateways)

/** As a view of the scene through one of the two processes. */
const through = (scene: Scene): NoticeScene => ({
  ...scene,
  gateway: pickGateway(scene),
  next: ++scene.next * 1000,
})

async function openHosted(scene: Scene): Promise<void> {
  const { body } = await pickGateway(scene).call('POST', '/payments', hostedBody('PROVIDERP'))
  scene.payIds.push(body.payId)
  scene.pages.push(body.xId)
}

/** Some pay in time, and some when the page has ended. */
async function payOnPage({ random, provider, pages }: Scene): Promise<void> {
  const reference = random.pick(pages.slice(-4))
  if (reference) provider.payAnyway(reference)
}

async function actOnOne(scene: Scene): Promise<void> {
  const line = await act(through(scene), scene.random.pick(scene.payIds.slice(-4)))
  expect(line).not.toMatch(/: 5\d\d/)
}

async function tellOfOne(scene: Scene): Promise<void> {
  const payId = scene.random.pick(scene.payIds.slice(-4))
  const { body } = await pickGateway(scene).call('GET', `/payments/getByPayId/${payId}`)
  scene.provider.say({ key: `told-${++scene.next}`, fact: makeFact(through(scene), body) })
}

/** The same notice may go to both processes. */
async function deliver(scene: Scene): Promise<void> {
  const { provider, accountId, gateways, random } = scene
  await Promise.all(
    provider
      .tell(word)
      .flatMap(body =>
        (random.chance(0.3) ? gateways : [pickGateway(scene)]).map(({ url }) =>
          fetch(`${url}/providers/${accountId}/notices`, { method: 'POST', body }),
        ),
      ),
  )
  await applyAll(scene)
}

async function applyAll({ gateways }: Scene): Promise<void> {
  const [{ databaseUrl }] = gateways
  await queryRows(databaseUrl, 'UPDATE notice_item SET due_at = now() WHERE due_at IS NOT NULL')
  await Promise.all(gateways.map(({ gateway }) => gateway.notices.runDue()))
}

async function runTimers(scene: Scene): Promise<void> {
  await pickGateway(scene).gateway.timerWorker.runDue()
}

async function changeMind(scene: Scene): Promise<void> {
  const [{ gateway, merchantId }] = scene.gateways
  await gateway.merchants.set(merchantId, { paidLate: scene.random.pick(['keep', 'return', 'return']) })
}

const acts: readonly ((scene: Scene) => Promise<unknown>)[] = [
  ...[openHosted, openHosted, payOnPage, payOnPage, actOnOne, actOnOne, actOnOne, actOnOne],
  ...[tellOfOne, tellOfOne, deliver, deliver, deliver, runTimers, runTimers, runTimers, changeMind],
  scene => create(through(scene)),
]

async function settle(scene: Scene): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    await deliver(scene)
    for (let runs = 0; runs < 50; runs += 1) {
      const ran = await Promise.all(scene.gateways.map(({ gateway }) => gateway.timerWorker.runDue()))
      if (ran.every(count => count === 0)) break
    }
  }
}

test.each(seeds)('seed %i', { timeout: 600_000 }, async seed => {
  const clock = createTestClock()
  const stage = await openLateStage({ clock })
  const { gateway: left, provider, accountId } = stage
  const right = await startTestGateway({ clock, beside: left, definitions: [provider.definition] })
  const scene: Scene = {
    ...{ clock, provider, accountId, gateways: [left, right], random: createRandom(seed) },
    ...{ payIds: [], pages: [], next: 0 },
  }
  try {
    await Promise.all([openHosted(scene), create(through(scene))])
    for (let round = 1; round <= rounds; round += 1) {
      const chosen = Array.from({ length: actsPerRound }, () => scene.random.pick(acts))
      await Promise.all(chosen.map(one => one(scene)))
      clock.move(scene.random.pick([minuteMs, hourMs, hourMs, dayMs]))
      if (round % 4 !== 0) continue
      await settle(scene)
      const found = (await examine(left.databaseUrl)).filter(one => one.found > 0)
      const broken = await findBrokenRules(left.databaseUrl)
      expect({ found, broken }).toEqual({ found: [], broken: {} })
    }
  } finally {
    await right.stop()
    await left.stop()
  }
})
