/** What happens when time runs out: an authorisation lapses, or a customer does not act in time. No provider is called. */
import type { XId } from '#domain/ids.ts'
import { add } from '#domain/money/money.ts'
import { cancelledCode, timedOutCode, withdrawnCode } from '#domain/response-codes.ts'
import {
  awaitsCustomer,
  isClosedLate,
  isLapsed,
  lastOperation,
  type Operation,
  openAmount,
  type Payment,
} from '#lifecycle/payment.ts'

/**
 * Releases the open amount; if nothing was captured, the payment ends as REVERSED. Undefined: there was nothing to
 * lapse.
 */
export function lapse(payment: Payment, now: Date): Payment | undefined {
  const open = openAmount(payment)
  const authorized =
    payment.status === 'AUTHORIZED' ||
    payment.status === 'CAPTURE_REQUEST' ||
    payment.status === 'OK' ||
    isClosedLate(payment)
  if (!authorized || open === 0 || !isLapsed(payment, now)) return undefined
  const { sums } = payment
  const taken = add(add(sums.captured, sums.capturing), sums.reversing)
  return {
    ...payment,
    sums: { ...sums, reversed: add(sums.reversed, open) },
    status: taken === 0 ? 'REVERSED' : payment.status,
    updatedAt: now,
    version: payment.version + 1,
  }
}

/** When the payment ends, and the xId for the operation that records the end if no authorisation is waiting. */
export interface Ending {
  readonly now: Date
  readonly xId: XId
}

/** Ends a payment whose customer or merchant did not act in time. Undefined: it no longer waits, or is not due. */
export const expireRequest = (payment: Payment, ending: Ending): Payment | undefined =>
  payment.expiresAt && payment.expiresAt.getTime() <= ending.now.getTime()
    ? endRequest(payment, timedOutCode(payment.method.family), ending)
    : undefined

/** Ends a payment that the customer cancelled. Undefined: the step was completed meanwhile. */
export const cancelRequest = (payment: Payment, ending: Ending): Payment | undefined =>
  endRequest(payment, cancelledCode(payment.method.family), ending)

/** Ends a payment that the merchant cancelled while it waited for the customer or the confirm. Undefined: it no longer waits. */
export const withdrawRequest = (payment: Payment, ending: Ending): Payment | undefined =>
  endRequest(payment, withdrawnCode(payment.method.family), ending)

/**
 * Fails the waiting authorisation with the given code. After a failed try none is waiting; an operation is then added
 * so that the payment shows how it ended, not why the last card was declined.
 */
function endRequest(payment: Payment, responseCode: string, { now, xId }: Ending): Payment | undefined {
  if (payment.status !== 'AUTHORIZE_REQUEST' && !awaitsCustomer(payment)) return undefined
  const ends = ({ type, state }: Operation): boolean =>
    type === 'AUTHORIZATION' && (state === 'AUTHORIZE_REQUEST' || state === 'PENDING')
  const operations = payment.operations.some(ends)
    ? payment.operations.map(operation =>
        ends(operation)
          ? { ...operation, state: 'FAILED' as const, responseCode, updatedAt: now }
          : operation,
      )
    : [...payment.operations, closingOperation(payment, { responseCode, now, xId })]
  return {
    ...payment,
    status: 'FAILED',
    awaits: undefined,
    operations,
    updatedAt: now,
    version: payment.version + 1,
  }
}

function closingOperation(
  payment: Payment,
  { responseCode, now, xId }: Ending & { readonly responseCode: string },
): Operation {
  const { transId, refNr } = payment
  const { sequence, amount, details } = lastOperation(payment)
  return {
    xId,
    sequence: sequence + 1,
    type: 'AUTHORIZATION',
    state: 'FAILED',
    amount,
    transId,
    refNr,
    responseCode,
    prepared: {},
    details: { metadata: details.metadata },
    createdAt: now,
    updatedAt: now,
  }
}
