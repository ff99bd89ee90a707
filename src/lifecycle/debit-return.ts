/**
 * A returned direct debit: the customer's bank has taken captured money back, so no rule can refuse it. It is booked as
 * an operation of type RETURN whose response code gives the reason, for the amount that the bank names or else for what
 * is left of the capture. The payment keeps its status.
 */
import type { XId } from '#domain/ids.ts'
import { add } from '#domain/money/money.ts'
import { detailCode } from '#domain/response-codes.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'
import { findOperation, lastOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import { restOf } from '#lifecycle/refund.ts'

export interface Returned {
  /** The returned capture. */
  readonly capture: XId
  /** The reference of the return. */
  readonly xId: XId
  /** The returned amount, if the provider names it: the bank took that much even if a part was refunded before. */
  readonly amount?: number
  /** The last four digits of the response code. */
  readonly detail: string
  readonly provider: ProviderFacts
  readonly now: Date
}

/**
 * The capture to which a return of this amount belongs: the named one, or else the last one whose amount, or whose rest
 * after refunds, equals the returned amount. Earlier refunds do not limit a return, but no capture can be returned
 * beyond its amount.
 */
export function findReturnedCapture(
  payment: Payment,
  named: Operation | undefined,
  value: number,
): Operation | undefined {
  const only = named?.type === 'CAPTURE' ? named.xId : undefined
  const matches = (capture: Operation): boolean =>
    only === undefined ? value === capture.amount || value === restOf(payment, capture) : capture.xId === only
  return payment.operations.findLast(
    capture =>
      capture.type === 'CAPTURE' &&
      capture.state === 'OK' &&
      matches(capture) &&
      add(returnedOf(payment, capture), value) <= capture.amount,
  )
}

const returnedOf = ({ operations }: Payment, { xId }: Operation): number =>
  operations
    .filter(({ type, details }) => type === 'RETURN' && details.refundOf === xId)
    .reduce((sum, { amount }) => add(sum, amount), 0)

/** Undefined: there is no such capture, or no amount is named and nothing is left of the capture. */
export function returnCapture(payment: Payment, returned: Returned): Payment | undefined {
  const { xId, detail, provider, now } = returned
  const capture = findOperation(payment, returned.capture)
  const amount = capture?.state === 'OK' ? (returned.amount ?? restOf(payment, capture)) : 0
  if (!capture || amount === 0) return undefined
  const operation: Operation = {
    xId,
    sequence: lastOperation(payment).sequence + 1,
    type: 'RETURN',
    // The money has moved, so the return is done; the code is the bank's reason.
    state: 'OK',
    amount,
    transId: capture.transId,
    refNr: capture.refNr,
    responseCode: detailCode(payment.method.family, detail),
    prepared: {},
    provider,
    details: { refundOf: capture.xId },
    createdAt: now,
    updatedAt: now,
  }
  return {
    ...payment,
    sums: { ...payment.sums, returned: add(payment.sums.returned, amount) },
    operations: [...payment.operations, operation],
    updatedAt: now,
    version: payment.version + 1,
  }
}
