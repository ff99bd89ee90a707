/** What an answer of Stripe means for the operation that was asked for: approved, declined, pending, unreached, unknown. */
import type { AuthorizationOutcome, HttpAnswer } from '#connectors/contract.ts'
import { fromStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import { detailOfDecline, malfunction, notPermitted } from '#connectors/stripe/translate/declines.ts'
import { parseWire, referenceAt, textAt, type Wire, wireAt } from '#connectors/stripe/translate/wire.ts'
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { Declined, Outcome, ProviderFacts } from '#lifecycle/outcome.ts'

/** What was asked, for the comparison with what Stripe echoes. */
export interface Asked {
  readonly reference: XId
  readonly amount: Money
  /** Set where the authorisation captures in the same message. */
  readonly captureReference?: XId
}

export const unknown: Outcome = { kind: 'unknown' }
/** An answer that was received but has values of another API version. */
export const notUnderstood = (reason: string): Outcome => ({ kind: 'unknown', reason: reason.slice(0, 200) })
export const unreached: Outcome = { kind: 'unreached' }

/** A parsed answer that is certainly Stripe's, or the outcome that follows from its absence. */
export type Reading =
  | { readonly kind: 'object'; readonly object: Wire; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'refused'; readonly status: number; readonly error: Wire }
  | { readonly kind: 'none'; readonly outcome: Outcome }

/**
 * 500 and above: Stripe calls these indeterminate. An error page or a truncated answer instead of JSON says nothing
 * either, whatever its status.
 */
export function readAnswer(answer: HttpAnswer): Reading {
  if (answer.kind === 'unreached') return { kind: 'none', outcome: unreached }
  if (answer.kind === 'lost') return { kind: 'none', outcome: unknown }
  const object = parseWire(answer.body)
  if (object === undefined || answer.status >= 500) return { kind: 'none', outcome: unknown }
  if (answer.status >= 200 && answer.status < 300) return { kind: 'object', object, headers: answer.headers }
  const error = wireAt(object, 'error')
  return error === undefined
    ? { kind: 'none', outcome: unknown }
    : { kind: 'refused', status: answer.status, error }
}

/** The same key came with another body: the first request has arrived, and only a look-up shows its outcome. */
export const provesArrival = ({ status, error }: { status: number; error: Wire }): boolean =>
  textAt(error, 'type') === 'idempotency_error' && status !== 409

/** An error that Stripe answers before or instead of doing what was asked. */
export function readRefusal({ status, error }: { status: number; error: Wire }, asked: Asked): Outcome {
  // 409: another request with the same key is under way. 429: not processed, but treating it as certain here would be a
  // guess.
  if (status === 409 || textAt(error, 'type') === 'idempotency_error') return unknown
  if (status === 429) return unreached
  if (status === 401 || status === 403)
    return { ...declined(asked, malfunction, describeError(error)), callRefused: true }
  // The payment is not in the account of this key, which may have been changed: that says nothing about an earlier request.
  if (status === 404) return { ...declined(asked, notPermitted, describeError(error)), callRefused: true }
  if (status !== 400 && status !== 402) return unknown
  const intent = wireAt(error, 'payment_intent')
  const detail = detailOfDecline(textAt(error, 'decline_code'), textAt(error, 'code'))
  return declined(asked, detail, describeError(error), textAt(intent, 'id'))
}

/** The answer to our own request is the echo where Stripe refuses without showing the object. */
export const declined = (
  { reference, amount }: Pick<Asked, 'reference' | 'amount'>,
  detail: string,
  responseText?: string,
  transactionId?: string,
): Declined => ({
  kind: 'declined',
  detail,
  provider: {
    echo: { reference, amount },
    ...(transactionId === undefined ? {} : { transactionId }),
    responseCode: detail.slice(-2),
    ...(responseText === undefined ? {} : { responseText }),
  },
})

/** 200: enough for a sentence of Stripe's and its code. */
const textMax = 200

/** Stripe's code and sentence, without what could be a card number or a key in a sentence that quotes what was sent. */
export function describeError(error: Wire | undefined): string | undefined {
  const code = textAt(error, 'decline_code') ?? textAt(error, 'code') ?? textAt(error, 'type')
  const words = [code, textAt(error, 'message')].filter(word => word !== undefined).join(': ')
  return words === '' ? undefined : words.replace(/\d(?:[ -]?\d){11,}|\b[sr]k_\w+/g, '…').slice(0, textMax)
}

/**
 * The echo of an object that carries our reference. Undefined where it has no amount: then nothing can be trusted. An
 * object without our reference echoes what was asked only if we asked for it by its own id.
 */
export function echoOf(
  object: Wire,
  asked: Pick<Asked, 'reference'>,
  amountName: string,
): ProviderFacts['echo'] | undefined {
  const { [amountName]: amount, currency } = object
  const money = fromStripeAmount(
    typeof amount === 'number' ? amount : undefined,
    typeof currency === 'string' ? currency : undefined,
  )
  return money === undefined
    ? undefined
    : { reference: referenceAt(object) ?? asked.reference, amount: money }
}

export const both = (
  authorization: AuthorizationOutcome['authorization'],
  capture?: Outcome,
): AuthorizationOutcome => (capture === undefined ? { authorization } : { authorization, capture })
