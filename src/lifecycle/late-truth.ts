/**
 * Applies what a provider reports after the fact: it undoes an approval, an operation was made in its dashboard, or it
 * approves a payment that had ended here. These are facts, so no rule can refuse them; the sums follow.
 */
import type { XId } from '#domain/ids.ts'
import { add, type Money, subtract } from '#domain/money/money.ts'
import { detailCode, success } from '#domain/response-codes.ts'
import { asTried } from '#lifecycle/attempt.ts'
import type { Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import {
  findOperation,
  isClosedLate,
  isGivenBackLate,
  lastOperation,
  type Operation,
  type OperationType,
  openAmount,
  type Payment,
  type PaymentProvider,
} from '#lifecycle/payment.ts'
import { restOf } from '#lifecycle/refund.ts'
import { settle, settleAutomaticCapture } from '#lifecycle/settle.ts'

export interface TakenBack {
  readonly xId: XId
  /** The last four digits of the response code. */
  readonly detail: string
  readonly provider?: ProviderFacts
  readonly now: Date
}

/** Undoes an approved operation. Undefined: it was not approved, or its money has already been given back. */
export function takeBack(payment: Payment, { xId, detail, provider, now }: TakenBack): Payment | undefined {
  const operation = findOperation(payment, xId)
  if (operation?.state !== 'OK') return undefined
  const undone = effects[operation.type]?.(payment, operation, now)
  if (!undone) return undefined
  const failed: Operation = {
    ...operation,
    state: 'FAILED',
    responseCode: detailCode(payment.method.family, detail),
    provider: provider ?? operation.provider,
    updatedAt: now,
  }
  return withNewVersion({ ...undone, operations: replace(payment, failed) }, now)
}

const replace = ({ operations }: Payment, changed: Operation): readonly Operation[] =>
  operations.map(operation => (operation.xId === changed.xId ? changed : operation))

const withNewVersion = (payment: Payment, now: Date): Payment => ({
  ...payment,
  updatedAt: now,
  version: payment.version + 1,
})

type Undo = (payment: Payment, operation: Operation, now: Date) => Payment | undefined

const effects: Readonly<Partial<Record<OperationType, Undo>>> = {
  CAPTURE: (payment, operation, now) => {
    const { sums } = payment
    const isGivenBack =
      restOf(payment, operation) < operation.amount || refundable(payment) < operation.amount
    if (isGivenBack) return undefined
    const captured = subtract(sums.captured, operation.amount)
    const released = { ...payment, sums: { ...sums, captured }, closedForCapture: false }
    if (captured > 0) return released
    const holds = !payment.authorizationExpiresAt || payment.authorizationExpiresAt.getTime() > now.getTime()
    if (holds && openAmount(released) > 0) return { ...released, status: statusOf(payment, 'AUTHORIZED') }
    // The authorisation has ended, so the amount that returns to it lapses at once.
    const reversed = add(released.sums.reversed, openAmount(released))
    return { ...released, sums: { ...released.sums, reversed }, status: 'REVERSED' }
  },
  REFUND: (payment, { amount }) => ({
    ...payment,
    sums: { ...payment.sums, refunded: subtract(payment.sums.refunded, amount) },
  }),
  // A CREDIT consists of one payout and fails with it.
  CREDIT: payment => ({ ...payment, status: 'FAILED', sums: { ...payment.sums, refunded: 0 } }),
}

/** A payment that must stay ended, because another one has its transId, keeps its status. */
const statusOf = (payment: Payment, status: Payment['status']): Payment['status'] =>
  isClosedLate(payment) ? payment.status : status

export interface Elsewhere {
  readonly type: OperationType
  readonly xId: XId
  /** Defaults to the open amount; for a refund, to what is left of the capture. */
  readonly amount?: number
  readonly provider: ProviderFacts
  /** At this provider account a partial capture releases the rest. */
  readonly releasesRest?: boolean
  readonly now: Date
}

/** Books a capture, reversal or refund made in the provider's dashboard. Undefined: it does not fit this payment. */
export function recordElsewhere(payment: Payment, elsewhere: Elsewhere): Payment | undefined {
  const { type, xId, provider, now } = elsewhere
  // A provider refunds the payment as a whole, so the refund may be larger than any single capture.
  const capture = type === 'REFUND' ? refundedCapture(payment, elsewhere.amount) : undefined
  const most = mostElsewhere(payment, type)
  const amount = elsewhere.amount ?? (capture ? restOf(payment, capture) : most)
  const isOpen = payment.kind === 'PAYMENT' && (payment.status !== 'FAILED' || type === 'REFUND')
  if (!isOpen || amount <= 0 || amount > most) return undefined
  const sums = sumsAfter(payment, type, amount)
  if (!sums) return undefined
  const { transId, refNr, sequence } = lastOperation(payment)
  const releases = type === 'CAPTURE' && elsewhere.releasesRest && openAmount({ ...payment, sums }) > 0
  const operation: Operation = {
    xId,
    sequence: sequence + 1,
    type,
    state: 'OK',
    amount,
    transId,
    refNr,
    responseCode: success,
    prepared: releases ? { restReleased: true } : {},
    provider,
    details: { origin: 'PROVIDER', ...(capture ? { refundOf: capture.xId } : {}) },
    createdAt: now,
    updatedAt: now,
  }
  const next = { ...payment, sums, operations: [...payment.operations, operation] }
  return withNewVersion({ ...(releases ? releaseRest(next) : next), status: statusAfter(next, type) }, now)
}

const releaseRest = (payment: Payment): Payment => ({
  ...payment,
  sums: { ...payment.sums, reversed: add(payment.sums.reversed, openAmount(payment)) },
  closedForCapture: true,
})

/** A provider may have captured before our lapse, or may hold authorisations longer than our books do. */
function mostElsewhere(payment: Payment, type: OperationType): number {
  if (type === 'REFUND') return refundable(payment)
  return add(openAmount(payment), type === 'CAPTURE' ? lapsedAmount(payment) : 0)
}

/** What is reversed without a reversal: it lapsed, or a capture released it. */
const lapsedAmount = ({ sums, operations }: Payment): number =>
  operations
    .filter(({ type, state }) => type === 'REVERSAL' && state === 'OK')
    .reduce((rest, { amount }) => subtract(rest, amount), sums.reversed)

function sumsAfter(payment: Payment, type: OperationType, amount: number): Payment['sums'] | undefined {
  const { sums } = payment
  switch (type) {
    case 'CAPTURE': {
      const lapsed = Math.max(0, amount - openAmount(payment))
      return { ...sums, captured: add(sums.captured, amount), reversed: subtract(sums.reversed, lapsed) }
    }
    case 'REVERSAL':
      return { ...sums, reversed: add(sums.reversed, amount) }
    case 'REFUND':
      return { ...sums, refunded: add(sums.refunded, amount) }
    default:
      return undefined
  }
}

function statusAfter(payment: Payment, type: OperationType): Payment['status'] {
  if (type === 'CAPTURE') return statusOf(payment, 'OK')
  const { sums, status } = payment
  return type === 'REVERSAL' && sums.reversed >= sums.authorized ? 'REVERSED' : status
}

/** What was captured and is neither refunded, being refunded nor returned. */
const refundable = ({ sums }: Payment): number =>
  sums.captured - add(add(sums.refunded, sums.refunding), sums.returned)

/** The last capture that has at least this amount left; undefined: the refund spans several captures. */
const refundedCapture = (payment: Payment, amount: number | undefined): Operation | undefined =>
  payment.operations.findLast(
    operation =>
      operation.type === 'CAPTURE' && operation.state === 'OK' && restOf(payment, operation) >= (amount ?? 1),
  )

export interface LateApproval {
  readonly xId: XId
  readonly outcome: Outcome
  readonly capture?: Outcome
  /**
   * Another payment has taken its transId or its plan's due day, so this one stays ended and its money is given back.
   */
  readonly isReplaced?: boolean
  /** The merchant keeps late money, so the payment continues. */
  readonly isKept?: boolean
  /** The account that approved it. Defaults to the payment's account, which may be that of a later try. */
  readonly provider?: PaymentProvider
  readonly now: Date
}

/**
 * The provider approved an authorisation that had failed here, so the payment is paid after all. Undefined: the
 * authorisation did not fail, or the payment continues with another one.
 */
export function approveLate(
  payment: Payment,
  { xId, outcome, capture, isReplaced, isKept, provider = payment.provider, now }: LateApproval,
): Payment | undefined {
  const failed = findOperation(payment, xId)
  const isOver = payment.status === 'FAILED' && failed?.state === 'FAILED'
  if (!isOver || failed.type === 'CREDIT' || outcome.kind !== 'approved') return undefined
  const late = { paidLate: true, ...(isKept ? { keptLate: true } : {}) }
  const again: Operation = { ...failed, state: 'SENT', prepared: { ...failed.prepared, ...late } }
  const tried = { ...asTried(payment, failed), amount: requestedAmount(payment, failed), provider }
  const open: Payment = { ...tried, status: 'PENDING', operations: replace(payment, again) }
  const approved = settle(open, xId, outcome, now)
  const settled =
    capture && failed.details.captureXId && approved.status === 'AUTHORIZED'
      ? settleAutomaticCapture(approved, xId, capture, now)
      : approved
  return isReplaced ? { ...settled, status: 'REVERSED' } : settled
}

/**
 * A try asked for its own amount, because the merchant may have changed the payment's since. A confirm may be for less.
 */
const requestedAmount = ({ amount }: Payment, { type, amount: value }: Operation): Money =>
  type === 'AUTHORIZATION' ? { ...amount, value } : amount

export const paidLateOperation = ({ operations }: Payment): Operation | undefined =>
  operations.find(({ prepared }) => prepared.paidLate === true)

export interface LateRest {
  /** True: captured money must be refunded. False: an authorisation must be reversed. */
  readonly refunds: boolean
  readonly value: number
  /** The capture to refund next, because one refund refunds one capture. */
  readonly capture?: XId
}

/**
 * What must still be given back of a payment that was paid too late and is not kept; undefined: nothing. While a
 * capture, reversal or refund has no answer, the rest is not known.
 */
export function lateRest(payment: Payment): LateRest | 'under way' | undefined {
  const { sums } = payment
  if (!payment.operations.some(isGivenBackLate)) return undefined
  if (sums.capturing + sums.reversing + sums.refunding > 0) return 'under way'
  if (sums.captured > 0) {
    // Disputed money is with the dispute; if the merchant wins, it is to be refunded again.
    const left = sums.captured - sums.refunded - sums.returned - sums.disputed
    const capture = refundedCapture(payment, undefined)
    const value = capture ? Math.min(left, restOf(payment, capture)) : left
    return left > 0 ? { refunds: true, value, capture: capture?.xId } : undefined
  }
  const value = openAmount(payment)
  return value > 0 ? { refunds: false, value } : undefined
}

/**
 * The last refund of late money, if it failed for a permanent reason: another try would only send the money back and
 * forth.
 */
export function findDeadEnd(payment: Payment): Operation | undefined {
  const last = payment.operations.findLast(({ type }) => type === 'REFUND')
  return last?.state === 'FAILED' && last.provider?.undeliverable ? last : undefined
}

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

/** Delays between the tries to give late money back: a month in all, which is less than providers allow for refunds. */
const giveBackDelaysMs = [
  minuteMs,
  10 * minuteMs,
  hourMs,
  6 * hourMs,
  ...[1, 2, 4, 8, 16].map(days => days * dayMs),
]

const later = (now: Date, waitMs: number): Date => new Date(now.getTime() + waitMs)

/** When to make the next try, given the number of tries so far; undefined: no more tries. */
export function giveBackTime(now: Date, tries: number): Date | undefined {
  const waitMs = giveBackDelaysMs[tries]
  return waitMs === undefined ? undefined : later(now, waitMs)
}

/**
 * When to check the rest again; undefined: nothing is left, or all tries are used up. An operation under way that is
 * not our own try, such as the merchant's refund, uses up no try. It may wait for an answer or for the bank's next
 * file, so it is checked every hour.
 */
export function nextGiveBack(
  rest: LateRest | 'under way' | undefined,
  { now, tries, isTried }: { readonly now: Date; readonly tries: number; readonly isTried: boolean },
): Date | undefined {
  if (!rest) return undefined
  const next = giveBackTime(now, tries)
  return rest === 'under way' && !(isTried && next) ? later(now, hourMs) : next
}
