/**
 * Authorisation: a payment intent if we hold the card number, IBAN or stored method to charge, otherwise a Checkout
 * Session. One call without retries; the session of a bank transfer needs a customer object first.
 */
import type { AuthorizationOutcome, AuthorizationRequest, HttpAnswer } from '#connectors/contract.ts'
import { isOtherKey, type StripeClient } from '#connectors/stripe/client.ts'
import { lookUp } from '#connectors/stripe/look-up.ts'
import { bankTransferCode, storedCode, stripeCode } from '#connectors/stripe/methods.ts'
import { toStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import { notPermitted } from '#connectors/stripe/translate/declines.ts'
import { needsNoPage, readIntent, toIntent } from '#connectors/stripe/translate/intents.ts'
import {
  type Asked,
  both,
  declined,
  isMissing,
  provesArrival,
  type Reading,
  readAnswer,
  readRefusal,
  unknown,
  unreached,
} from '#connectors/stripe/translate/outcomes.ts'
import { readSession, toSession } from '#connectors/stripe/translate/sessions.ts'
import { toBillingDetails } from '#connectors/stripe/translate/shopper.ts'
import { referenceKey, textAt, type Wire } from '#connectors/stripe/translate/wire.ts'

interface AuthorizeTools {
  readonly client: StripeClient
  readonly nowMs: () => number
  readonly signal: AbortSignal
  readonly rawCards: boolean
}

export async function authorize(
  request: AuthorizationRequest,
  tools: AuthorizeTools,
): Promise<AuthorizationOutcome> {
  const code = stripeCode(request.payment.method.type)
  const amount = toStripeAmount(request.amount)
  if (code === undefined || amount === undefined) {
    return both(declined(request, notPermitted, 'Stripe does not serve this method or amount.'))
  }
  // A card number is never sent unless the account allows raw cards.
  const direct = needsNoPage(request, code) && (request.card === undefined || tools.rawCards)
  const isStored = request.card === undefined && request.account === undefined
  const charged = isStored ? storedCode(code) : code
  return direct
    ? createIntent(request, { code: charged, amount }, tools)
    : openPage(request, { code, amount }, tools)
}

interface Priced {
  readonly code: string
  readonly amount: number
}

async function createIntent(
  request: AuthorizationRequest,
  { code, amount }: Priced,
  tools: AuthorizeTools,
): Promise<AuthorizationOutcome> {
  const call = { form: toIntent(request, code, amount), key: request.reference }
  return readCreated(await tools.client.post('/v1/payment_intents', call, tools.signal), request, {
    tools,
    read: readIntent,
  })
}

async function openPage(
  request: AuthorizationRequest,
  priced: Priced,
  tools: AuthorizeTools,
): Promise<AuthorizationOutcome> {
  const { returnUrl } = request.payment
  if (returnUrl === undefined || !request.customerPresent) {
    return both(declined(request, notPermitted, 'Stripe wants the customer on its page, and none is there.'))
  }
  const customer = priced.code === bankTransferCode ? await createCustomer(request, tools) : undefined
  if (customer !== undefined && 'authorization' in customer) return customer
  const form = toSession(request, { ...priced, returnUrl, customer: customer?.id })
  const call = { form, key: request.reference }
  const answer = await tools.client.post('/v1/checkout/sessions', call, tools.signal)
  const outcome = await readCreated(answer, request, { tools, read: readSession })
  return outcome.authorization.kind === 'unknown' && isUnanswered(readAnswer(answer))
    ? both(unreached)
    : outcome
}

/**
 * If the answer with the page's address was lost, nothing can be paid there. Repeating the call is safe, and the same
 * key returns the same page; 409: the first call with this key is still under way.
 */
const isUnanswered = (reading: Reading): boolean =>
  reading.kind === 'none' || (reading.kind === 'refused' && reading.status === 409)

/** Creating a customer object moves no money, so a lost answer here only means that no page was opened. */
async function createCustomer(
  request: AuthorizationRequest,
  { client, signal }: AuthorizeTools,
): Promise<{ readonly id: string } | AuthorizationOutcome> {
  const details = toBillingDetails(request.payment)
  const form = { ...details, metadata: { [referenceKey]: request.reference } }
  const answer = await client.post('/v1/customers', { form, key: `${request.reference}-customer` }, signal)
  const reading = readAnswer(answer)
  if (isUnanswered(reading)) return both(unreached)
  if (reading.kind === 'refused') return both(readRefusal(reading, request))
  const id = reading.kind === 'object' ? textAt(reading.object, 'id') : undefined
  return id === undefined ? both(unreached) : { id }
}

async function readCreated(
  answer: HttpAnswer,
  request: AuthorizationRequest,
  {
    tools,
    read,
  }: {
    readonly tools: AuthorizeTools
    readonly read: (object: Wire, asked: Asked) => AuthorizationOutcome
  },
): Promise<AuthorizationOutcome> {
  const reading = readAnswer(answer)
  if (reading.kind === 'object') return read(reading.object, request)
  if (reading.kind === 'none') return both(reading.outcome)
  if (isMissing(reading) && isOtherKey(request.kept, tools.client)) return both(unknown)
  if (!provesArrival(reading)) return both(readRefusal(reading, request))
  // Stripe has seen this key with another body, so the first request arrived, and the look-up finds its outcome.
  const found = await lookUp({ ...request, sentAt: request.at }, tools)
  return found.authorization.kind === 'unreached' ? both(unknown) : found
}
