/** Operations as the wire shows them: the result of one operation, and the record of a whole payment. */
import type { XId } from '#domain/ids.ts'
import { describe, type Refusal, refusalCodes } from '#domain/response-codes.ts'
import { findOperation, lastOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import type { StoredAnswer } from '#storage/change.ts'

/** What leaves: the text is stored with the key and sent as it is, so that a replay is the same bytes. */
export type OperationAnswer = StoredAnswer

const toAnswer = (status: number, body: unknown): OperationAnswer => ({ status, json: JSON.stringify(body) })

/** Declined, cancelled or timed out is 422; whatever else became of it, the request did what it could. */
const httpStatus = (status: string): number => (status === 'FAILED' ? 422 : 200)

const shownState = (operation: Operation): string =>
  operation.state === 'SENT' ? 'PENDING' : operation.state

/** The answer to a follow-up operation. */
export function answerOperation(payment: Payment, xId: XId): OperationAnswer {
  const operation = findOperation(payment, xId)
  if (!operation) throw new Error(`payment ${payment.payId} has no operation ${xId}`)
  return operation.type === 'AUTHORIZATION'
    ? answerCreate(payment, operation)
    : toAnswer(httpStatus(operation.state), resultOf(payment, operation, shownState(operation)))
}

/** The answer to create speaks of the payment: OK when the automatic capture went through as well. */
function answerCreate(payment: Payment, authorization: Operation): OperationAnswer {
  return toAnswer(httpStatus(payment.status), resultOf(payment, authorization, payment.status))
}

function resultOf(payment: Payment, operation: Operation, status: string) {
  return {
    payId: payment.payId,
    merchantId: payment.merchantId,
    transId: operation.transId,
    xId: operation.xId,
    refNr: operation.refNr,
    status,
    ...describeCode(operation.responseCode),
    metadata: operation.details.metadata,
    paymentMethods: providerResult(payment, operation),
  }
}

/** The provider's own text is shown only when the operation failed. */
function providerResult(payment: Payment, operation: Operation) {
  const { provider } = operation
  if (!provider) return undefined
  return {
    [payment.method.key]: {
      providerResponseCode: provider.responseCode,
      providerResponseText: operation.state === 'FAILED' ? provider.responseText : undefined,
      providerTransactionId: provider.transactionId,
    },
  }
}

const describeCode = (code: string) => ({
  responseCode: code,
  responseDescription: describe(code).description,
})

/** We said no: nothing was recorded for the payment and nobody was asked. */
export function answerRefusal(
  refusal: Refusal,
  subject: {
    payId?: string
    merchantId: string
    transId: string
    xId: XId
    refNr?: string
    metadata?: unknown
  },
): OperationAnswer {
  return toAnswer(422, {
    payId: subject.payId,
    merchantId: subject.merchantId,
    transId: subject.transId,
    xId: subject.xId,
    refNr: subject.refNr,
    status: 'FAILED',
    ...describeCode(refusalCodes[refusal]),
    metadata: subject.metadata,
  })
}

/** The record of a payment: every stored field, masked, with its operations. */
export function toRecord(payment: Payment, pseudoCardNumber: string | undefined) {
  const last = lastOperation(payment)
  const {
    metadata,
    amount: amountDetails,
    ...details
  } = payment.details as { metadata?: unknown; amount?: object }
  return {
    payId: payment.payId,
    merchantId: payment.merchantId,
    transId: payment.transId,
    refNr: payment.refNr,
    xId: last.xId,
    status: payment.status,
    ...describeCode(last.responseCode),
    amount: {
      ...amountDetails,
      value: payment.amount.value,
      currency: payment.amount.currency,
      authorizedValue: payment.sums.authorized,
      capturedValue: payment.sums.captured,
      refundedValue: payment.sums.refunded,
      reversedValue: payment.sums.reversed,
    },
    captureMethod: toCaptureMethod(payment),
    ...details,
    paymentMethods: toPaymentMethods(payment, pseudoCardNumber),
    metadata,
    operations: payment.operations.map(operation => toOperationEntry(payment, operation)),
    creationDate: payment.createdAt.toISOString(),
    updatedAt: payment.updatedAt.toISOString(),
  }
}

function toCaptureMethod({ captureMethod: { type, delayedHours } }: Payment) {
  return { type, delayed: delayedHours === undefined ? undefined : { delayedHours } }
}

function toPaymentMethods(payment: Payment, pseudoCardNumber: string | undefined) {
  const { method, instrument } = payment
  const provider = payment.operations[0]?.provider
  return {
    integrationType: payment.integrationType,
    type: method.type,
    [method.key]: {
      first6Digits: instrument?.first6Digits,
      last4Digits: instrument?.last4Digits,
      pseudoCardNumber,
      brand: instrument?.brand,
      expiryDate: instrument?.expiryDate,
      cardHolderName: instrument?.cardHolderName,
      schemeReferenceId: provider?.schemeReferenceId,
      providerTransactionId: provider?.transactionId,
    },
  }
}

function toOperationEntry(payment: Payment, operation: Operation) {
  return {
    xId: operation.xId,
    type: operation.type,
    status: shownState(operation),
    amount: { value: operation.amount, currency: payment.amount.currency },
    transId: operation.transId,
    refNr: operation.refNr,
    ...describeCode(operation.responseCode),
    providerTransactionId: operation.provider?.transactionId,
    creationDate: operation.createdAt.toISOString(),
  }
}
