/** What time alone does to a payment: an authorisation lapses, a customer does not come back. Nobody is asked. */
import { add } from '#domain/money.ts'
import { cancelledCode, timedOutCode } from '#domain/response-codes.ts'
import { isLapsed, openAmount, type Payment } from '#lifecycle/payment.ts'

/** The open amount is released; with nothing captured the payment is over. Undefined: there was nothing to lapse. */
export function lapse(payment: Payment, now: Date): Payment | undefined {
  const open = openAmount(payment)
  const authorized =
    payment.status === 'AUTHORIZED' || payment.status === 'CAPTURE_REQUEST' || payment.status === 'OK'
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

/** The customer's time is over. Undefined: the step was taken meanwhile. */
export const expireRequest = (payment: Payment, now: Date): Payment | undefined =>
  payment.expiresAt && payment.expiresAt.getTime() <= now.getTime()
    ? endRequest(payment, timedOutCode(payment.method.family), now)
    : undefined

/** The customer turned back. Undefined: the step was taken meanwhile. */
export const cancelRequest = (payment: Payment, now: Date): Payment | undefined =>
  endRequest(payment, cancelledCode(payment.method.family), now)

function endRequest(payment: Payment, responseCode: string, now: Date): Payment | undefined {
  if (payment.status !== 'AUTHORIZE_REQUEST') return undefined
  return {
    ...payment,
    status: 'FAILED',
    awaits: undefined,
    operations: payment.operations.map(operation =>
      operation.state === 'AUTHORIZE_REQUEST'
        ? { ...operation, state: 'FAILED', responseCode, updatedAt: now }
        : operation,
    ),
    updatedAt: now,
    version: payment.version + 1,
  }
}
