/** The notices about one dispute in every order, once and twice: the dispute always ends in the same state. */
import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { readNotice as readAdyen } from '#connectors/adyen/notices.ts'
import type { Notice } from '#connectors/contract.ts'
import { readNotice as readStripe } from '#connectors/stripe/notices.ts'
import { Secret } from '#domain/secret.ts'
import {
  type DisputeChange,
  type DisputeFacts,
  type DisputeId,
  openDispute,
  updateDispute,
} from '#lifecycle/dispute.ts'
import { now, operationOf, paymentOf, xIdOf } from '#lifecycle/example-payment.test-support.ts'
import { signItem } from '#test/support/adyen/signer.ts'

const hmacKey = '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056'
const keys = { hmacKey: new Secret(hmacKey), merchantAccount: 'ExampleShopECOM' }
const capture = operationOf({ xId: xIdOf(2), sequence: 2, type: 'CAPTURE', state: 'OK' })
const paid = paymentOf({ status: 'OK', operations: [operationOf({}), capture], sums: { captured: 1000 } })
const disputeId = `dsp_${'0'.repeat(32)}` as DisputeId

interface Told {
  readonly key: string
  readonly facts: DisputeFacts
}

function told(notice: Notice): Told {
  const [item] = notice.verdict === 'genuine' ? notice.items : []
  if (item?.fact.kind !== 'dispute') throw new Error(JSON.stringify(notice))
  return { key: item.key, facts: { ...item.fact.dispute, reportedAt: item.occurredAt } }
}

const adyen = (
  eventCode: string,
  hour: number,
  additionalData: Record<string, string> = {},
  value = 1000,
): Told =>
  told(
    readAdyen(
      {
        headers: {},
        query: {},
        body: Buffer.from(
          JSON.stringify({
            live: 'false',
            notificationItems: [
              {
                NotificationRequestItem: signItem(
                  {
                    amount: { currency: 'EUR', value },
                    eventCode,
                    eventDate: new Date(Date.UTC(2026, 0, 1, hour)).toISOString(),
                    merchantAccountCode: 'ExampleShopECOM',
                    merchantReference: xIdOf(1),
                    originalReference: 'PSP1',
                    pspReference: 'DISPUTE1',
                    reason: '',
                    success: 'true',
                    additionalData,
                  },
                  hmacKey,
                ),
              },
            ],
          }),
        ),
      },
      keys,
    ),
  )

let events = 0
function stripe(
  type: string,
  hour: number,
  status: string,
  more: { before?: string; amount?: number } = {},
): Told {
  const { before, amount = 1000 } = more
  events += 1
  const created = Date.UTC(2026, 0, 1, hour) / 1000
  const body = JSON.stringify({
    id: `evt_${events}`,
    object: 'event',
    type: `charge.dispute.${type}`,
    created,
    livemode: false,
    data: {
      object: {
        id: 'du_1',
        object: 'dispute',
        charge: 'ch_1',
        payment_intent: 'pi_1',
        amount,
        currency: 'eur',
        status,
        reason: 'fraudulent',
        payment_method_details: { type: 'card' },
      },
      ...(before === undefined ? {} : { previous_attributes: { status: before } }),
    },
  })
  const v1 = createHmac('sha256', 'whsec_1').update(`${created}.${body}`).digest('hex')
  return told(
    readStripe(
      { headers: { 'stripe-signature': `t=${created},v1=${v1}` }, query: {}, body: Buffer.from(body) },
      { secret: 'whsec_1', nowMs: created * 1000, live: false },
    ),
  )
}

const rfi = { rfiReasonCode: '30' }
const cb = { chargebackReasonCode: '4853' }

