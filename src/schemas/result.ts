/**
 * The answers of payment operations: done or under way (`operationResult`, `confirmResult` …), and refused or declined
 * (`failedResult`, `failedConfirm` …). They differ in the provider's facts that they show, as the API contract defines.
 */
import type { Static, TProperties, TSchema } from 'typebox'
import {
  failureObjects,
  otherCreatedObject,
  otherFailureObject,
  otherResultObject,
  resultObjects,
} from '#methods/fields/objects.ts'
import { customerInfoAnswer } from '#schemas/parts/customer-info.ts'
import { choice, closed, closedBut, freeTextMax, optional, text, url } from '#schemas/parts/fields.ts'
import { merchantId, payId, refNr, transId, xId } from '#schemas/parts/identifiers.ts'
import { metadata } from '#schemas/parts/metadata.ts'
import { order } from '#schemas/parts/order.ts'

export const responseCode = text(8, 'Eight digits: kind, module, detail.', { pattern: '^[0-9]{8}$' })
export const responseDescription = text(freeTextMax, 'The response code in words.')

export const links = closed(
  {
    redirect: closed(
      { href: url('Where to send the customer.'), type: text(64, 'Media type of that page.') },
      { title: 'Link', description: 'An address and what lies there.' },
    ),
  },
  { title: 'Links', description: 'Where to go next.' },
)

const providerPart = "The provider's result, in one object named by the method's key."

/** The fields at the end of both kinds of answer. */
const rest = <Methods extends TSchema>(methods: Methods) => ({
  refNr: optional(refNr),
  responseCode,
  responseDescription,
  paymentMethods: optional(methods),
})

const echo = { metadata: optional(metadata) }

const doneHead = {
  payId,
  merchantId,
  transId,
  xId,
  status: choice(
    ['AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED', 'CAPTURE_REQUEST', 'OK'],
    'What became of the operation.',
  ),
}

/**
 * payId and xId are missing if the refusal came before there was a payment or operation, and transId if a reused
 * idempotency key was refused before the body was read.
 */
const failedHead = {
  payId: optional(payId),
  merchantId,
  transId: optional(transId),
  xId: optional(xId),
  status: choice(['FAILED'], 'Always FAILED.'),
}

const doneMethods = <Objects extends TProperties>(
  title: string,
  objects: Objects,
  other: TSchema = otherResultObject,
) => closedBut(objects, other, { title, description: providerPart })

const failedMethods = <Objects extends TProperties>(title: string, objects: Objects) =>
  closedBut(objects, otherFailureObject, { title, description: providerPart })

export const operationResult = closed(
  {
    ...doneHead,
    ...rest(doneMethods('ResultPaymentMethods', resultObjects.create, otherCreatedObject)),
    ...echo,
    order: optional(order),
    customerInfo: optional(customerInfoAnswer),
    paymentPlanId: optional(text(64, 'The plan that this payment begins or belongs to.')),
    _links: optional(links),
  },
  { title: 'OperationResult', description: 'An operation that is done or under way.' },
)
export type OperationResult = Static<typeof operationResult>

export const failedResult = closed(
  { ...failedHead, ...rest(failedMethods('FailedPaymentMethods', failureObjects.create)), ...echo },
  { title: 'FailedResult', description: 'An operation that was refused or declined.' },
)
export type FailedResult = Static<typeof failedResult>

export const confirmResult = closed(
  {
    ...doneHead,
    ...rest(doneMethods('ConfirmedPaymentMethods', resultObjects.confirm)),
    ...echo,
    order: optional(order),
    customerInfo: optional(customerInfoAnswer),
    _links: optional(links),
  },
  { title: 'ConfirmResult', description: 'A confirmation that is done or under way.' },
)

export const failedConfirm = closed(
  { ...failedHead, ...rest(failedMethods('FailedConfirmMethods', failureObjects.confirm)), ...echo },
  { title: 'FailedConfirm', description: 'A confirmation that was refused or declined.' },
)

export const captureResult = closed(
  { ...doneHead, ...rest(doneMethods('CapturedPaymentMethods', resultObjects.capture)), ...echo },
  { title: 'CaptureResult', description: 'A capture that is done or under way.' },
)

export const failedCapture = failedResult

/** The only result that has no metadata in the API contract. */
export const incrementalResult = closed(
  { ...doneHead, ...rest(doneMethods('IncrementedPaymentMethods', resultObjects.incremental)) },
  { title: 'IncrementalResult', description: 'An authorisation that was raised or is about to be.' },
)

export const failedIncremental = closed(
  { ...failedHead, ...rest(failedMethods('FailedIncrementalMethods', failureObjects.incremental)) },
  { title: 'FailedIncremental', description: 'An authorisation that was not raised.' },
)

export const reversalResult = closed(
  { ...doneHead, ...rest(doneMethods('ReversedPaymentMethods', resultObjects.reversal)), ...echo },
  { title: 'ReversalResult', description: 'A reversal that is done or under way.' },
)

export const failedReversal = closed(
  { ...failedHead, ...rest(failedMethods('FailedReversalMethods', failureObjects.reversal)), ...echo },
  { title: 'FailedReversal', description: 'A reversal that was refused or declined.' },
)

export const refundResult = closed(
  { ...doneHead, ...rest(doneMethods('RefundedPaymentMethods', resultObjects.refund)), ...echo },
  { title: 'RefundResult', description: 'A refund that is done or under way.' },
)

export const failedRefund = closed(
  { ...failedHead, ...rest(failedMethods('FailedRefundMethods', failureObjects.refund)), ...echo },
  { title: 'FailedRefund', description: 'A refund that was refused or declined.' },
)

export const creditResult = closed(
  { ...doneHead, ...rest(doneMethods('CreditedPaymentMethods', resultObjects.credit)), ...echo },
  { title: 'CreditResult', description: 'A refund without reference that is done or under way.' },
)

export const failedCredit = closed(
  { ...failedHead, ...rest(failedMethods('FailedCreditMethods', failureObjects.credit)), ...echo },
  { title: 'FailedCredit', description: 'A refund without reference that was refused or declined.' },
)
