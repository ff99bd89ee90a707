/**
 * Builds the part of every provider request that describes the payment. It is built only here; a test compares it with
 * the schemas, field by field.
 */
import type { PaymentContext } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import { hasApproved, isUnanswered, type Operation, type Payment, sentAt } from '#lifecycle/payment.ts'
import { credentialTerms } from '#lifecycle/plans/plan.ts'
import type { Method } from '#methods/rows.ts'
import type { Engine } from '#operations/engine.ts'

/** Which fields of a request reach the provider, and which do not. */
export const contextFields = {
  /** Fields that reach the provider, and their names there. The hints reach it too. */
  passed: {
    refNr: 'refNr',
    language: 'language',
    captureMethod: 'captureMethod',
    credentialOnFile: 'credentialOnFile',
    order: 'order',
    billingAddress: 'billing',
    shipping: 'shipping',
    statementDescriptor: 'descriptor',
    customerInfo: 'customer',
    fraudData: 'fraudData',
    paymentFacilitator: 'paymentFacilitator',
    browserInfo: 'browser',
    device: 'device',
    channel: 'channel',
    enhancedData: 'enhancedData',
    transId: 'transId',
    amount: 'amount',
    paymentMethods: 'method, methodFields, card, account, wallet, conversion, threeDs',
  },
  /** Fields that stay with us. */
  own: {
    externalIntegrationId: 'the name of the shop software, for our own statistics',
    urls: 'where the customer and the merchant are sent; the provider gets our return address instead',
    expirationTime: 'how long we wait for the customer or the confirm',
    metadata: 'the notes of the merchant, handed back as they came',
    referencePayId: 'a link between two payments of ours',
    allowedPaymentMethod: 'what our page offers',
    description: 'what our page says about a link',
    linkType: 'what a link is for',
    template: 'how our page looks',
    duration: 'how long the authorisation lives with us',
  },
} as const

type Fields = Readonly<Record<string, unknown>>

interface Details {
  readonly order?: Fields
  readonly billingAddress?: Fields
  readonly shipping?: Fields
  readonly customerInfo?: Fields
  readonly browserInfo?: Fields
  readonly device?: Fields
  readonly fraudData?: Fields
  readonly statementDescriptor?: string
  readonly paymentFacilitator?: Fields
  readonly enhancedData?: Fields
  readonly language?: string
  readonly channel?: string
  /** The breakdown of the amount: taxes, shipping, discounts. */
  readonly amount?: Fields
}

/** The fields of the operation itself, which override those of the payment. */
interface Asking {
  /** The method that the customer has just chosen. */
  readonly method?: Method
  readonly details?: Fields
  readonly returnUrl?: string
}

export function toContext(payment: Payment, { method, details, returnUrl }: Asking = {}): PaymentContext {
  const sent: Details = payment.details
  const now: Details = details ?? {}
  return {
    merchantId: payment.merchantId,
    payId: payment.payId,
    method: method ?? payment.method,
    transId: payment.transId,
    refNr: payment.refNr,
    amount: payment.amount,
    amountDetails: now.amount ?? sent.amount,
    authorizedValue: payment.sums.authorized,
    capturedValue: payment.sums.captured,
    reversedValue: payment.sums.reversed,
    order: now.order ?? sent.order,
    billing: now.billingAddress ?? sent.billingAddress,
    shipping: now.shipping ?? sent.shipping,
    customer: sent.customerInfo,
    browser: sent.browserInfo,
    device: sent.device,
    fraudData: sent.fraudData,
    descriptor: now.statementDescriptor ?? sent.statementDescriptor,
    paymentFacilitator: sent.paymentFacilitator,
    enhancedData: now.enhancedData,
    language: sent.language,
    returnUrl,
    captureMethod: payment.captureMethod.type,
    integrationType: payment.integrationType,
    channel: sent.channel,
    methodFields: payment.own.methodFields,
  }
}

/** The address to which the provider redirects the customer. */
export const returnAddressOf = (
  { merchantId, payId, method }: Pick<Payment, 'merchantId' | 'payId' | 'method'>,
  xId: XId,
  engine: Pick<Engine, 'returnAddress'>,
): string => engine.returnAddress({ merchantId, payId, xId, type: method.type })

/** A redirect needs a return and a cancel address. Returns the field that is missing; undefined if both are there. */
export function findMissingAddress(urls: unknown): string | undefined {
  if (urls === undefined) return 'urls'
  const missing = ['return', 'cancel'].find(name => !Object.hasOwn(Object(urls), name))
  return missing && `urls.${missing}`
}

/** Whether the customer is on one of our pages, or can be sent to the provider and return. */
export const findsBack = ({
  integrationType,
  method,
  details,
}: Pick<Payment, 'integrationType' | 'method' | 'details'>): boolean =>
  integrationType === 'HOSTED' || method.flow !== 'direct' || findMissingAddress(details.urls) === undefined

/** Builds the inquiry about an operation, or with `about` about the capture in the same message. */
export function toInquiry(
  payment: Payment,
  operation: Operation,
  about: { readonly type?: Operation['type']; readonly reference?: XId } = {},
) {
  const { xId, amount, prepared, details, provider } = operation
  const { type = operation.type, reference = xId } = about
  const beside = payment.operations.filter(
    other => other.type === type && other.xId !== reference && isUnanswered(other),
  )
  return {
    operation: type,
    reference,
    amount: { value: amount, currency: payment.amount.currency },
    payment: toContext(payment, { details }),
    provider,
    authorizationTransactionId: approvalIdOf(payment),
    captureReference: details.refundOf,
    sentAt: sentAt(operation),
    ...(beside.length === 0 ? {} : { unansweredBeside: beside.map(other => other.amount) }),
    kept: prepared,
  }
}

/** The provider's id of the approved authorisation, or of the latest one with an id if none is approved. */
function approvalIdOf(payment: Payment): string | undefined {
  const asking = payment.operations.filter(({ type }) => type === 'AUTHORIZATION' || type === 'CONFIRM')
  const named = asking.filter(({ provider }) => provider?.transactionId !== undefined)
  return (named.findLast(hasApproved) ?? named.at(-1))?.provider?.transactionId
}

/** Tells the provider how a stored card or account is used, or that it will be stored. */
export function credentialUse({
  details,
  merchantInitiated,
  schemeReferenceId,
  providerToken,
}: {
  readonly details: Fields
  readonly merchantInitiated?: boolean
  readonly schemeReferenceId?: string
  readonly providerToken?: string
}) {
  const terms = credentialTerms(details)
  if (!terms) return undefined
  const initiator = merchantInitiated ? ('MERCHANT' as const) : ('CUSTOMER' as const)
  return {
    type: terms.type,
    initial: terms.initialPayment === true,
    initiator,
    schemeReferenceId,
    providerToken,
  }
}
