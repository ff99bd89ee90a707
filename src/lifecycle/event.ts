/** What a merchant is told when a result comes later than the answer to its request. Holds no card data. */
import type { XId } from '#domain/ids.ts'
import { describe } from '#domain/response-codes.ts'
import { intentOf } from '#lifecycle/intent.ts'
import { findOperation, lastOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import { undecided } from '#methods/undecided.ts'

export interface PaymentEvent {
  readonly sequence: number
  readonly xId: XId
  readonly body: Readonly<Record<string, unknown>>
}

/** Takes the next number of the payment's sequence; both are written in the commit that justifies the event. */
export function raiseEvent(
  payment: Payment,
  xId: XId,
): { readonly payment: Payment; readonly event: PaymentEvent } {
  const sequence = payment.eventSequence + 1
  const operation = findOperation(payment, xId) ?? lastOperation(payment)
  const body = {
    payId: payment.payId,
    transId: payment.transId,
    refNr: payment.refNr,
    status: payment.status,
    responseCode: operation.responseCode,
    responseDescription: describe(operation.responseCode).description,
    amount: payment.amount,
    // A customer who never chose a method has none to tell of.
    paymentMethods: payment.method === undecided ? [] : [{ type: payment.method.type }],
    creationDate: payment.createdAt.toISOString(),
    sequence,
    xId,
  }
  return { payment: { ...payment, eventSequence: sequence }, event: { sequence, xId, body } }
}

/**
 * The app that confirmed an intent has the answer, and the shop's server has not: it is told of every result, also one
 * that was answered at once. What the server asks for later, a capture say, it hears from its own answer.
 */
export const isAlwaysTold = (payment: Payment, { type }: Operation): boolean =>
  intentOf(payment) !== undefined && (type === 'AUTHORIZATION' || type === 'CONFIRM')
