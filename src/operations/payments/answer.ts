/** Response bodies: the result of one operation, and the record of a whole payment. */
import type { XId } from '#domain/ids.ts'
import { describe, type Refusal, refusalCodes } from '#domain/response-codes.ts'
import { toTransferCode } from '#domain/transfer-code.ts'
import type { LinkState } from '#lifecycle/attempt.ts'
import { openAction } from '#lifecycle/customer-step.ts'
import { shownDetails } from '#lifecycle/details.ts'
import { reasonCodeOf, shownSums } from '#lifecycle/event.ts'
import { intentOf } from '#lifecycle/intent.ts'
import {
  approvingOperation,
  findOperation,
  lastOperation,
  type Operation,
  type OperationDetails,
  type OperationType,
  openTry,
  type Payment,
} from '#lifecycle/payment.ts'
import { receivedValue } from '#lifecycle/receive.ts'
import { undecided } from '#methods/method.ts'
import { toRecordFields, toResultFields } from '#methods/result-fields.ts'
import { hintsOf } from '#schemas/parts/hints.ts'
import type { StoredAnswer } from '#storage/commit/change.ts'

/**
 * The response. Its text is stored under the idempotency key and sent unchanged, so that a replay has the same bytes.
 */
export type OperationAnswer = StoredAnswer

const toAnswer = (status: number, body: unknown): OperationAnswer => ({ status, json: JSON.stringify(body) })

/** A failed status (declined, cancelled or timed out) is 422; any other is 200. */
const httpStatus = (status: string): number => (status === 'FAILED' ? 422 : 200)

const shownState = (operation: Operation): string =>
  operation.state === 'SENT' ? 'PENDING' : operation.state

/** The response to an operation, made from its current state. */
export function answerOperation(payment: Payment, xId: XId, page?: string): OperationAnswer {
  const operation = findOperation(payment, xId)
  if (!operation) throw new Error(`payment ${payment.payId} has no operation ${xId}`)
  // Create and confirm show the status of the payment: OK if the automatic capture succeeded as well.
  const status = approves(operation) ? payment.status : shownState(operation)
  const _links = page === undefined ? undefined : linkTo(page)
  return toAnswer(httpStatus(status), { ...resultOf(payment, { operation, status, page }), _links })
}

/**
 * The response to a cancellation: 200, because it succeeded, although the payment's status is FAILED. Like every other
 * operation it echoes the metadata of its own request, not the payment's.
 */
export function answerCancellation(
  payment: Payment,
  metadata: OperationDetails['metadata'],
): OperationAnswer {
  const { status } = payment
  return toAnswer(200, { ...resultOf(payment, { operation: lastOperation(payment), status }), metadata })
}

const linkTo = (href: string) => ({ redirect: { href, type: 'text/html' } })

/** The answer to a session: the payment and its page; no operation has a result yet. */
export const answerSession = (payment: Payment, page: string): OperationAnswer =>
  toAnswer(200, {
    payId: payment.payId,
    transId: payment.transId,
    refNr: payment.refNr,
    status: payment.status,
    ...describeCode(lastOperation(payment).responseCode),
    expirationTime: payment.expiresAt?.toISOString(),
    metadata: payment.details.metadata,
    _links: linkTo(page),
  })

export const answerLink = (payment: Payment, page: string): OperationAnswer =>
  toAnswer(200, toLink(payment, { page, state: 'ACTIVE' }))

export function toLink(payment: Payment, { page, state }: { page: string; state: LinkState }) {
  const { description, linkType } = payment.details
  return {
    id: payment.own.linkId,
    payId: payment.payId,
    transId: payment.transId,
    status: state,
    expirationTime: payment.expiresAt?.toISOString(),
    amount: payment.amount,
    description,
    linkType,
    creationDate: payment.createdAt.toISOString(),
    _links: linkTo(page),
  }
}

interface Shown {
  readonly operation: Operation
  readonly status: string
  /** The page where the customer continues. */
  readonly page?: string
}

const approves = ({ type }: Operation): boolean => type === 'AUTHORIZATION' || type === 'CONFIRM'

/**
 * The customer's data with our id. The response to a create has the id alone, because the request contained the rest.
 */
