/**
 * Disputes: the cardholder reclaims captured money through their bank. Providers report a dispute's states in any order
 * and more than once; these rules decide which report is new, how it changes the payment's sums and which events are
 * sent.
 */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import { add, type Money, subtract } from '#domain/money/money.ts'
import { findOperation, type Operation, type Payment } from '#lifecycle/payment.ts'

export type DisputeStage = 'INQUIRY' | 'CHARGEBACK' | 'PRE_ARBITRATION' | 'ARBITRATION'
export type DisputeStatus = 'OPEN' | 'UNDER_REVIEW' | 'WON' | 'LOST' | 'ACCEPTED' | 'EXPIRED'
export type DisputeReason = 'FRAUD' | 'CONSUMER' | 'PROCESSING' | 'AUTHORIZATION' | 'OTHER'

/** The state of a dispute, as a provider reports it. */
export interface DisputeFacts {
  readonly providerDisputeId: string
  readonly stage: DisputeStage
  readonly status: DisputeStatus
  readonly amount: Money
  readonly reasonCode: string
  readonly reasonGroup: DisputeReason
  readonly evidenceDueBy?: Date
  /** The provider's time of the report; absent where it does not date its reports. */
  readonly reportedAt?: Date
}

/** dsp_ and 32 hex digits. */
export type DisputeId = string & { readonly __disputeId: true }

/** The cast is safe after the check, as in ids.ts. */
export const parseDisputeId = (text: string): DisputeId | undefined =>
  /^dsp_[0-9a-f]{32}$/.test(text) ? (text as DisputeId) : undefined

/** An entry in the history of a dispute record. */
export interface DisputeEvent {
  readonly at: string
  readonly type:
    | 'OPENED'
    | 'STAGE_CHANGED'
    | 'STATUS_CHANGED'
    | 'AMOUNT_CHANGED'
    | 'EVIDENCE_SENT'
    | 'ACCEPTED'
  readonly stage: DisputeStage
  readonly status: DisputeStatus
  /** The provider's time of the report, which orders later ones; the record does not show it. */
  readonly reportedAt?: string
}

