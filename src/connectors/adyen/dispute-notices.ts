/** Notices about disputes: the stage and status of each event. A chargeback of a debit is a return, not a dispute. */
import { dateAt, type Loose, recordAt, textAt } from '#connectors/adyen/loose.ts'
import { isDebitCode } from '#connectors/adyen/methods.ts'
import { detailOfReturn } from '#connectors/adyen/translate/refusals.ts'
import type {
  DisputeReason,
  DisputeStage,
  DisputeStatus,
  NoticeFact,
  NoticeSubject,
} from '#connectors/contract.ts'
import { parseXId } from '#domain/ids.ts'
import { entryOf } from '#domain/json.ts'
import type { Money } from '#domain/money/money.ts'

const events: Readonly<Record<string, readonly [DisputeStage, DisputeStatus]>> = {
  REQUEST_FOR_INFORMATION: ['INQUIRY', 'OPEN'],
  INFORMATION_SUPPLIED: ['INQUIRY', 'UNDER_REVIEW'],
  NOTIFICATION_OF_CHARGEBACK: ['CHARGEBACK', 'OPEN'],
  CHARGEBACK: ['CHARGEBACK', 'OPEN'],
  CHARGEBACK_REVERSED: ['CHARGEBACK', 'WON'],
  ISSUER_RESPONSE_TIMEFRAME_EXPIRED: ['CHARGEBACK', 'WON'],
  DISPUTE_DEFENSE_PERIOD_ENDED: ['CHARGEBACK', 'EXPIRED'],
  SECOND_CHARGEBACK: ['PRE_ARBITRATION', 'OPEN'],
  PREARBITRATION_OPEN: ['PRE_ARBITRATION', 'OPEN'],
  PREARBITRATION_WON: ['PRE_ARBITRATION', 'WON'],
  PREARBITRATION_LOST: ['PRE_ARBITRATION', 'LOST'],
  PREARBITRATION_ACCEPTED: ['PRE_ARBITRATION', 'ACCEPTED'],
  PREARBITRATION_DECLINED: ['PRE_ARBITRATION', 'UNDER_REVIEW'],
  PREARBITRATION_ISSUER_WITHDRAWN: ['PRE_ARBITRATION', 'WON'],
  SCHEME_ARBITRATION: ['ARBITRATION', 'UNDER_REVIEW'],
  SCHEME_ARBITRATION_WON: ['ARBITRATION', 'WON'],
  SCHEME_ARBITRATION_LOST: ['ARBITRATION', 'LOST'],
}

export const disputeEvents: readonly string[] = Object.keys(events)

/**
 * `disputeStatus`, which Adyen adds to events that open or continue a dispute. Undefended means not defended so far.
 */
const statuses: Readonly<Record<string, DisputeStatus>> = {
  Unresponded: 'OPEN',
  Responded: 'UNDER_REVIEW',
  Pending: 'UNDER_REVIEW',
  Expired: 'EXPIRED',
  Undefended: 'OPEN',
  Accepted: 'ACCEPTED',
  Lost: 'LOST',
  Won: 'WON',
}

/** The fact of a dispute event; undefined for other events. */
export function readDispute(name: string, item: Loose, amount: Money): NoticeFact | undefined {
  const [stage, status] = entryOf(events, name) ?? []
  const providerDisputeId = textAt(item, 'pspReference')
  if (stage === undefined || status === undefined || providerDisputeId === undefined) return undefined
  const data = recordAt(item, 'additionalData')
  const reasonCode = readReasonCode(item, data)
  const method = textAt(item, 'paymentMethod')
  if (isDebitCode(method)) return readReturn(name, item, amount, reasonCode)
  // The method is optional. Without it the engine knows whether the payment was a debit.
  const ofDebit =
    name === 'CHARGEBACK' ? { returnDetail: detailOfReturn(reasonCode) } : { isNoneOfDebits: true as const }
  return {
    kind: 'dispute',
    subject: subjectOf(item),
    dispute: {
      providerDisputeId,
      stage: stageOf(name, stage, data),
      status: statusOf(name, status, textAt(data, 'disputeStatus')),
      amount,
      reasonCode,
      reasonGroup: groupOf(reasonCode),
      evidenceDueBy: dateAt(data, 'defensePeriodEndsAt'),
    },
    ...(method === undefined ? ofDebit : {}),
  }
}