function withCustomerId({ customerId, details }: Payment, whole: boolean) {
  return { gatewayCustomerId: customerId, ...(whole ? details.customerInfo : {}) }
}

/** The contract echoes metadata in every result but that of an incremental authorisation. */
export const shownMetadata = <T>(type: OperationType, metadata: T): T | undefined =>
  type === 'INCREMENTAL' ? undefined : metadata

function resultOf(payment: Payment, { operation, status, page }: Shown) {
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
    paymentMethods: methodResult(payment, operation, page),
    ...(operation.type === 'CONFIRM' && status !== 'FAILED' ? { order, customerInfo } : {}),
    paymentIntentId: operation.type === 'AUTHORIZATION' ? intentOf(payment) : undefined,
    paymentPlanId: operation.type === 'AUTHORIZATION' && status !== 'FAILED' ? payment.planId : undefined,
    ...(payment.customerId && approves(operation)
      ? { customerInfo: withCustomerId(payment, operation.type === 'CONFIRM') }
      : {}),
  }
}

/** What a customer needs to pay by voucher, transfer or QR code, while the payment is outstanding. */
function stepFacts(payment: Payment, page?: string): Readonly<Record<string, unknown>> {
  const waiting = openTry(payment)
  if (!waiting?.prepared.step) return {}
  const { account, paymentReference } = waiting.provider?.fields ?? {}
  const action = openAction(waiting)
  const code = action?.type === 'instructions' ? action.instructions.qrCode : undefined
  // Prefer the provider's own code: a payment app cannot read our page.
  const scanned = code ?? (payment.method.flow === 'qr' ? page : undefined)
  return {
    expirationTime: waiting.prepared.step === 'instructions' ? payment.expiresAt?.toISOString() : undefined,
    qrCode: scanned ?? toTransferCode({ amount: payment.amount, account, reference: paymentReference }),
  }
}

/** The method's result fields, filled from the provider's answer, and the client token while a confirm is awaited. */
function methodResult(payment: Payment, operation: Operation, page?: string) {
  const { provider, details } = operation
  const facts = {
    ...provider?.fields,
    ...stepFacts(payment, page),
    providerResponseCode: provider?.responseCode,
    providerResponseText: provider?.responseText,
    providerTransactionId: provider?.transactionId,
    providerApprovalCode: provider?.approvalCode,
    authorizationExpiry: payment.authorizationExpiresAt?.toISOString(),
    billingAddress: payment.details.billingAddress,
    shippingAddress: payment.details.shipping,
    billingAgreementId: agreementOf(payment, provider),
  }
  const fields =
    (provider ?? page) &&
    toResultFields(payment.method.key, {
      operation: operation.type,
      failed: operation.state === 'FAILED',
      facts,
    })
  const accessToken = operation.state === 'AUTHORIZE_REQUEST' ? details.clientToken : undefined
  if (!fields && accessToken === undefined) return undefined
  return { [payment.method.key]: { ...fields, accessToken } }
}

/** The billing agreement, which only the initial payment of a series creates. */
function agreementOf({ details }: Payment, provider: Operation['provider']): unknown {
  const agreed = details.credentialOnFile
  const begins = agreed?.type === 'RECURRING' && agreed.initialPayment === true
  return begins ? provider?.fields?.billingAgreementId : undefined
}

const describeCode = (code: string) => ({
  responseCode: code,
  responseDescription: describe(code).description,
})

/**
 * The response to a request that the gateway refuses: nothing is recorded for the payment and no provider is called.
 */
export function answerRefusal(
  refusal: Refusal,
  subject: {
    payId?: string
    merchantId: string
    transId: string
    xId: XId
    refNr?: string
    metadata?: unknown
    paymentIntentId?: string
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
    paymentIntentId: subject.paymentIntentId,
  })
}

export const answerRecord = (payment: Payment): OperationAnswer => toAnswer(200, toRecord(payment))

/** The contract's default for the channel of a sale. */
const defaultChannel = 'ECOM'

