/**
 * Payment intents: authorisations without Stripe's page (with a card number, an IBAN or a stored method), captures,
 * increments and cancellations. Captures and increments do not change the intent's metadata.
 */
import type { AuthorizationOutcome, AuthorizationRequest, FollowUpRequest } from '#connectors/contract.ts'
import { cardCode, isReusable, sepaDebitCode } from '#connectors/stripe/methods.ts'
import { actionOf } from '#connectors/stripe/translate/actions.ts'
import { fromStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import { cardFacts, splitToken } from '#connectors/stripe/translate/card-facts.ts'
import { detailOfCancellation, detailOfDecline, timedOut } from '#connectors/stripe/translate/declines.ts'
import { toAmountDetails, toPaymentDetails } from '#connectors/stripe/translate/order-lines.ts'
import {
  type Asked,
  both,
  declined,
  describeError,
  echoOf,
  notUnderstood,
  unknown,
} from '#connectors/stripe/translate/outcomes.ts'
import { captureMethodOf, cardOptions } from '#connectors/stripe/translate/payment-options.ts'
import {
  toBillingDetails,
  toDescription,
  toDescriptor,
  toShipping,
} from '#connectors/stripe/translate/shopper.ts'
import { toThreeDSecure } from '#connectors/stripe/translate/three-d-secure.ts'
import {
  captureKey,
  captureReferenceAt,
  chargeIdOf,
  type Form,
  idAt,
  numberAt,
  pageKey,
  referenceKey,
  textAt,
  type Wire,
  wireAt,
} from '#connectors/stripe/translate/wire.ts'
import type { Money } from '#domain/money/money.ts'
import type { Outcome, ProviderFacts } from '#lifecycle/outcome.ts'

const chargeWanted = ['latest_charge'] as const

export function toIntent(request: AuthorizationRequest, code: string, amount: number): Form {
  const { payment, reference } = request
  return {
    amount,
    currency: request.amount.currency.toLowerCase(),
    confirm: true,
    capture_method: captureMethodOf(request, code),
    payment_method_types: [code],
    ...toMethod(request, code),
    ...toCredentialUse(request),
    payment_method_options: code === cardCode ? { card: toCardOptions(request) } : undefined,
    description: toDescription(payment),
    shipping: toShipping(payment),
    ...toDescriptor(payment, code === cardCode),
    ...toReturn(request),
    metadata: { [referenceKey]: reference, [captureKey]: request.captureReference },
    expand: chargeWanted,
  }
}

/** Without a return address the customer cannot be sent to a challenge, so the payment must fail instead of waiting. */
function toReturn({ payment, customerPresent, credentialOnFile }: AuthorizationRequest): Form {
  if (credentialOnFile?.initiator === 'MERCHANT') return {}
  return customerPresent && payment.returnUrl !== undefined
    ? { return_url: payment.returnUrl }
    : { error_on_requires_action: true }
}

function toMethod(request: AuthorizationRequest, code: string): Form {
  const { card, account, credentialOnFile, payment } = request
  const stored = splitToken(credentialOnFile?.providerToken ?? '')
  if (card !== undefined) {
    return {
      payment_method_data: {
        type: code,
        card: {
          number: card.number.reveal(),
          exp_month: card.expiryDate?.slice(4, 6),
          exp_year: card.expiryDate?.slice(0, 4),
          cvc: card.securityCode?.reveal(),
        },
        billing_details: toBillingDetails(payment, card.cardholderName),
      },
    }
  }
  if (stored !== undefined) return { payment_method: stored.method, customer: stored.customer }
  if (account === undefined) return {}
  return {
    payment_method_data: {
      type: code,
      [sepaDebitCode]: { iban: account.number.reveal() },
      billing_details: toBillingDetails(payment, account.holderName),
    },
    mandate_data: { customer_acceptance: toAcceptance(request) },
  }
}

/** Stripe creates its own mandate: accepted online if we know the customer's browser, otherwise offline. */
function toAcceptance({ payment: { browser } }: AuthorizationRequest): Form {
  const ip = textAt(browser, 'ipAddress')
  const agent = textAt(browser, 'userAgent')
  return ip === undefined || agent === undefined
    ? { type: 'offline' }
    : { type: 'online', online: { ip_address: ip, user_agent: agent } }
}

function toCredentialUse({ credentialOnFile }: AuthorizationRequest): Form {
  if (credentialOnFile === undefined) return {}
  if (credentialOnFile.initiator === 'MERCHANT') return { off_session: true }
  return credentialOnFile.initial ? { setup_future_usage: 'off_session' } : {}
}

function toCardOptions(request: AuthorizationRequest): Form {
  const { credentialOnFile, payment, threeDs } = request
  const merchant = credentialOnFile?.initiator === 'MERCHANT'
  const scheme = merchant ? credentialOnFile.schemeReferenceId : undefined
  return {
    ...cardOptions(request),
    network: payment.method.type === 'CARTESBANCAIRES' ? 'cartes_bancaires' : undefined,
    // Links the payment to the initial one, which the cardholder made. Needs Stripe's permission.
    mit_exemption: scheme === undefined ? undefined : { network_transaction_id: scheme },
    three_d_secure: toThreeDSecure(threeDs),
  }
}

// ── Answers ───────────────────────────────────────────────────────────────────────────────────────────────────────

export function readIntent(intent: Wire, asked: Asked): AuthorizationOutcome {
  const echo = echoOf(intent, asked, 'amount')
  const transactionId = textAt(intent, 'id')
  if (echo === undefined || transactionId === undefined)
    return both(notUnderstood('the intent lacks its id, amount or currency'))
  const provider: ProviderFacts = { echo, transactionId, responseCode: '00', ...cardFacts(intent) }
  const status = textAt(intent, 'status')
  switch (status) {
    case 'succeeded':
      return both({ kind: 'approved', provider }, readAutomaticCapture(intent, asked))
    case 'requires_capture':
      return both({ kind: 'approved', provider })
    case 'processing':
    case 'requires_confirmation':
      return both({ kind: 'pending', provider: { echo, transactionId } })
    case 'requires_action':
      return both(actionOf(intent, { echo, transactionId }))
    case 'requires_payment_method':
      return both(readFailedTry(intent, { echo, transactionId }))
    case 'canceled':
      return both(readCancelled(intent, { echo, transactionId }))
    default:
      return both(notUnderstood(`the status of the intent is ${status ?? 'missing'}`))
  }
}

/** The capture's reference is also in the intent's metadata, for look-ups by the authorisation's reference alone. */
function readAutomaticCapture(intent: Wire, asked: Asked): Outcome | undefined {
  const captureReference = asked.captureReference ?? captureReferenceAt(intent)
  if (captureReference === undefined) return undefined
  const amount = fromStripeAmount(numberAt(intent, 'amount_received'), textAt(intent, 'currency'))
  if (amount === undefined) return unknown
  return {
    kind: 'approved',
    provider: {
      echo: { reference: captureReference, amount },
      transactionId: chargeIdOf(intent) ?? textAt(intent, 'id'),
      responseCode: '00',
    },
  }
}

type Named = Pick<ProviderFacts, 'echo' | 'transactionId'>

/** Without an error there was no try yet, so the customer may still pay. */
function readFailedTry(intent: Wire, { echo, transactionId }: Named): Outcome {
  const error = wireAt(intent, 'last_payment_error')
  if (error === undefined) return { kind: 'pending', provider: { echo, transactionId } }
  const detail = detailOfDecline(textAt(error, 'decline_code'), textAt(error, 'code'))
  return declined(echo, detail, describeError(error), transactionId)
}

/** A cancelled intent is never approved again, so a late notice of its approval changes nothing. */
function readCancelled(intent: Wire, { echo, transactionId }: Named): Outcome {
  const reason = textAt(intent, 'cancellation_reason')
  const detail = detailOfCancellation(reason)
  const { provider, ...rest } = declined(
    echo,
    detail,
    `canceled: ${reason ?? 'no reason given'}`,
    transactionId,
  )
  const ended = { ...rest, provider: { ...provider, fields: { undone: transactionId } } }
  // Stripe ends the intent of a page together with the page: the customer may still pay on another one.
  return detail === timedOut && textAt(intent, 'metadata', pageKey) !== undefined
    ? { ...ended, pageEnded: true }
    : ended
}

// ── Follow-ups ────────────────────────────────────────────────────────────────────────────────────────────────────

/** Only cards allow several captures; every other method releases the rest with its first capture. */
export function toCapture(request: FollowUpRequest, code: string, amount: number): Form {
  const { payment, final, authorization } = request
  const several = payment.method.operations.includes('multi_capture') && !authorization?.fields?.capturesOnce
  const more = code === cardCode && several
  return {
    amount_to_capture: amount,
    final_capture: more && final !== true ? false : undefined,
    amount_details: toAmountDetails(request),
    payment_details: toPaymentDetails(request),
    expand: chargeWanted,
  }
}

/**
 * Stripe answers with totals. The echoed amount is the total minus the amounts before this operation, so that an answer
 * about another amount is not mistaken for ours.
 */
export function readTotal(
  intent: Wire,
  request: FollowUpRequest,
  { name, id }: { readonly name: 'amount' | 'amount_received'; readonly id: string },
): Outcome {
  const total = fromStripeAmount(numberAt(intent, name), textAt(intent, 'currency'))
  if (total === undefined || textAt(intent, 'id') !== id) return unknown
  const status = textAt(intent, 'status')
  if (status !== 'succeeded' && status !== 'requires_capture') return unknown
  const before = request.newTotal - request.amount.value
  const amount: Money = { value: total.value - before, currency: total.currency }
  const charge = name === 'amount_received' ? idAt(intent, 'latest_charge') : undefined
  return {
    kind: 'approved',
    provider: {
      echo: { reference: request.reference, amount },
      transactionId: charge ?? id,
      responseCode: '00',
    },
    ...(name === 'amount_received' && hasReleasedRest(intent) ? { restReleased: true } : {}),
  }
}

/** Whether the intent was captured in part and is closed, so that the rest is released. */
export const hasReleasedRest = (intent: Wire): boolean =>
  textAt(intent, 'status') === 'succeeded' &&
  (numberAt(intent, 'amount_received') ?? 0) < (numberAt(intent, 'amount') ?? 0)

/** The uncaptured amount of an intent. */
const uncaptured = (intent: Wire): number =>
  (numberAt(intent, 'amount') ?? 0) - (numberAt(intent, 'amount_received') ?? 0)

/** Whether all of the intent was captured, so that nothing can have been released. */
export const isCapturedWhole = (intent: Wire): boolean =>
  textAt(intent, 'status') === 'succeeded' && uncaptured(intent) <= 0

/**
 * The answer to a cancellation, which releases the whole rest. An intent that was captured in part becomes `succeeded`,
 * like one whose rest was captured meanwhile, so the uncaptured amount must match.
 */
export function readRelease(intent: Wire, asked: Asked, id: string): Outcome {
  const status = textAt(intent, 'status')
  const rest = fromStripeAmount(uncaptured(intent), textAt(intent, 'currency'))
  const isRest = numberAt(intent, 'amount_capturable') === 0 && rest?.value === asked.amount.value
  const released = status === 'canceled' || (status === 'succeeded' && isRest)
  const currency = textAt(intent, 'currency')?.toUpperCase()
  if (!released || currency === undefined || textAt(intent, 'id') !== id) return unknown
  return {
    kind: 'approved',
    provider: {
      echo: { reference: asked.reference, amount: { value: asked.amount.value, currency } },
      transactionId: id,
      responseCode: '00',
    },
  }
}

/** Whether the payment needs no page of Stripe, because the card, account or stored method is known. */
export const needsNoPage = (
  { card, account, credentialOnFile }: AuthorizationRequest,
  code: string,
): boolean =>
  (card !== undefined && code === cardCode) ||
  (account !== undefined && code === sepaDebitCode) ||
  (isReusable(code) && splitToken(credentialOnFile?.providerToken ?? '') !== undefined)