const histories: readonly [string, string, readonly Told[]][] = [
  [
    'an inquiry and a chargeback at Adyen, with evidence for both',
    'CHARGEBACK UNDER_REVIEW 1000 1000 dispute.opened',
    [
      adyen('REQUEST_FOR_INFORMATION', 1, rfi),
      adyen('INFORMATION_SUPPLIED', 2, { ...rfi, disputeStatus: 'Responded' }),
      adyen('CHARGEBACK', 3, cb),
      adyen('INFORMATION_SUPPLIED', 4, { ...cb, disputeStatus: 'Pending' }),
    ],
  ],
  [
    'an inquiry and a chargeback at Adyen, defended and won',
    'CHARGEBACK WON 1000 0 dispute.won',
    [
      adyen('REQUEST_FOR_INFORMATION', 1, { ...rfi, disputeStatus: 'Unresponded' }),
      adyen('INFORMATION_SUPPLIED', 2, { ...rfi, disputeStatus: 'Responded' }),
      adyen('CHARGEBACK', 3, { ...cb, disputeStatus: 'Undefended' }),
      adyen('INFORMATION_SUPPLIED', 4, { ...cb, disputeStatus: 'Pending' }),
      adyen('CHARGEBACK_REVERSED', 5, { ...cb, disputeStatus: 'Pending' }),
    ],
  ],
  [
    'a pre-arbitration at Adyen that is won',
    'PRE_ARBITRATION WON 1000 0 dispute.won',
    [
      adyen('NOTIFICATION_OF_CHARGEBACK', 1, { ...cb, disputeStatus: 'Undefended' }),
      adyen('CHARGEBACK', 2, cb),
      adyen('CHARGEBACK_REVERSED', 3, cb),
      adyen('PREARBITRATION_OPEN', 4, cb),
      adyen('PREARBITRATION_DECLINED', 5, cb),
      adyen('PREARBITRATION_WON', 6, cb),
    ],
  ],
  [
    'a second chargeback at Adyen',
    'PRE_ARBITRATION LOST 1000 1000 dispute.lost',
    [
      adyen('CHARGEBACK', 2, cb),
      adyen('CHARGEBACK_REVERSED', 3, cb),
      adyen('PREARBITRATION_OPEN', 4, cb),
      adyen('PREARBITRATION_LOST', 5, cb),
      adyen('SECOND_CHARGEBACK', 6, cb),
    ],
  ],
  [
    'a chargeback at Adyen that is lost, then withdrawn',
    'CHARGEBACK WON 1000 0 dispute.won',
    [
      adyen('NOTIFICATION_OF_CHARGEBACK', 1, cb, 900),
      adyen('CHARGEBACK', 2, cb),
      adyen('DISPUTE_DEFENSE_PERIOD_ENDED', 3, { ...cb, disputeStatus: 'Lost' }),
      adyen('CHARGEBACK_REVERSED', 4, cb),
    ],
  ],
  [
    'a chargeback at Adyen that is accepted',
    'CHARGEBACK LOST 1000 1000 dispute.lost',
    [
      adyen('NOTIFICATION_OF_CHARGEBACK', 1, cb),
      adyen('CHARGEBACK', 2, { ...cb, disputeStatus: 'Accepted' }),
      adyen('DISPUTE_DEFENSE_PERIOD_ENDED', 3, { ...cb, disputeStatus: 'Accepted' }),
    ],
  ],
  [
    'a dispute at Stripe that is won',
    'CHARGEBACK WON 1000 0 dispute.won',
    [
      stripe('created', 1, 'needs_response'),
      stripe('funds_withdrawn', 1, 'needs_response'),
      stripe('updated', 2, 'under_review', { before: 'needs_response' }),
      stripe('closed', 3, 'won', { before: 'under_review' }),
      stripe('funds_reinstated', 3, 'won'),
    ],
  ],
  [
    'an inquiry at Stripe, then a chargeback of a part, lost and withdrawn',
    'CHARGEBACK WON 600 0 dispute.won',
    [
      stripe('created', 1, 'warning_needs_response'),
      stripe('updated', 2, 'needs_response', { before: 'warning_needs_response', amount: 600 }),
      stripe('funds_withdrawn', 2, 'needs_response', { amount: 600 }),
      stripe('closed', 3, 'lost', { before: 'needs_response', amount: 600 }),
      stripe('updated', 4, 'won', { before: 'lost', amount: 600 }),
    ],
  ],
  [
    'a dispute at Stripe that is won, then lost',
    'CHARGEBACK LOST 700 700 dispute.lost',
    [
      stripe('created', 1, 'needs_response'),
      stripe('updated', 2, 'needs_response', { amount: 700 }),
      stripe('closed', 3, 'won', { amount: 700 }),
      stripe('updated', 4, 'lost', { before: 'won', amount: 700 }),
    ],
  ],
  [
    'a dispute at Stripe that is lost and won by an appeal',
    'PRE_ARBITRATION WON 1000 0 dispute.won',
    [
      stripe('created', 1, 'needs_response'),
      stripe('closed', 2, 'lost'),
      stripe('updated', 3, 'appeal_needs_response', { before: 'lost' }),
      stripe('updated', 4, 'appeal_under_review', { before: 'appeal_needs_response' }),
      stripe('closed', 5, 'won', { before: 'appeal_under_review' }),
      stripe('funds_reinstated', 5, 'won'),
    ],
  ],
]

function* permutations<T>(list: readonly T[]): Generator<readonly T[]> {
  if (list.length <= 1) yield list
  for (const [at, one] of list.entries())
    for (const rest of permutations(list.toSpliced(at, 1))) yield [one, ...rest]
}

function arrive(order: readonly Told[], twice: boolean) {
  let known: DisputeChange | undefined
  const news: string[] = []
  // The inbox applies one notice of each key, which may take it two tries.
  const applied = order.filter(({ key }, at) => order.findIndex(one => one.key === key) === at)
  for (const { facts } of applied.flatMap(one => (twice ? [one, one] : [one]))) {
    const change: DisputeChange | undefined = known
      ? updateDispute(known.payment, known.dispute, facts, now)
      : openDispute(paid, facts, { disputeId, capture: capture.xId, now })
    known = change ?? known
    news.push(...(change?.news ?? []))
  }
  const { stage, status, amount } = known?.dispute ?? {}
  const { disputed } = known?.payment.sums ?? {}
  return [stage, status, amount?.value, disputed, news.at(-1)].join(' ')
}

const tellOrder = (order: readonly Told[]): string =>
  order
    .map(({ facts: { stage, status, reportedAt } }) => `${stage} ${status} ${reportedAt?.getUTCHours()}`)
    .join(', ')

test.each(histories)('%s: every order, once or twice, ends alike', (_, end, history) => {
  const others: string[] = []
  for (const order of permutations(history))
    for (const twice of [false, true]) {
      const arrived = arrive(order, twice)
      if (arrived !== end) others.push(`${arrived}: ${tellOrder(order)}`)
    }
  expect(others).toEqual([])
})
