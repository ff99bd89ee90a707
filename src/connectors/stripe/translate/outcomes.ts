/** Translates Stripe's answers into outcomes. */
import type { AuthorizationOutcome, HttpAnswer } from '#connectors/contract.ts'
import { fromStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import { detailOfDecline, malfunction, notPermitted } from '#connectors/stripe/translate/declines.ts'
import { parseWire, referenceAt, textAt, type Wire, wireAt } from '#connectors/stripe/translate/wire.ts'
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { Declined, Outcome, ProviderFacts } from '#lifecycle/outcome.ts'

/** The request, to be compared with Stripe's echo. */
export interface Asked {
  readonly reference: XId
  readonly amount: Money
  /** Set if the authorisation also captures. */
  readonly captureReference?: XId
}

export const unknown: Outcome = { kind: 'unknown' }
/** An answer that we could not understand, probably of another API version. */
export const notUnderstood = (reason: string): Outcome => ({ kind: 'unknown', reason: reason.slice(0, 200) })
export const unreached: Outcome = { kind: 'unreached' }

/** A parsed answer of Stripe, or the outcome if there is none. */
export type Reading =
  | { readonly kind: 'object'; readonly object: Wire; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'refused'; readonly status: number; readonly error: Wire }
  | { readonly kind: 'none'; readonly outcome: Outcome }

/**
 * Stripe calls answers from 500 on indeterminate. An error page or a truncated answer says nothing either, whatever its
 * status.
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

/** Stripe has seen the key with another body, so the first request has arrived and a look-up must find its outcome. */
export const provesArrival = ({ status, error }: { status: number; error: Wire }): boolean =>
  textAt(error, 'type') === 'idempotency_error' && status !== 409

/** The account of the key lacks an object that the request names. */
export const isMissing = ({ status, error }: { status: number; error: Wire }): boolean =>
  status === 404 || textAt(error, 'code') === 'resource_missing'

/** An error that Stripe returns instead of processing the request. */
export function readRefusal({ status, error }: { status: number; error: Wire }, asked: Asked): Outcome {
  // 409: another request with the same key is still being processed.
  if (status === 409 || textAt(error, 'type') === 'idempotency_error') return unknown
  if (status === 429) return unreached
  if (status === 401 || status === 403)
    return { ...declined(asked, malfunction, describeError(error)), callRefused: true }
  // 404: the account of this key, which may have been replaced, does not have the payment. That says nothing about an
  // earlier request.
  if (status === 404) return { ...declined(asked, notPermitted, describeError(error)), callRefused: true }
  if (status !== 400 && status !== 402) return unknown
  const intent = wireAt(error, 'payment_intent')
  const detail = detailOfDecline(textAt(error, 'decline_code'), textAt(error, 'code'))
  return declined(asked, detail, describeError(error), textAt(intent, 'id'))
}

/** A declined outcome that echoes our own request, because Stripe refuses without returning the object. */
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

/** 200 characters: enough for Stripe's code and message. */
const textMax = 200

/** Stripe's code and message. Card numbers and keys, which a message may quote, are replaced. */
export function describeError(error: Wire | undefined): string | undefined {
  const code = textAt(error, 'decline_code') ?? textAt(error, 'code') ?? textAt(error, 'type')
  const words = [code, textAt(error, 'message')].filter(word => word !== undefined).join(': ')
  return words === '' ? undefined : words.replace(/\d(?:[ -]?\d){11,}|\b[sr]k_\w+/g, '…').slice(0, textMax)
}

/**
 * The reference and amount that an object echoes; undefined if it has no amount, so that it cannot be trusted. An
 * object without our reference takes that of the request, which is correct only for objects that we requested by their
 * id.
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
