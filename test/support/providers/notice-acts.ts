/**
 * Random actions of a merchant at a provider that reports results later, and the notices that this provider may send.
 */
import type { NoticeFact } from '#connectors/contract.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { cardPayment, type TestGateway } from '#test/support/gateway.ts'
import type { LateStage } from '#test/support/providers/late-stage.ts'
import { euros } from '#test/support/providers/paid-late.ts'
import type { Random } from '#test/support/simulation/random.ts'

export interface NoticeScene {
  readonly random: Random
  readonly provider: LateStage['provider']
  /** The gateway that gets the next request. */
  readonly gateway: Pick<TestGateway, 'call'>
  readonly payIds: string[]
  /** The number for the name of the provider's next own operation. */
  next: number
}

export const part = (random: Random): number => random.pick([1000, 1000, 600, 400, 150])

export async function create({ random, gateway, provider, payIds }: NoticeScene): Promise<string> {
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

export async function act(scene: NoticeScene, payId: string): Promise<string> {
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

export function makeFact(scene: NoticeScene, { payId, operations }: AnyJson): NoticeFact {
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
  switch (random.below(9)) {
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
      return { kind: 'lapsed', subject: { transactionId: `late_${first.xId}` } }
    case 6: {
      const made = { echo: { reference: payId, amount }, transactionId: `charge-${payId}` }
      return {
        ...{ kind: 'outcome', operation: 'CAPTURE', amount, total: amount },
        subject: { paymentTransactionId: `late_${first.xId}` },
        outcome: { kind: 'approved', provider: made },
      }
    }
    case 7:
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
