/**
 * Checkout Sessions: Stripe's hosted page, where the customer enters the data of the method; no card number passes
 * through us. The session gets its intent, which carries our reference, once the customer has confirmed.
 */
import type {
  AuthorizationOutcome,
  AuthorizationRequest,
  CustomerActionOutcome,
} from '#connectors/contract.ts'
import { bankTransferCode, cardCode } from '#connectors/stripe/methods.ts'
import { timedOut } from '#connectors/stripe/translate/declines.ts'
import { readIntent } from '#connectors/stripe/translate/intents.ts'
import { toPageLines } from '#connectors/stripe/translate/order-lines.ts'
import { type Asked, both, declined, echoOf, unknown } from '#connectors/stripe/translate/outcomes.ts'
import { captureMethodOf, cardOptions } from '#connectors/stripe/translate/payment-options.ts'
import { toDescription, toDescriptor, toLocale, toShipping } from '#connectors/stripe/translate/shopper.ts'
import {
  captureKey,
  captureReferenceAt,
  dateAt,
  type Form,
  idAt,
  pageKey,
  referenceAt,
  referenceKey,
  textAt,
  type Wire,
  wireAt,
} from '#connectors/stripe/translate/wire.ts'
import { findCountryByAlpha3 } from '#domain/countries.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'

interface SessionTerms {
  readonly code: string
  readonly amount: number
  readonly returnUrl: string
  /** For a bank transfer, which needs a customer object at Stripe. */
  readonly customer?: string
}

/** The parameter of the return address for customers who use the page's cancel link. */
export const leftKey = 'left'

export function toSession(request: AuthorizationRequest, terms: SessionTerms): Form {
  const { payment, reference, credentialOnFile } = request
  const { code, amount, returnUrl, customer } = terms
  const keeps = credentialOnFile?.initial === true
  const references = { [referenceKey]: reference, [captureKey]: request.captureReference }
  return {
    mode: 'payment',
    client_reference_id: reference,
    metadata: references,
    success_url: returnUrl,
    cancel_url: withParameter(returnUrl, leftKey, '1'),
    payment_method_types: [code],
    line_items: toPageLines(request, amount),
    payment_intent_data: {
      capture_method: captureMethodOf(request, code),
      description: toDescription(payment),
      metadata: { ...references, [pageKey]: 'checkout' },
      setup_future_usage: keeps ? 'off_session' : undefined,
      shipping: toShipping(payment),
      ...toDescriptor(payment, code === cardCode),
    },
    payment_method_options: optionsOf(request, code),
    locale: toLocale(payment.language),
    ...(customer === undefined
      ? {
          customer_email: textAt(payment.customer, 'email'),
          // A stored method can be charged again only with its customer object.
          customer_creation: keeps ? 'always' : undefined,
        }
      : { customer }),
    expand: ['payment_intent.latest_charge'],
  }
}

export function withParameter(url: string, name: string, value: string): string {
  const changed = new URL(url)
  changed.searchParams.set(name, value)
  return changed.href
}

/** Options that some methods require. */
function optionsOf(request: AuthorizationRequest, code: string): Form | undefined {
  if (code === cardCode) return { card: cardOptions(request) }
  if (code === 'wechat_pay') return { wechat_pay: { client: 'web' } }
  if (code === 'acss_debit') {
    return { acss_debit: { mandate_options: { payment_schedule: 'sporadic', transaction_type: 'personal' } } }
  }
  if (code === bankTransferCode) {
    return {
      [bankTransferCode]: {
        funding_type: 'bank_transfer',
        bank_transfer: { type: 'eu_bank_transfer', eu_bank_transfer: { country: transferCountry(request) } },
      },
    }
  }
  return undefined
}

/** The countries of Stripe's virtual accounts. Customers from other countries pay to an Irish one. */
const transferCountries: readonly string[] = ['BE', 'DE', 'ES', 'FR', 'IE', 'NL']

function transferCountry({ payment }: AuthorizationRequest): string {
  const country = findCountryByAlpha3(textAt(payment.billing, 'country') ?? '')?.alpha2
  return country !== undefined && transferCountries.includes(country) ? country : 'IE'
}

/** The API document lets `amount_total` be null. */
export const hasAmount = ({ amount_total: amount }: Wire): boolean => amount !== undefined && amount !== null

/**
 * A page without an amount is the requested one: it was asked for by our key or its own id, and moves no money itself.
 * The amount of what is paid on it stands in its intent.
 */
export const echoOfSession = (session: Wire, asked: Asked): ProviderFacts['echo'] | undefined =>
  hasAmount(session)
    ? echoOf(session, asked, 'amount_total')
    : { reference: referenceAt(session) ?? asked.reference, amount: asked.amount }

/** Expects a session that was fetched with `expand[]=payment_intent.latest_charge`. */
export function readSession(session: Wire, asked: Asked): AuthorizationOutcome {
  const id = textAt(session, 'id')
  const echo = echoOfSession(session, asked)
  if (id === undefined || echo === undefined) return both(unknown)
  const intent = wireAt(session, 'payment_intent')
  switch (textAt(session, 'status')) {
    case 'complete':
      if (intent !== undefined) return readIntent(intent, asked)
      return textAt(session, 'payment_status') === 'paid' && hasAmount(session)
        ? paidSession(session, { ...asked, echo })
        : both({ kind: 'pending', provider: { echo, transactionId: id } })
    case 'expired':
      return both({ ...declined(asked, timedOut, 'The page has expired.', id), pageEnded: true })
    case 'open':
      return both(openPage(session, { echo, transactionId: id }))
    default:
      return both(unknown)
  }
}

/** For a session in a notice, which holds only the intent's id, so the charge's id is unknown. */
function paidSession(session: Wire, asked: Asked & { echo: ProviderFacts['echo'] }): AuthorizationOutcome {
  const { echo } = asked
  const captureReference = asked.captureReference ?? captureReferenceAt(session)
  const transactionId = idAt(session, 'payment_intent') ?? textAt(session, 'id')
  const captured = captureReference && { echo: { ...echo, reference: captureReference }, responseCode: '00' }
  return both(
    { kind: 'approved', provider: { echo, transactionId, responseCode: '00' } },
    captured && { kind: 'approved', provider: captured },
  )
}

function openPage(
  session: Wire,
  provider: CustomerActionOutcome['provider'],
): AuthorizationOutcome['authorization'] {
  const url = textAt(session, 'url')
  if (url === undefined) return unknown
  const expiresAt = dateAt(session, 'expires_at')
  return {
    kind: 'action',
    action: { type: 'redirect', url, verb: 'GET' },
    provider,
    ...(expiresAt === undefined ? {} : { expiresAt }),
  }
}
