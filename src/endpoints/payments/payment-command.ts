/** Converts the request for a payment into the engine's command; shared by all endpoints that create one. */

import { isRecord, memberOf } from '#domain/json.ts'
import type { Merchant } from '#domain/merchant.ts'
import { Secret } from '#domain/secret.ts'
import { normalizeAddresses } from '#domain/text.ts'
import { dayOf } from '#domain/time/calendar.ts'
import { parseInstant } from '#domain/time/dates.ts'
import { readAccount, readCard } from '#endpoints/payments/instruments.ts'
import { InvalidField } from '#http/server/ports.ts'
import type { CreateCommand } from '#lifecycle/create.ts'
import { isMerchantInitiated } from '#lifecycle/plans/plan.ts'
import { defaultCapture, findMethod, findMisfit, methodTypes } from '#methods/catalogue.ts'
import { keptFields } from '#methods/fields/objects.ts'
import { undecided } from '#methods/method.ts'
import { explainUnknownType } from '#methods/nearest-types.ts'
import type { IntegrationType, Method } from '#methods/rows.ts'
import type { PaymentCard } from '#operations/payments/admit.ts'
import type { CreatePayment } from '#schemas/create-payment.ts'

/** The method that a request names, which the merchant must have enabled. */
export function requireMethod(field: string, type: string, { methods }: Merchant): Method {
  const method = findMethod(type)
  if (method && (!methods || methods.includes(type))) return method
  if (method) {
    throw new InvalidField(field, `${type} is not taken by this merchant; allowed: ${methods?.join(', ')}`)
  }
  throw new InvalidField(field, explainUnknownType(type, methodTypes))
}

/** Checks the method's own limits. Dependencies between fields are in the schema. */
export function checkFit(body: CreatePayment, method: Method): void {
  const misfit = findMisfit(method, body)
  if (misfit) throw new InvalidField(misfit.field, misfit.error)
  // A quote is made for one card, and a hosted page does not know the card yet.
  if (body.paymentMethods.card?.dcc && body.paymentMethods.card.number === undefined) {
    throw new InvalidField('paymentMethods.card.dcc', 'goes with a card number in the same request only')
  }
}

/** The fields that every request for a payment has, whether or not it names its method. */
export type PaymentBody = Omit<CreatePayment, 'paymentMethods'>

export interface Choice {
  readonly merchant: Merchant
  readonly method: Method
  readonly integrationType: IntegrationType
  /** The method's own object, as sent. */
  readonly object?: Readonly<Record<string, unknown>>
  readonly confirmsLater?: boolean
  readonly now: Date
}

/** The stored part of the request. Of the method's object only fields without card data. */
export function toCommand(body: PaymentBody, choice: Choice): CreateCommand {
  const { merchant, method, integrationType, object, confirmsLater, now } = choice
  const { transId, refNr, amount, captureMethod, simulationMode, urls, ...rest } = body
  const { value, currency, ...amountDetails } = amount
  checkAgreement(body, method, now)
  return {
    merchantId: merchant.merchantId,
    transId,
    refNr,
    method,
    integrationType,
    amount: { value, currency },
    captureMethod: {
      type: captureMethod?.type ?? defaultCapture(method),
      delayedHours: captureMethod?.delayed?.delayedHours,
    },
    metadata: body.metadata,
    hints: { simulationMode },
    confirmsLater: confirmsLater || undefined,
    expiresAt: readExpiry(body.expirationTime, now),
    methodFields: object && keptFields(method.key, object),
    details: { ...rest, ...(urls ? { urls: normalizeAddresses(urls) } : {}), amount: amountDetails },
  }
}

/** A request that names its method as the engine's command: the same for payments and confirmed intents. */
export function composePayment(
  { paymentMethods, ...body }: CreatePayment,
  method: Method,
  { merchant, now }: Pick<Choice, 'merchant' | 'now'>,
) {
  const { integrationType, type: _, ...objects } = paymentMethods
  const object = memberOf(objects, method.key)
  const command = toCommand(body, {
    merchant,
    method,
    integrationType,
    object: isRecord(object) ? object : undefined,
    confirmsLater: confirmsLater(objects),
    now,
  })
  const account = readAccount(objects.directDebit)
  const agreed = { ...command, ...readAgreement(paymentMethods, body) }
  return { command: agreed, card: readPaymentCard(objects.card, body), account, offer: objects.card?.dcc }
}