/** The record of a payment: every stored field, masked, with its operations. */
export function toRecord(payment: Payment) {
  const last = lastOperation(payment)
  return {
    payId: payment.payId,
    merchantId: payment.merchantId,
    transId: payment.transId,
    refNr: payment.refNr,
    xId: last.xId,
    status: payment.status,
    ...describeCode(last.responseCode),
    amount: {
      ...payment.details.amount,
      value: payment.amount.value,
      currency: payment.amount.currency,
      ...shownSums(payment),
      receivedValue: receivedValue(payment),
    },
    captureMethod: payment.kind === 'CREDIT' ? undefined : toCaptureMethod(payment),
    expirationTime: payment.expiresAt?.toISOString(),
    channel: payment.kind === 'CREDIT' ? undefined : defaultChannel,
    // The hints of the create request; a later operation may have had others.
    ...hintsOf(payment.operations[0]?.details),
    ...shownDetails(payment.details),
    ...(payment.customerId ? { customerInfo: withCustomerId(payment, true) } : {}),
    paymentMethods: toPaymentMethods(payment),
    provider: payment.provider,
    paymentPlanId: payment.planId,
    paymentIntentId: intentOf(payment),
    cancellationReason: payment.own.cancellationReason,
    operations: payment.operations.map(operation => toOperationEntry(payment, operation)),
    creationDate: payment.createdAt.toISOString(),
    updatedAt: payment.updatedAt.toISOString(),
  }
}

function toCaptureMethod({ captureMethod: { type, delayedHours } }: Payment) {
  return { type, delayed: delayedHours === undefined ? undefined : { delayedHours } }
}

/** The account with its bank, and the mandate that allows debiting it. */
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

/** The scheme's reference of a card payment. One that the merchant sent takes precedence over the provider's. */
const schemeReference = ({ own }: Payment, provider: Operation['provider']): string | undefined =>
  textOf(own.methodFields?.schemeReferenceId) ?? provider?.schemeReferenceId

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** Undefined until the customer has chosen a method. */
function toPaymentMethods(payment: Payment) {
  const { method, instrument, own } = payment
  if (method === undecided) return undefined
  const { provider } = payment.kind === 'CREDIT' ? lastOperation(payment) : approvingOperation(payment)
  return {
    integrationType: payment.integrationType,
    type: method.type,
    [method.key]: {
      ...toRecordFields(method.key, {
        ...own.methodFields,
        ...provider?.fields,
        ...stepFacts(payment),
        billingAgreementId: agreementOf(payment, provider),
      }),
      first6Digits: instrument?.first6Digits,
      last4Digits: instrument?.last4Digits,
      pseudoCardNumber: instrument?.pseudoCardNumber,
      brand: instrument?.brand,
      expiryDate: instrument?.expiryDate,
      cardHolderName: instrument?.cardHolderName,
      dcc: instrument?.dcc,
      ...toAccountFields(payment),
      schemeReferenceId: instrument && schemeReference(payment, provider),
      providerTransactionId: provider?.transactionId,
    },
  }
}

/** The operation's account if it is not the payment's, because that account could not be reached. */
const accountOf = ({ provider }: Payment, { prepared }: Operation) =>
  prepared.account === undefined || prepared.account === provider?.account
    ? undefined
    : { account: prepared.account }

const unsuccessful: readonly Operation['state'][] = ['FAILED', 'PENDING']

/** The provider's text for an operation that failed or is pending. 255 characters: the length of the field. */
const refusalOf = ({ provider }: Payment, operation: Operation): string | undefined =>
  provider && unsuccessful.includes(operation.state)
    ? operation.provider?.responseText?.slice(0, 255)
    : undefined

function toOperationEntry(payment: Payment, operation: Operation) {
  return {
    xId: operation.xId,
    type: operation.type,
    status: shownState(operation),
    amount: { value: operation.amount, currency: payment.amount.currency },
    transId: operation.transId,
    refNr: operation.refNr,
    ...describeCode(operation.responseCode),
    reasonCode: reasonCodeOf(operation),
    providerTransactionId: operation.provider?.transactionId,
    providerResponseText: refusalOf(payment, operation),
    origin: operation.details.origin,
    provider: accountOf(payment, operation),
    creationDate: operation.createdAt.toISOString(),
  }
}
