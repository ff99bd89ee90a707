/**
 * Builds provider requests from the recorded operation alone, so that a first call, a late call after a lost commit,
 * and a repetition under the same key are the same request.
 */
import type { AuthorizationRequest, FollowUpRequest, OperationRequest } from '#connectors/contract.ts'
import { add } from '#domain/money/money.ts'
import { endsCapturing } from '#lifecycle/capture.ts'
import {
  approvingOperation,
  findOperation,
  isUnanswered,
  type Operation,
  openAmount,
  type Payment,
} from '#lifecycle/payment.ts'
import { credentialTerms, isMerchantInitiated } from '#lifecycle/plans/plan.ts'
import { credentialUse, toContext } from '#operations/payments/provider-calls/payment-context.ts'
import { convertAgain } from '#operations/quotes/redeem-quote.ts'
import { hintsOf } from '#schemas/parts/hints.ts'

export type Question<Request extends OperationRequest> = Omit<Request, 'send'>

/** A capture, reversal, refund or increment, with the approval and the totals that many providers want. */
export function toFollowUp(payment: Payment, operation: Operation): Question<FollowUpRequest> {
  const approval = approvingOperation(payment)
  const { refundOf } = operation.details
  const refunded = refundOf && findOperation(payment, refundOf)
  return {
    ...toQuestion(payment, operation),
    authorizationReference: approval.xId,
    authorizationTransactionId: approval.provider?.transactionId,
    authorization: approval.provider,
    captureReference: refunded?.xId,
    captureTransactionId: refunded?.provider?.transactionId,
    newTotal: newTotal(payment, operation),
    final: operation.type === 'CAPTURE' ? isLastCapture(payment, operation) : undefined,
  }
}

/** The confirm of a payment, when its customer is no longer present. */
export const toConfirm = (payment: Payment, operation: Operation): Question<AuthorizationRequest> => ({
  ...toQuestion(payment, operation),
  conversion: convertAgain(payment.instrument?.dcc, amountOf(payment, operation)),
  credentialOnFile: agreementOf(payment),
  captureReference: operation.details.captureXId,
  customerPresent: false,
})

/**
 * The agreement of the create request. The confirm is the first message that the provider gets, so it names the
 * agreement.
 */
function agreementOf({ details, own, instrument }: Payment): AuthorizationRequest['credentialOnFile'] {
  const terms = credentialTerms(details)
  const named = own.methodFields?.schemeReferenceId
  return credentialUse({
    details,
    // Without a card the customer has just approved the payment at the provider.
    merchantInitiated: instrument !== undefined && terms !== undefined && isMerchantInitiated(terms),
    schemeReferenceId: typeof named === 'string' ? named : undefined,
  })
}

export function toQuestion(payment: Payment, operation: Operation): Question<OperationRequest> {
  const { type, xId, prepared, details, createdAt } = operation
  return {
    operation: type,
    reference: xId,
    amount: amountOf(payment, operation),
    payment: toContext(payment, { details }),
    hints: hintsOf(details),
    at: createdAt,
    kept: prepared,
  }
}

const amountOf = ({ amount }: Payment, operation: Operation) => ({
  value: operation.amount,
  currency: amount.currency,
})

/** The total that will be authorised, captured, reversed or refunded after this operation. */
function newTotal({ sums }: Payment, { type, amount }: Operation): number {
  switch (type) {
    case 'INCREMENTAL':
      return add(sums.authorized, amount)
    case 'CAPTURE':
      return add(sums.captured, sums.capturing)
    case 'REVERSAL':
      return add(sums.reversed, sums.reversing)
    // Listed one by one, so that the compiler demands a decision for a new type of operation.
    case 'REFUND':
    case 'AUTHORIZATION':
    case 'CONFIRM':
    case 'CREDIT':
    case 'RETURN':
      return add(sums.refunded, sums.refunding)
  }
}

/**
 * The merchant called it the last one, or nothing is left to capture. While another capture or an increment has no answer,
 * its amount may still be left: a provider that takes the capture for the last one would release it.
 */
const isLastCapture = (payment: Payment, operation: Operation): boolean =>
  endsCapturing(operation) ||
  (openAmount(payment) === 0 &&
    !payment.operations.some(
      other => other.xId !== operation.xId && mayLeaveMore.has(other.type) && isUnanswered(other),
    ))

const mayLeaveMore: ReadonlySet<Operation['type']> = new Set(['CAPTURE', 'INCREMENTAL'])