export interface Dispute extends Omit<DisputeFacts, 'reportedAt'> {
  readonly merchantId: MerchantId
  readonly disputeId: DisputeId
  readonly payId: PayId
  /** The capture that is disputed. */
  readonly xId: XId
  /** Data that the connector needs in later calls about the dispute. */
  readonly kept: Readonly<Record<string, string | number | boolean>>
  readonly events: readonly DisputeEvent[]
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type DisputeNews = 'dispute.opened' | 'dispute.won' | 'dispute.lost'

/** A payment and its dispute after a change of the dispute. */
export interface DisputeChange {
  readonly payment: Payment
  readonly dispute: Dispute
  /** The events to send to the merchant, in order. */
  readonly news: readonly DisputeNews[]
}

const stages: readonly DisputeStage[] = ['INQUIRY', 'CHARGEBACK', 'PRE_ARBITRATION', 'ARBITRATION']

/** The order of states within one stage of a dispute. EXPIRED, LOST and WON are final. */
const progress: Readonly<Record<DisputeStatus, number>> = {
  OPEN: 0,
  UNDER_REVIEW: 1,
  ACCEPTED: 2,
  EXPIRED: 3,
  LOST: 4,
  WON: 4,
}

export const isFinal = (status: DisputeStatus): boolean => progress[status] >= progress.EXPIRED

/**
 * Whether a notice reports a change. Notices arrive in any order, so one with an earlier state than the stored one does
 * not. Between states of the same rank, such as WON and LOST, the provider's time decides: a lost dispute may be
 * withdrawn and a won one lost, but a delayed notice of the earlier result must not replace the later one.
 */
function isNewState(known: Dispute, reported: DisputeFacts): boolean {
  const [before, after] = [stages.indexOf(known.stage), stages.indexOf(reported.stage)]
  if (before !== after) return after > before
  const advance = progress[reported.status] - progress[known.status]
  if (advance !== 0) return advance > 0
  if (isReportedBefore(reported, known)) return false
  if (known.status !== reported.status) return true
  return (
    known.amount.value !== reported.amount.value ||
    known.evidenceDueBy?.getTime() !== reported.evidenceDueBy?.getTime()
  )
}

function isReportedBefore({ reportedAt }: DisputeFacts, known: Dispute): boolean {
  const last = known.events.findLast(event => event.reportedAt !== undefined)?.reportedAt
  return reportedAt !== undefined && last !== undefined && reportedAt.getTime() < Date.parse(last)
}

/** A later notice may omit the reason and the deadline; the stored ones then stay. */
function withKnownFields(reported: DisputeFacts, known: Dispute): DisputeFacts {
  const isReasonKnown = reported.reasonGroup === 'OTHER' && known.reasonCode !== ''
  const { reasonCode, reasonGroup } = isReasonKnown ? known : reported
  const isSameStage = reported.stage === known.stage
  const evidenceDueBy = reported.evidenceDueBy ?? (isSameStage ? known.evidenceDueBy : undefined)
  return { ...reported, reasonCode, reasonGroup, evidenceDueBy }
}

export interface DisputeIds {
  readonly disputeId: DisputeId
  readonly capture: XId
  readonly now: Date
}

/** The first report of a dispute. */
export function openDispute(payment: Payment, facts: DisputeFacts, ids: DisputeIds): DisputeChange {
  const { disputeId, capture, now } = ids
  const { merchantId, payId } = payment
  const dispute: Dispute = {
    ...toFacts(facts),
    merchantId,
    disputeId,
    payId,
    xId: capture,
    kept: {},
    events: [toEvent('OPENED', facts, now)],
    createdAt: now,
    updatedAt: now,
  }
  return {
    payment: withDisputed(payment, { before: 0, after: disputedValue(payment, dispute) }, now),
    dispute,
    news: ['dispute.opened', ...closingEvents(facts.status)],
  }
}

/** Undefined: the notice repeats the stored state or an earlier one. */
export function updateDispute(
  payment: Payment,
  known: Dispute,
  facts: DisputeFacts,
  now: Date,
): DisputeChange | undefined {
  const reported = withKnownFields(facts, known)
  if (!isNewState(known, reported)) return undefined
  const type =
    known.stage !== reported.stage
      ? 'STAGE_CHANGED'
      : known.status !== reported.status
        ? 'STATUS_CHANGED'
        : 'AMOUNT_CHANGED'
  const reopened = isFinal(known.status) && !isFinal(reported.status)
  // An expired dispute has already sent dispute.lost when the provider reports it as lost.
  const sent = closingEvents(known.status)
  return move(payment, known, {
    facts: reported,
    type,
    news: [
      ...(reopened ? (['dispute.opened'] as const) : []),
      ...closingEvents(reported.status).filter(type => !sent.includes(type)),
    ],
    now,
  })
}

/** The merchant accepts the dispute. It becomes LOST when the provider reports that the money is gone for good. */
export const acceptDispute = (payment: Payment, known: Dispute, now: Date): DisputeChange =>
  move(payment, known, { facts: { ...known, status: 'ACCEPTED' }, type: 'ACCEPTED', news: [], now })

/** The merchant's evidence is with the provider. */
export function submitEvidence(
  payment: Payment,
  known: Dispute,
  { kept, now }: { readonly kept: Dispute['kept']; readonly now: Date },
): DisputeChange {
  const facts: DisputeFacts = { ...known, status: 'UNDER_REVIEW' }
  return move(payment, { ...known, kept }, { facts, type: 'EVIDENCE_SENT', news: [], now })
}

/** Why the merchant can no longer respond to the dispute; undefined if they can. */
export function refuseAnswer(dispute: Dispute, now: Date): 'NOT_OPEN' | 'EXPIRED' | undefined {
  if (dispute.status !== 'OPEN') return 'NOT_OPEN'
  const due = dispute.evidenceDueBy
  return due !== undefined && due.getTime() <= now.getTime() ? 'EXPIRED' : undefined
}

interface Move {
  readonly facts: DisputeFacts
  readonly type: DisputeEvent['type']
  readonly news: readonly DisputeNews[]
  readonly now: Date
}

function move(payment: Payment, known: Dispute, { facts, type, news, now }: Move): DisputeChange {
  const dispute: Dispute = {
    ...known,
    ...toFacts(facts),
    events: [...known.events, toEvent(type, facts, now)],
    updatedAt: now,
  }
  const values = { before: disputedValue(payment, known), after: disputedValue(payment, dispute) }
  return { payment: withDisputed(payment, values, now), dispute, news }
}

/**
 * The disputed amount, 0 if the merchant won. A dispute in another currency counts with the whole amount of its
 * capture.
 */
function disputedValue(payment: Payment, { status, amount, xId }: Dispute): number {
  if (status === 'WON') return 0
  if (amount.currency === payment.amount.currency) return amount.value
  return findOperation(payment, xId)?.amount ?? 0
}

const withDisputed = (
  payment: Payment,
  { before, after }: { readonly before: number; readonly after: number },
  now: Date,
): Payment => ({
  ...payment,
  sums: { ...payment.sums, disputed: add(subtract(payment.sums.disputed, before), after) },
  updatedAt: now,
  version: payment.version + 1,
})

const closingEvents = (status: DisputeStatus): readonly DisputeNews[] => {
  if (status === 'WON') return ['dispute.won']
  return status === 'LOST' || status === 'EXPIRED' ? ['dispute.lost'] : []
}

const toFacts = (facts: DisputeFacts): Omit<DisputeFacts, 'reportedAt'> => ({
  providerDisputeId: facts.providerDisputeId,
  stage: facts.stage,
  status: facts.status,
  amount: facts.amount,
  reasonCode: facts.reasonCode,
  reasonGroup: facts.reasonGroup,
  evidenceDueBy: facts.evidenceDueBy,
})

const toEvent = (
  type: DisputeEvent['type'],
  { stage, status, reportedAt }: DisputeFacts,
  now: Date,
): DisputeEvent => ({
  at: now.toISOString(),
  type,
  stage,
  status,
  ...(reportedAt && { reportedAt: reportedAt.toISOString() }),
})

/** The disputed capture: the one that the provider names, or else the last successful one. */
export function findDisputedCapture(payment: Payment, named: XId | undefined): Operation | undefined {
  const captures = payment.operations.filter(({ type, state }) => type === 'CAPTURE' && state === 'OK')
  return captures.find(({ xId }) => xId === named) ?? captures.at(-1)
}
