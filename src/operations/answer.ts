/** Operations as the wire shows them: the result of one operation, and the record of a whole payment. */
import type { XId } from '#domain/ids.ts'
import { describe, type Refusal, refusalCodes } from '#domain/response-codes.ts'
import {
  approvingOperation,
  findOperation,
  lastOperation,
  type Operation,
  type OperationType,
  type Payment,
} from '#lifecycle/payment.ts'
import { toResultFields } from '#methods/result-fields.ts'
import type { StoredAnswer } from '#storage/change.ts'

/** What leaves: the text is stored with the key and sent as it is, so that a replay is the same bytes. */
export type OperationAnswer = StoredAnswer

const toAnswer = (status: number, body: unknown): OperationAnswer => ({ status, json: JSON.stringify(body) })

/** Declined, cancelled or timed out is 422; whatever else became of it, the request did what it could. */
const httpStatus = (status: string): number => (status === 'FAILED' ? 422 : 200)

const shownState = (operation: Operation): string =>
  operation.state === 'SENT' ? 'PENDING' : operation.state

/** The answer to any operation of a payment, as it stands. */
export function answerOperation(payment: Payment, xId: XId): OperationAnswer {
  const operation = findOperation(payment, xId)
  if (!operation) throw new Error(`payment ${payment.payId} has no operation ${xId}`)
  // Create and confirm speak of the payment: OK when the automatic capture went through as well.
  const approves = operation.type === 'AUTHORIZATION' || operation.type === 'CONFIRM'
  const status = approves ? payment.status : shownState(operation)
  return toAnswer(httpStatus(status), resultOf(payment, operation, status))
}

/** The contract echoes metadata in every result but that of an incremental authorisation. */
export const shownMetadata = <T>(type: OperationType, metadata: T): T | undefined =>
  type === 'INCREMENTAL' ? undefined : metadata

function resultOf(payment: Payment, operation: Operation, status: string) {
  const { order, customerInfo } = payment.details
  return {
    payId: payment.payId,
    merchantId: payment.merchantId,
    transId: operation.transId,
    xId: operation.xId,
    refNr: operation.refNr,
    status,
    ...describeCode(operation.responseCode),
    metadata: shownMetadata(operation.type, operation.details.metadata),
    paymentMethods: methodResult(payment, operation),
    ...(operation.type === 'CONFIRM' && status !== 'FAILED' ? { order, customerInfo } : {}),
  }
}

/** What the provider said, as far as the method's fields show it; and the client token while a confirm is awaited. */
function methodResult(payment: Payment, operation: Operation) {
  const { provider, details } = operation
  const facts = {
    ...provider?.fields,
    providerResponseCode: provider?.responseCode,
    providerResponseText: provider?.responseText,
    providerTransactionId: provider?.transactionId,
    providerApprovalCode: provider?.approvalCode,
    authorizationExpiry: payment.authorizationExpiresAt?.toISOString(),
    billingAddress: payment.details.billingAddress,
    shippingAddress: payment.details.shipping,
    billingAgreementId: beginsAgreement(payment) ? provider?.fields?.billingAgreementId : undefined,
  }
  const fields =
    provider &&
    toResultFields(payment.method.key, {
      operation: operation.type,
      failed: operation.state === 'FAILED',
      facts,
    })
  const accessToken = operation.state === 'AUTHORIZE_REQUEST' ? details.clientToken : undefined
  if (!fields && accessToken === undefined) return undefined
  return { [payment.method.key]: { ...fields, accessToken } }
}

/** An agreement to charge again is made by the first of a series only. */
function beginsAgreement({ details }: Payment): boolean {
  const agreed = details.credentialOnFile as { type?: string; initialPayment?: boolean } | undefined
  return agreed?.type === 'RECURRING' && agreed.initialPayment === true
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

export const answerRecord = (payment: Payment): OperationAnswer => toAnswer(200, toRecord(payment))

/** The record of a payment: every stored field, masked, with its operations. */
export function toRecord(payment: Payment) {
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
    captureMethod: payment.kind === 'CREDIT' ? undefined : toCaptureMethod(payment),
    expirationTime: payment.expiresAt?.toISOString(),
    ...details,
    paymentMethods: toPaymentMethods(payment),
    metadata,
    operations: payment.operations.map(operation => toOperationEntry(payment, operation)),
    creationDate: payment.createdAt.toISOString(),
    updatedAt: payment.updatedAt.toISOString(),
  }
}

function toCaptureMethod({ captureMethod: { type, delayedHours } }: Payment) {
  return { type, delayed: delayedHours === undefined ? undefined : { delayedHours } }
}

/** The account with its bank, and beside it the mandate that allows to debit it. */
function toAccountFields({ account }: Payment) {
  if (!account) return {}
  const { last4Digits, pseudoAccountNumber, accountHolderName, code, bankName } = account
  return {
    account: {
      last4Digits,
      pseudoBankAccountNumber: pseudoAccountNumber,
      accountHolderName,
      code,
      bankName,
    },
    mandateId: account.mandateId,
    dateOfSignature: account.dateOfSignature,
  }
}

function toPaymentMethods(payment: Payment) {
  const { method, instrument } = payment
  const { provider } = payment.kind === 'CREDIT' ? lastOperation(payment) : approvingOperation(payment)
  return {
    integrationType: payment.integrationType,
    type: method.type,
    [method.key]: {
      first6Digits: instrument?.first6Digits,
      last4Digits: instrument?.last4Digits,
      pseudoCardNumber: instrument?.pseudoCardNumber,
      brand: instrument?.brand,
      expiryDate: instrument?.expiryDate,
      cardHolderName: instrument?.cardHolderName,
      dcc: instrument?.dcc,
      ...toAccountFields(payment),
      // Only cards have a scheme.
      schemeReferenceId: instrument && provider?.schemeReferenceId,
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