/**
 * Reads the agreement of a customer that was made outside Tollgate. Only a card can be charged without its customer by
 * the number alone; other methods need the provider's reference to the agreement, which payment plans store.
 */
function readAgreement(
  { integrationType, ...objects }: CreatePayment['paymentMethods'],
  { credentialOnFile }: PaymentBody,
): Pick<CreateCommand, 'schemeReferenceId' | 'merchantInitiated'> {
  const { number, schemeReferenceId } = objects.card ?? {}
  const isCharged = integrationType === 'DIRECT' && number !== undefined && !confirmsLater(objects)
  const merchantInitiated = isCharged && credentialOnFile && isMerchantInitiated(credentialOnFile)
  return { schemeReferenceId, merchantInitiated: merchantInitiated || undefined }
}

/** The merchant makes the second step: a card created for a later order, or a wallet request that asks for it. */
export const confirmsLater = ({
  card,
  providerP,
}: Pick<CreatePayment['paymentMethods'], 'card' | 'providerP'>): boolean =>
  card?.eventToken === 'ORDER' || card?.eventToken === 'DELAYED_SHIPMENT' || providerP?.confirm === true

type SentCard = NonNullable<CreatePayment['paymentMethods']['card']>

/** The card with what the merchant says about 3-D Secure; an order by post or telephone cannot be authenticated. */
function readPaymentCard(sent: SentCard | undefined, { channel }: PaymentBody): PaymentCard | undefined {
  const card = readCard(sent)
  if (!card || !sent) return undefined
  const { authenticationValue, ...imported } = sent.threeDsData ?? {}
  return {
    ...card,
    threeDs: {
      ...sent.threeDsPolicy,
      skip: sent.threeDsPolicy?.skip || channel === 'MOTO',
      // The schema allows only texts, and members that were not sent are absent; the type does not express this.
      imported: sent.threeDsData && (imported as Record<string, string>),
      authenticationValue: authenticationValue === undefined ? undefined : new Secret(authenticationValue),
    },
  }
}

/** 70 days: the contract's own limit; a customer who has not paid by then must start again. */
const longestWaitMs = 70 * 24 * 60 * 60 * 1000

export function readExpiry(expirationTime: string | undefined, now: Date): Date | undefined {
  const instant = expirationTime === undefined ? undefined : parseInstant(expirationTime)
  if (instant === undefined) return undefined
  if (instant <= now.getTime() || instant > now.getTime() + longestWaitMs) {
    const latest = new Date(now.getTime() + longestWaitMs).toISOString()
    const allowed = `it must lie between now, ${now.toISOString()}, and ${latest}`
    throw new InvalidField('expirationTime', `is ${expirationTime}; ${allowed}`)
  }
  return new Date(instant)
}

/** Checks of the agreement to charge a customer again (`credentialOnFile`) that no schema can express. */
function checkAgreement(
  { credentialOnFile, amount }: Pick<CreatePayment, 'credentialOnFile' | 'amount'>,
  method: Method,
  now: Date,
): void {
  if (!credentialOnFile?.initialPayment) return
  const refuse = (field: string, error: string): never => {
    throw new InvalidField(`credentialOnFile.${field}`, error)
  }
  // On a hosted page the customer chooses later, among the methods that can be charged again.
  if (method !== undecided && !method.operations.includes('recurring')) {
    refuse('initialPayment', `${method.type} cannot be charged again without the customer`)
  }
  const { type, recurring } = credentialOnFile
  const { startDate, expiryDate, frequency, autoCharge } = recurring ?? {}
  if (startDate !== undefined && expiryDate !== undefined && expiryDate < startDate) {
    refuse('recurring.expiryDate', `is ${expiryDate}; it must not lie before startDate, ${startDate}`)
  }
  // Such a plan would end with its first payment.
  if (expiryDate !== undefined && expiryDate < dayOf(now)) {
    refuse('recurring.expiryDate', `is ${expiryDate}; it must not lie before today, ${dayOf(now)}`)
  }
  if (!autoCharge) return
  if (type !== 'RECURRING') refuse('recurring.autoCharge', 'goes with the type RECURRING only')
  if (frequency === undefined) refuse('recurring.frequency', 'is missing; autoCharge needs it')
  if (amount.value === 0) refuse('recurring.autoCharge', 'needs an amount above 0')
}
