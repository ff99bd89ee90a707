/**
 * Acts that move money on the same few card payments: refunds of named captures, payouts below a limit, disputes, and
 * requests that come twice under one key.
 */
import { expect } from 'vitest'
import { isRecord } from '#domain/json.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { eur } from '#test/support/intents.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { type Act, part, recent, type Scene } from '#test/support/simulation/meetings.ts'

interface Keyed {
  readonly path: string
  readonly body: object
  readonly key: string
  answer?: string
}

export interface MoneyScene extends Scene {
  readonly keyed: Keyed[]
}

export type MoneyAct = Act<MoneyScene>

const payoutsPerDay = 2000

/** The third one is disputed two days after its capture, the answer to the last one is lost. */
const cards = ['4111111111111111', '4111111111111111', '4000000000002685', '4000000000000101']

/** The next transId of its kind. */
const named = (scene: Scene, kind: string): string => `${kind}-${++scene.next}`

const reserveBody = (scene: Scene) =>
  cardPayment({
    transId: named(scene, 'order'),
    card: { number: scene.random.pick(cards) },
    captureMethod: scene.random.pick([{ type: 'MANUAL' }, { type: 'DELAYED', delayed: { delayedHours: 3 } }]),
  })

export const reserve: MoneyAct = async scene => {
  const { body } = await scene.ask('POST', '/payments', reserveBody(scene))
  if (body.payId) scene.payIds.push(body.payId)
}

const creditBody = (scene: Scene) => ({
  transId: named(scene, 'payout'),
  amount: eur(scene.random.pick([100, 700, 1500])),
  paymentMethods: {
    card: { number: '4111111111111111', cardholderName: 'Ada Lovelace', expiryDate: '203012', brand: 'visa' },
  },
})

export const payOut: MoneyAct = scene => scene.ask('POST', '/payments/refunds', creditBody(scene))

/** Names one of the captures, which need not be the last, nor be known to have succeeded. */
async function refundBody(scene: MoneyScene, payId: string): Promise<object> {
  const { body } = await scene.ask('GET', `/payments/getByPayId/${payId}`)
  const captures = (body.operations as AnyJson[]).filter(({ type }) => type === 'CAPTURE')
  const providerTransactionId = captures.length > 0 && scene.random.pick(captures).providerTransactionId
  const [methodKey] = Object.entries(body.paymentMethods ?? {}).find(([, value]) => isRecord(value)) ?? []
  return {
    ...part(scene),
    ...(providerTransactionId && methodKey
      ? { paymentMethods: { [methodKey]: { providerTransactionId } } }
      : {}),
  }
}

export const refundNamed: MoneyAct = async scene => {
  const payId = recent(scene, scene.payIds)
  return payId && scene.ask('POST', `/payments/${payId}/refunds`, await refundBody(scene, payId))
}

async function keyedRequest(scene: MoneyScene): Promise<Omit<Keyed, 'key'>> {
  const payId = recent(scene, scene.payIds)
  const kind = scene.random.pick([
    'captures',
    'refunds',
    'reversals',
    'incrementals',
    'payout',
    'order',
  ] as const)
  if (kind === 'payout') return { path: '/payments/refunds', body: creditBody(scene) }
  if (kind === 'order' || !payId) return { path: '/payments', body: reserveBody(scene) }
  const body = kind === 'refunds' ? await refundBody(scene, payId) : part(scene)
  return { path: `/payments/${payId}/${kind}`, body }
}

/** Sends a request twice at once with the same key, to random processes, and again later: one effect, one answer. */
export const withKey: MoneyAct = async scene => {
  const old = scene.random.chance(0.5) ? recent(scene, scene.keyed) : undefined
  const request: Keyed = old ?? { ...(await keyedRequest(scene)), key: named(scene, 'key') }
  if (!old) scene.keyed.push(request)
  const send = () => scene.ask('POST', request.path, request.body, { 'idempotency-key': request.key })
  for (const { status, text, body } of await Promise.all([send(), send()])) {
    // While the first of them is still under way in the other process; and what is refused with 400 is not stored.
    if (status === 409 || status === 400) continue
    request.answer ??= text
    expect(text).toBe(request.answer)
    if (!old && request.path === '/payments' && body.payId) scene.payIds.push(body.payId)
  }
}

export const actOnDispute: MoneyAct = async scene => {
  const { body } = await scene.ask('GET', '/disputes')
  const disputeId = recent(scene, (body.data ?? []) as AnyJson[])?.disputeId
  return (
    disputeId &&
    (scene.random.chance(0.7)
      ? scene.ask('POST', `/disputes/${disputeId}/accept`, {})
      : scene.ask('POST', `/disputes/${disputeId}/evidence`, { text: 'It was delivered.' }))
  )
}

export const limitPayouts = ({ gateways: [{ gateway }], merchantId }: Scene): Promise<unknown> =>
  gateway.merchants.set(merchantId, { payoutLimit: `${payoutsPerDay}EUR/P1D` })

/** What was paid out or may have been counts towards the limit of its day, and nothing else does. */
const payoutRules = {
  'no day has more payouts than its limit': `SELECT p.pay_id FROM payment p JOIN payment o ON o.merchant_id = p.merchant_id
    AND o.created_at <= p.created_at AND o.created_at > p.created_at - interval '1 day'
    WHERE p.kind = 'CREDIT' AND o.kind = 'CREDIT' AND p.status <> 'FAILED' AND o.status <> 'FAILED'
    GROUP BY p.pay_id HAVING sum(o.amount) > ${payoutsPerDay}`,
  'each payout is counted until it fails': `SELECT p.pay_id, p.status, o.payout_id
    FROM (SELECT * FROM payment WHERE kind = 'CREDIT') p FULL JOIN payout o ON o.payout_id = p.pay_id
    WHERE p.pay_id IS NULL OR (o.payout_id IS NULL) <> (p.status = 'FAILED')`,
}

export async function expectPayoutsCounted({ gateways: [{ databaseUrl }] }: Scene): Promise<void> {
  for (const [rule, text] of Object.entries(payoutRules))
    expect(await queryRows(databaseUrl, text), rule).toEqual([])
}
