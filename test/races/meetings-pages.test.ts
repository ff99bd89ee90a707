/**
 * Concurrent actions on payments that wait for a customer or a merchant: customers on pages, in two tabs and late,
 * merchants who change, confirm, cancel or pay out, deadlines, banks that return debits, disputes. At random and in two
 * processes.
 */
import { expect, test } from 'vitest'
import { cardEntries, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { dayMs, hourMs } from '#test/support/clock.ts'
import type { TestAnswer } from '#test/support/gateway.ts'
import { eur } from '#test/support/intents.ts'
import { methodPayment, tokenOf, urls } from '#test/support/shop.ts'
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
import {
  actOnDispute,
  expectPayoutsCounted,
  limitPayouts,
  type MoneyScene,
  payOut,
  refundNamed,
  withKey,
} from '#test/support/simulation/money-acts.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

const seeds = Array.from({ length: inLongRun(1, 20) }, (_, at) => at + 1)
const rounds = inLongRun(8, 40)

interface PageScene extends MoneyScene {
  readonly pages: { readonly payId: string; readonly href: string }[]
}

type PageAct = Act<PageScene>

const cards = [
  '4111111111111111',
  '4000000000009995',
  '4000002760003184',
  '5200000000003100',
  '4000000000002685',
  '4000000000000101',
]

const pickCard = ({ random }: Scene): string => random.pick(cards)

const actions = ['approve', 'approve', 'decline', 'cancel', 'pending']

const soon = ({ clock, random }: Scene): string =>
  new Date(clock.nowMs() + random.pick([1, 2, 4]) * hourMs).toISOString()

const capturing = ({ random }: Scene) => ({
  captureMethod: random.pick([
    { type: 'AUTOMATIC' },
    { type: 'MANUAL' },
    { type: 'DELAYED', delayed: { delayedHours: 3 } },
  ] as const),
})

function remember(scene: PageScene, { body }: TestAnswer): void {
  if (!body?.payId) return
  scene.payIds.push(body.payId)
  const href = body._links?.redirect?.href
  if (href) scene.pages.push({ payId: body.payId, href })
}

const begin =
  (path: string, body: (scene: PageScene) => object): PageAct =>
  async scene => {
    const more = scene.random.chance(0.5) ? { expirationTime: soon(scene) } : {}
    const transId = `page-${++scene.next}`
    remember(scene, await scene.ask('POST', path, { transId, amount: eur(1000), ...more, ...body(scene) }))
  }

const hosted = begin('/payments', scene => ({
  urls,
  ...capturing(scene),
  paymentMethods: {
    integrationType: 'HOSTED',
    type: scene.random.pick(['CARD', 'PROVIDERP', 'PROVIDERZ', 'PROVIDERT']),
  },
}))

const direct: PageAct = async scene => {
  const [number, account] = [pickCard(scene), scene.random.pick(accounts)]
  const type = scene.random.pick(['CARD', 'CARD', 'DIRECTDEBIT', 'PROVIDERK', 'PROVIDERM'] as const)
  const payment = methodPayment(type, {
    urls,
    ...capturing(scene),
    ...(type === 'CARD' ? { card: { number } } : {}),
  })
  const debit = { integrationType: 'DIRECT', type, directDebit: { account } }
  const answer = await scene.ask('POST', '/payments', {
    ...payment,
    ...(type === 'DIRECTDEBIT' ? { paymentMethods: debit } : {}),
  })
  remember(scene, answer)
  if (type === 'PROVIDERK' && answer.body.payId) {
    const { amount } = payment
    await scene.ask('POST', `/payments/${answer.body.payId}/confirms`, {
      transId: `confirm-${++scene.next}`,
      amount,
      ...tokenOf(answer.body),
    })
  }
}

/** The bank returns debits of the second account two days after their capture. */
const accounts = ['DE89370400440532013000', 'DE35370400440532013002'].map(number => ({
  number,
  accountHolderName: 'Ada Lovelace',
}))

/** The customer's page at one of the two processes. */
function findPage(scene: PageScene): { readonly payId: string; readonly href: string } | undefined {
  const page = recent(scene, scene.pages)
  if (!page) return undefined
  const { url } = scene.random.pick(scene.gateways)
  return { ...page, href: page.href.replace(/^https?:\/\/[^/]+/, url) }
}

/** Does what the page asks for: enters a card, or takes a step on the provider's page. */
const visit: PageAct = async scene => {
  const page = findPage(scene)
  if (!page) return
  const shown = await openPage(page.href)
  if (!shown.html.includes('<form')) return
  const fields = { ...cardEntries(pickCard(scene)), action: scene.random.pick(actions) }
  expect(await sendForm(shown, fields)).toBeLessThan(500)
}

const customerAction: PageAct = async scene => {
  const payId = recent(scene, scene.pages)?.payId
  const action = scene.random.pick(actions)
  return payId && scene.ask('POST', `/test/payments/${payId}/customer-action`, { action })
}

const change: PageAct = async scene => {
  const payId = recent(scene, scene.payIds)
  const body = scene.random.pick([
    { amount: eur(500 + scene.random.below(500)) },
    { metadata: { turn: String(scene.next) } },
    { expirationTime: soon(scene) },
  ])
  return payId && scene.ask('PATCH', `/payments/${payId}`, body)
}

const confirm: PageAct = async scene => {
  const payId = recent(scene, scene.payIds)
  const body = { transId: `confirm-${++scene.next}`, amount: eur(1000) }
  return payId && scene.ask('POST', `/payments/${payId}/confirms`, body)
}

const changeLink: PageAct = async scene => {
  const { body } = await scene.ask('GET', '/payments/links')
  const link = recent(scene, (body.data ?? []) as { id?: string; payId?: string }[])
  const id = link?.id ?? link?.payId
  return id && scene.ask('PATCH', `/payments/links/${id}`, { expirationTime: soon(scene) })
}

const acts: readonly PageAct[] = [
  ...[hosted, hosted, direct, direct, visit, visit, visit, visit, visit, customerAction, customerAction],
  ...[change, change, confirm, changeLink, withKey, withKey, withKey, actOnDispute, actOnDispute, loseAnswer],
  ...[runTimers, runTimers, runTimers, runTimers],
  begin('/payments/sessions', scene => ({ urls, ...capturing(scene) })),
  begin('/payments/links', capturing),
  ...['captures', 'captures', 'reversals', 'refunds', 'refunds'].map(path => withPayment(path, part)),
  ...['captures', 'captures', 'incrementals', 'reversals'].map(path => withPayment(path, part)),
  ...[refundNamed, refundNamed, refundNamed, payOut, payOut, payOut],
  withPayment('cancellations', () => ({})),
]

test.each(seeds)('seed %i', { timeout: 600_000 }, async seed => {
  const scene: PageScene = { ...(await openScene(seed)), pages: [], keyed: [] }
  try {
    await limitPayouts(scene)
    await Promise.all([hosted(scene), direct(scene)])
    await meet(scene, { acts, rounds, movesMs: [hourMs, hourMs, dayMs] })
    await expectPayoutsCounted(scene)
  } finally {
    await leave(scene)
  }
})