/** Events that occur in several stages. Their reason code tells the stage. */
export const eventsOfAnyStage: ReadonlySet<string> = new Set([
  'INFORMATION_SUPPLIED',
  'DISPUTE_DEFENSE_PERIOD_ENDED',
])

function stageOf(name: string, stage: DisputeStage, data: Loose | undefined): DisputeStage {
  if (!eventsOfAnyStage.has(name)) return stage
  const names = (kind: string): boolean =>
    ['ReasonCode', 'SchemeCode'].some(code => textAt(data, `${kind}${code}`) !== undefined)
  if (names('chargeback')) return 'CHARGEBACK'
  return names('rfi') ? 'INQUIRY' : stage
}

/**
 * CHARGEBACK_REVERSED returns the money and SECOND_CHARGEBACK reopens the dispute, whatever `disputeStatus` says. For
 * other events a reported status wins, except "open": an event that ends the defence takes precedence over it,
 * and is the last event of a dispute that was accepted.
 */
function statusOf(name: string, status: DisputeStatus, reported: string | undefined): DisputeStatus {
  if (name === 'CHARGEBACK_REVERSED' || name === 'SECOND_CHARGEBACK') return status
  const known = entryOf(statuses, reported ?? '')
  if (name === 'DISPUTE_DEFENSE_PERIOD_ENDED' && known === 'ACCEPTED') return 'LOST'
  return known === undefined || known === 'OPEN' ? status : known
}

function readReturn(name: string, item: Loose, amount: Money, reasonCode: string): NoticeFact {
  return name === 'CHARGEBACK'
    ? {
        kind: 'return',
        subject: subjectOf(item),
        amount,
        detail: detailOfReturn(reasonCode),
        transactionId: textAt(item, 'pspReference') ?? '',
      }
    : { kind: 'ignored', name }
}

/**
 * Identifies the disputed operation. Adyen names the authorisation by its own reference and by ours and, for a payment
 * with several captures, also the disputed capture. A capture made in the Customer Area has Adyen's reference only; it
 * is then used instead of our reference of the authorisation.
 */
function subjectOf(item: Loose): NoticeSubject {
  const data = recordAt(item, 'additionalData')
  const captured = parseXId(textAt(data, 'captureMerchantReference') ?? '')
  const transactionId = textAt(data, 'capturePspReference')
  const paymentTransactionId = textAt(item, 'originalReference')
  const authorised = parseXId(textAt(item, 'merchantReference') ?? '')
  const isNamed = transactionId !== undefined && paymentTransactionId !== undefined
  return {
    reference: captured ?? (isNamed ? undefined : authorised),
    ...(transactionId === undefined ? {} : { transactionId }),
    paymentTransactionId,
  }
}

const readReasonCode = (item: Loose, data: Loose | undefined): string =>
  (
    textAt(data, 'chargebackReasonCode') ??
    textAt(data, 'rfiReasonCode') ??
    textAt(data, 'nofReasonCode') ??
    textAt(item, 'reason')?.split(':')[0] ??
    ''
  )
    .trim()
    .slice(0, 64)

/** The reason codes of the large schemes by group. Unlisted codes are OTHER. */
const groups: readonly (readonly [DisputeReason, RegExp])[] = [
  // Visa 10.x, Mastercard 4837 4840 4849 4863 4870 4871, Amex F.., Discover UA.., JCB 546
  ['FRAUD', /^(10\.\d|4837|4840|4849|4863|487[01]|F\d|UA\d|546)/],
  // Visa 11.x, Mastercard 4808 4807 4812, Amex A.., Discover AT NA
  ['AUTHORIZATION', /^(11\.\d|480[78]|4812|A\d|AT|NA)/],
  // Visa 12.x, Mastercard 4834 4831 4842 4846, Amex P.., Discover DP LP IN
  ['PROCESSING', /^(12\.\d|4831|4834|4842|4846|P\d|DP|LP|IN)/],
  // Visa 13.x, Mastercard 4853 4855 4859 4860 4841, Amex C.., Discover RG RM AA AP, JCB 502
  ['CONSUMER', /^(13\.\d|4841|485[359]|4860|C\d|RG|RM|AA|AP|502)/],
]

const groupOf = (reasonCode: string): DisputeReason =>
  groups.find(([, pattern]) => pattern.test(reasonCode))?.[0] ?? 'OTHER'
