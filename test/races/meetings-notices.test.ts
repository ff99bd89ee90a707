/**
 * Notices of a provider, customers, requests of the merchant and timers act on the same few payments, at random and in
 * two processes: pages that are left, ended and still paid, late approvals, money that is given back. Nothing gives a
 * 5xx, the doctor finds nothing afterwards, and the provider's books agree with ours. Once more with random notices:
 * captures and refunds that are taken back or were made in the provider's dashboard, returns, disputes.
 */
import { expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { cardEntries, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { createTestClock, dayMs, hourMs, minuteMs } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openLateStage, word } from '#test/support/providers/late-stage.ts'
import { act, create, makeFact, type NoticeScene, part } from '#test/support/providers/notice-acts.ts'
import { euros, hostedBody } from '#test/support/providers/paid-late.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'
import { compareWithProvider } from '#test/support/simulation/meetings.ts'
import { createRandom } from '#test/support/simulation/random.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

const seeds = Array.from({ length: inLongRun(1, 10) }, (_, at) => at + 1)
const rounds = inLongRun(12, 60)
const actsPerRound = 8

interface Scene extends Omit<NoticeScene, 'gateway'> {
  readonly clock: ReturnType<typeof createTestClock>
  readonly gateways: readonly [TestGateway, TestGateway]
  readonly accountId: string
  /** Pages of ours on which customers choose how to pay. */
  readonly pages: string[]
}

const pickGateway = ({ random, gateways }: Scene): TestGateway => random.pick(gateways)

/** The scene at one of the two processes. Operations made by the provider itself get ids of their own there. */
const through = (scene: Scene): NoticeScene => ({
  ...scene,
  gateway: pickGateway(scene),
  next: ++scene.next * 1000,
})

const begin =
  (path: string, type?: string) =>
  async (scene: Scene): Promise<void> => {
    const { paymentMethods, ...rest } = hostedBody(type ?? '')
    const body = type ? { ...rest, paymentMethods } : rest
    const answer = await pickGateway(scene).call('POST', path, body)
    scene.payIds.push(answer.body.payId)
    if (!type) scene.pages.push(answer.body._links.redirect.href)
  }

const openHosted = begin('/payments', 'PROVIDERP')
const openSession = begin('/payments/sessions')

/** Customers may also pay on a page that was left or has ended. */
async function payOnPage({ random, provider }: Scene): Promise<void> {
  provider.payAnyway(random.pick(provider.requests.slice(-6)).reference)
}

/** The customer chooses a method on our page, which leaves an earlier choice. */
async function choose(scene: Scene): Promise<void> {
  const { random, pages } = scene
  const href = random.pick(pages.slice(-3)).replace(/^https?:\/\/[^/]+/, pickGateway(scene).url)
  const { hidden, url } = await openPage(href)
  const fields = random.chance(0.8) ? { type: 'IDEAL' } : cardEntries('4111111111111111')
  expect(await sendForm({ url, hidden }, fields)).toBeLessThan(500)
}

async function change(scene: Scene): Promise<void> {
  const payId = scene.random.pick(scene.payIds.slice(-4))
  await pickGateway(scene).call('PATCH', `/payments/${payId}`, { amount: euros(part(scene.random)) })
}

async function turnBack(scene: Scene): Promise<void> {
  const payId = scene.random.pick(scene.payIds.slice(-4))
  await pickGateway(scene).call('POST', `/test/payments/${payId}/customer-action`, { action: 'cancel' })
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

type Act = (scene: Scene) => Promise<unknown>

const honest: readonly Act[] = [
  ...[openHosted, openSession, payOnPage, payOnPage, payOnPage, change, turnBack],
  ...[choose, choose, choose, choose, choose, choose, actOnOne, actOnOne, actOnOne, actOnOne],
  ...[deliver, deliver, deliver, runTimers, runTimers, runTimers, changeMind],
  scene => create(through(scene)),
]

const providers: readonly {
  readonly name: string
  readonly acts: readonly Act[]
  readonly agrees: boolean
}[] = [
  { name: 'an honest provider', acts: honest, agrees: true },
  {
    name: 'a provider that tells anything',
    acts: [...honest, ...Array<Act>(4).fill(tellOfOne)],
    agrees: false,
  },
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

/** Ignores operations that the provider has undone at our request. */
const compareBooks = ({ provider, gateways: [{ databaseUrl }] }: Scene): Promise<readonly string[]> =>
  compareWithProvider(
    databaseUrl,
    provider.ledger.map(({ state, ...entry }) => ({ ...entry, approved: state === 'approved' })),
  )

const cases = providers.flatMap(provider => seeds.map(seed => ({ ...provider, seed })))

test.each(cases)('$name, seed $seed', { timeout: 600_000 }, async ({ acts, agrees, seed }) => {
  const clock = createTestClock()
  const stage = await openLateStage({ clock })
  const { gateway: left, provider, accountId } = stage
  const right = await startTestGateway({ clock, beside: left, definitions: [provider.definition] })
  const scene: Scene = {
    ...{ clock, provider, accountId, gateways: [left, right], random: createRandom(seed) },
    ...{ payIds: [], pages: [], next: 0 },
  }
  try {
    await Promise.all([openSession(scene), create(through(scene))])
    for (let round = 1; round <= rounds; round += 1) {
      const chosen = Array.from({ length: actsPerRound }, () => scene.random.pick(acts))
      await Promise.all(chosen.map(one => one(scene)))
      clock.move(scene.random.pick([minuteMs, minuteMs, minuteMs, hourMs, dayMs]))
      if (round % 4 !== 0) continue
      await settle(scene)
      const failed = scene.gateways.flatMap(({ logged }) =>
        logged.filter(line => /"status":5\d\d|TIMER_FAILED/.test(line)),
      )
      expect(failed).toEqual([])
      const found = (await examine(left.databaseUrl)).filter(one => one.found > 0)
      const broken = await findBrokenRules(left.databaseUrl)
      const differences = agrees ? await compareBooks(scene) : []
      const misdirected = agrees ? provider.misdirected : []
      expect({ found, broken, differences, misdirected }).toEqual({
        ...{ found: [], broken: {}, differences: [], misdirected: [] },
      })
    }
  } finally {
    await right.stop()
    await left.stop()
  }
})
