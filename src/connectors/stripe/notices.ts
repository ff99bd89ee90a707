/**
 * Reads Stripe's webhooks, one event per message: verifies the signature and translates the event into facts. `readers`
 * lists the relevant events; all others are ignored.
 */
import type {
  AuthorizationOutcome,
  Notice,
  NoticeFact,
  NoticeSubject,
  RawNotice,
  RefundFact,
} from '#connectors/contract.ts'
import { typesStoredAsDebit } from '#connectors/stripe/methods.ts'
import { findForgery } from '#connectors/stripe/signature.ts'
import { fromStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import { detailOfReturn, generalDecline, timedOut } from '#connectors/stripe/translate/declines.ts'
import { isDebitReturn, readDispute } from '#connectors/stripe/translate/disputes.ts'
import { hasReleasedRest, readIntent, readRelease } from '#connectors/stripe/translate/intents.ts'
import { type Asked, declined } from '#connectors/stripe/translate/outcomes.ts'
import { detailOfRefund, readRefund } from '#connectors/stripe/translate/refunds.ts'
import { echoOfSession, hasAmount, readSession } from '#connectors/stripe/translate/sessions.ts'
import {
  at,
  captureReferenceAt,
  chargeIdOf,
  dateAt,
  idAt,
  listAt,
  numberAt,
  pageKey,
  parseWire,
  referenceAt,
  textAt,
  type Wire,
  wireAt,
} from '#connectors/stripe/translate/wire.ts'
import { foreignXId, parseXId, type XId } from '#domain/ids.ts'
import { entryOf } from '#domain/json.ts'
import type { Money } from '#domain/money/money.ts'
import type { Declined, Outcome } from '#lifecycle/outcome.ts'

const accepted = { status: 200, body: '{"received":true}', type: 'application/json' } as const

export function readNotice(
  raw: RawNotice,
  terms: { readonly secret: string; readonly nowMs: number; readonly live: boolean },
): Notice {
  const forgery = findForgery(raw.headers['stripe-signature'], raw.body, terms)
  if (forgery !== undefined) return { verdict: 'forged', reason: forgery }
  const event = parseWire(Buffer.from(raw.body).toString('utf8'))
  const id = textAt(event, 'id')
  const type = textAt(event, 'type')
  const object = wireAt(event, 'data', 'object')
  if (event === undefined || id === undefined || type === undefined) {
    return { verdict: 'forged', reason: 'the body is no event of Stripe' }
  }
  const occurredAt = dateAt(event, 'created')
  const foreign = findOtherOwner(event, terms)
  const read =
    foreign !== undefined || object === undefined ? undefined : entryOf(allReaders, type)?.(object, event)
  const known = [read ?? []].flat()
  const ignored: NoticeFact = {
    kind: 'ignored',
    name: foreign === undefined ? type : `${type} of ${foreign}`,
  }
  const facts = known.length > 0 ? known : [ignored]
  return {
    verdict: 'genuine',
    items: facts.map((fact, index) => ({
      key: index === 0 ? id : `${id}/${index}`,
      ...(occurredAt === undefined ? {} : { occurredAt }),
      fact,
    })),
    answer: accepted,
  }
}

/**
 * Whose money an event is about, if it is not that of this account: a sandbox endpoint may point here by mistake, and an
 * endpoint of a Connect platform also gets the events of connected accounts. Their owners choose the metadata of their
 * payments, and could name an order of the platform in it.
 */
function findOtherOwner(event: Wire, { live }: { readonly live: boolean }): string | undefined {
  if (event.livemode === !live) return 'the other mode'
  return textAt(event, 'account') === undefined ? undefined : 'a connected account'
}

/** Most events give one fact. */
type Reader = (object: Wire, event: Wire) => NoticeFact | readonly NoticeFact[] | undefined

const readers: Readonly<Record<string, Reader>> = {
  'checkout.session.completed': endedSession,
  'checkout.session.async_payment_succeeded': endedSession,
  'checkout.session.async_payment_failed': session => failedSession(session, generalDecline),
  'checkout.session.expired': session => failedSession(session, timedOut, { pageEnded: true }),
  'payment_intent.succeeded': (intent, event) =>
    textAt(intent, 'capture_method') === 'manual' ? capturedWhole(intent, event) : authorization(intent),
  'payment_intent.amount_capturable_updated': capturable,
  'payment_intent.processing': authorization,
  'payment_intent.payment_failed': intent =>
    textAt(intent, 'metadata', pageKey) === undefined ? authorization(intent) : undefined,
  'payment_intent.canceled': cancelled,
  'charge.captured': captured,
  'refund.created': refundEvent,
  'refund.updated': refundEvent,
  'refund.failed': refundEvent,
  'charge.refund.updated': refundEvent,
  'charge.dispute.created': dispute,
  'charge.dispute.updated': dispute,
  'charge.dispute.closed': dispute,
  'charge.dispute.funds_withdrawn': dispute,
  'charge.dispute.funds_reinstated': dispute,
  'reporting.report_run.succeeded': report,
}

/** The events that the webhook endpoint must send. */
export const eventTypes: readonly string[] = Object.keys(readers)

/** Some endpoints report refunds only with this event. Since API version 2022-11-15 it no longer lists the refunds. */
const allReaders: Readonly<Record<string, Reader>> = {
  ...readers,
  'charge.refunded': (charge, event) =>
    Array.isArray(at(charge, 'refunds', 'data')) && !isCapturedInPart(charge)
      ? readRefunds(listAt(charge, 'refunds', 'data'))
      : refundsBehind(charge, event),
}

/** After a partial capture the released rest is among the charge's refunds. */
const isCapturedInPart = (charge: Wire): boolean =>
  (numberAt(charge, 'amount_captured') ?? Infinity) < (numberAt(charge, 'amount') ?? 0)

/** The charge's refunds are to be fetched, unless our own request caused the event: we know its refund already. */
function refundsBehind(charge: Wire, event: Wire): NoticeFact | undefined {
  const [id, paymentTransactionId] = [textAt(charge, 'id'), idAt(charge, 'payment_intent')]
  if (callerOf(event) !== undefined || id === undefined || paymentTransactionId === undefined)
    return undefined
  return { kind: 'refunds', subject: { transactionId: id, paymentTransactionId } }
}

/** An object that we did not create has no reference of ours, so the engine matches it by the provider's ids. */
function askedBy(object: Wire): Asked {
  const reference = referenceAt(object) ?? foreignXId
  return {
    reference,
    // The engine, which knows the requested amount, compares it with the echo.
    amount: { value: 0, currency: (textAt(object, 'currency') ?? '').toUpperCase() },
    captureReference: captureReferenceAt(object) ?? reference,
  }
}

/** Our xId, if our own request caused the event: the event carries its idempotency key. */
const callerOf = (event: Wire): XId | undefined => parseXId(textAt(event, 'request', 'idempotency_key') ?? '')

function subjectOf(object: Wire, transactionId: string | undefined): NoticeSubject {
  const reference = referenceAt(object)
  return {
    ...(reference === undefined ? {} : { reference }),
    ...(transactionId === undefined ? {} : { transactionId }),
  }
}

function authorization(intent: Wire): NoticeFact | undefined {
  return authorizationFact(intent, 'amount', readIntent(intent, askedBy(intent)))
}

/**
 * A completed session is unpaid also after an authorisation that is captured later. Only its intent tells, and the
 * events of intents may not be sent to this endpoint, so it is looked up.
 */
function endedSession(session: Wire): NoticeFact | undefined {
  const isPaid = textAt(session, 'payment_status') === 'paid'
  if (!isPaid && idAt(session, 'payment_intent') === undefined) return undefined
  const fact = authorizationFact(session, 'amount_total', readSession(session, askedBy(session)))
  return isPaid ? fact : fact && { ...fact, isBrief: true }
}

function authorizationFact(
  object: Wire,
  name: string,
  told: AuthorizationOutcome,
): Extract<NoticeFact, { kind: 'outcome' }> | undefined {
  const amount = fromStripeAmount(numberAt(object, name), textAt(object, 'currency'))
  const { authorization: outcome, capture } = told
  // We know the customer's step from the answer to our request.
  if (amount === undefined || outcome.kind === 'action') return undefined
  // Events have at most the id of the charge, which tells whether several captures are possible and much else.
  const isBrief = outcome.kind === 'approved' && wireAt(object, 'latest_charge') === undefined
  return {
    kind: 'outcome',
    operation: 'AUTHORIZATION',
    subject: subjectOf(object, textAt(object, 'id')),
    amount,
    outcome,
    ...(capture === undefined ? {} : { capture }),
    ...(isBrief ? { isBrief } : {}),
  }
}

function failedSession(
  session: Wire,
  detail: string,
  more: Pick<Declined, 'pageEnded'> = {},
): NoticeFact | undefined {
  const asked = askedBy(session)
  const echo = echoOfSession(session, asked)
  if (echo === undefined) return undefined
  return {
    kind: 'outcome',
    operation: 'AUTHORIZATION',
    subject: subjectOf(session, textAt(session, 'id')),
    ...(hasAmount(session) ? { amount: echo.amount } : {}),
    outcome: { ...declined(echo, detail, undefined, textAt(session, 'id')), ...more },
  }
}

/** The approval or, if the event reports a changed amount, an increment. Captures have their own event. */
function capturable(intent: Wire, event: Wire): NoticeFact | undefined {
  const before = numberAt(event, 'data', 'previous_attributes', 'amount')
  if ((numberAt(intent, 'amount_received') ?? 0) > 0) return undefined
  if (before === undefined) return authorization(intent)
  const added = fromStripeAmount((numberAt(intent, 'amount') ?? 0) - before, textAt(intent, 'currency'))
  const id = textAt(intent, 'id')
  const caller = callerOf(event)
  // Increments can be made only through the API; one made by another program is not booked.
  if (caller === undefined || added === undefined || id === undefined || added.value <= 0) return undefined
  return followUp('INCREMENTAL', { id: `${id}/${caller}`, paymentId: id, amount: added, caller })
}

/** All captures of a charge share its id. Our idempotency key or the charge's total tells them apart. */
function captured(charge: Wire, event: Wire): NoticeFact | undefined {
  const before = numberAt(event, 'data', 'previous_attributes', 'amount_captured') ?? 0
  const all = numberAt(charge, 'amount_captured') ?? 0
  const currency = textAt(charge, 'currency')
  const paymentId = idAt(charge, 'payment_intent')
  const id = textAt(charge, 'id')
  const caller = callerOf(event)
  if (paymentId === undefined || id === undefined) return undefined
  if (caller === undefined) return capturedElsewhere(id, paymentId, fromStripeAmount(all, currency))
  const amount = fromStripeAmount(all - before, currency)
  return amount === undefined ? undefined : followUp('CAPTURE', { id, paymentId, amount, caller })
}

/**
 * A capture made in the dashboard or by another program. The `amount` is for a process of the previous release that
 * applies this stored notice: it does not know `total`, and without an amount it would book everything open.
 */
function capturedElsewhere(id: string, paymentId: string, total: Money | undefined): NoticeFact | undefined {
  if (total === undefined) return undefined
  const fact = followUp('CAPTURE', { id, paymentId, amount: total, caller: undefined })
  return { ...fact, subject: { paymentTransactionId: paymentId }, total }
}

/** The intent is captured and closed. `charge.captured` reports our own captures, each with its amount. */
function capturedWhole(intent: Wire, event: Wire): readonly NoticeFact[] {
  const paymentId = textAt(intent, 'id')
  const charge = chargeIdOf(intent)
  const total = fromStripeAmount(numberAt(intent, 'amount_received'), textAt(intent, 'currency'))
  const elsewhere =
    callerOf(event) === undefined && paymentId !== undefined && charge !== undefined
      ? capturedElsewhere(charge, paymentId, total)
      : undefined
  return [elsewhere ?? [], releasedRest(intent) ?? []].flat()
}

interface FollowUpNews {
  /** An id of the operation itself, which must differ from that of the approval. */
  readonly id: string
  readonly paymentId: string
  readonly amount: Money
  /** Undefined if it was made in Stripe's dashboard or by Stripe itself. */
  readonly caller: XId | undefined
}

function followUp(
  operation: 'CAPTURE' | 'INCREMENTAL' | 'REVERSAL',
  { id, paymentId, amount, caller }: FollowUpNews,
): Extract<NoticeFact, { kind: 'outcome' }> {
  const reference = caller ?? foreignXId
  const outcome: Outcome = {
    kind: 'approved',
    provider: { echo: { reference, amount }, transactionId: id, responseCode: '00' },
  }
  return {
    kind: 'outcome',
    operation,
    subject: {
      ...(caller === undefined ? {} : { reference: caller }),
      transactionId: id,
      paymentTransactionId: paymentId,
    },
    amount,
    outcome,
  }
}

/** Stripe's cancellation reasons for expired authorisations. */
const ranOut: ReadonlySet<string> = new Set(['automatic', 'expired'])

/** An intent that was never approved has failed. An approved one was released on request or has expired. */
function cancelled(intent: Wire, event: Wire): NoticeFact | undefined {
  const approved = chargeIdOf(intent) !== undefined && wireAt(intent, 'last_payment_error') === undefined
  if (!approved) return authorization(intent)
  const id = textAt(intent, 'id')
  if (ranOut.has(textAt(intent, 'cancellation_reason') ?? '') && callerOf(event) === undefined)
    return { kind: 'lapsed', subject: subjectOf(intent, id) }
  const asked = askedBy(intent)
  const rest = (numberAt(intent, 'amount') ?? 0) - (numberAt(intent, 'amount_received') ?? 0)
  const amount = fromStripeAmount(rest, textAt(intent, 'currency'))
  if (id === undefined || amount === undefined) return undefined
  if (readRelease(intent, { ...asked, amount }, id).kind !== 'approved') return undefined
  return followUp('REVERSAL', { id: `${id}/cancel`, paymentId: id, amount, caller: callerOf(event) })
}

/** A last partial capture, made by us or in the dashboard, has released the rest. */
function releasedRest(intent: Wire): NoticeFact | undefined {
  const id = textAt(intent, 'id')
  const rest = (numberAt(intent, 'amount') ?? 0) - (numberAt(intent, 'amount_received') ?? 0)
  const amount = fromStripeAmount(rest, textAt(intent, 'currency'))
  if (!hasReleasedRest(intent) || id === undefined || amount === undefined) return undefined
  return followUp('REVERSAL', { id: `${id}/rest`, paymentId: id, amount, caller: undefined })
}

function refund(object: Wire, event: Wire): RefundFact | undefined {
  const asked = askedBy(object)
  const amount = fromStripeAmount(numberAt(object, 'amount'), textAt(object, 'currency'))
  if (amount === undefined) return undefined
  const paymentId = idAt(object, 'payment_intent')
  const subject: NoticeSubject = {
    ...subjectOf(object, textAt(object, 'id')),
    ...(paymentId === undefined ? {} : { paymentTransactionId: paymentId }),
  }
  const outcome = readRefund(object, asked)
  const before = textAt(event, 'data', 'previous_attributes', 'status')
  if (outcome.kind === 'declined' && before !== 'pending' && before !== 'requires_action') {
    return {
      kind: 'takenBack',
      operation: 'REFUND',
      subject,
      amount,
      detail: detailOfRefund(object),
      provider: outcome.provider,
    }
  }
  return { kind: 'outcome', operation: 'REFUND', subject, amount, outcome }
}

/**
 * A refund without our reference is one made in the dashboard, or Stripe's record of an authorisation released by a
 * partial capture or cancellation. The event does not tell which, so the refunds must be fetched.
 */
function refundEvent(object: Wire, event: Wire): NoticeFact | undefined {
  const fact = refund(object, event)
  const [id, paymentTransactionId] = [idAt(object, 'charge'), idAt(object, 'payment_intent')]
  const isOurs = referenceAt(object) !== undefined || paymentTransactionId === undefined
  if (fact?.kind !== 'outcome' || fact.outcome.kind === 'declined' || isOurs) return fact
  return { kind: 'refunds', subject: { ...(id && { transactionId: id }), paymentTransactionId }, told: fact }
}

/** Only refunds that have not failed; failed ones have their own event. */
export const readRefunds = (refunds: readonly Wire[]): readonly RefundFact[] =>
  refunds
    .filter(one => ['succeeded', 'pending'].includes(textAt(one, 'status') ?? ''))
    .flatMap(one => refund(one, {}) ?? [])

function dispute(object: Wire, event: Wire): NoticeFact | undefined {
  const facts = readDispute(object, textAt(event, 'data', 'previous_attributes', 'status'))
  const paymentId = idAt(object, 'payment_intent')
  const chargeId = idAt(object, 'charge')
  if (facts === undefined) return undefined
  const subject: NoticeSubject = {
    ...(chargeId === undefined ? {} : { transactionId: chargeId }),
    ...(paymentId === undefined ? {} : { paymentTransactionId: paymentId }),
  }
  const detail = detailOfReturn(textAt(object, 'reason') ?? '')
  // Not every dispute names its method. The engine knows whether the payment was a debit.
  if (!isDebitReturn(object))
    return {
      kind: 'dispute',
      subject,
      dispute: facts,
      returnDetail: detail,
      chargedAsDebits: typesStoredAsDebit,
    }
  // A debit's money is gone with the first event; later ones add nothing.
  if (textAt(event, 'type') !== 'charge.dispute.created') return undefined
  return {
    kind: 'return',
    subject,
    amount: facts.amount,
    detail,
    transactionId: facts.providerDisputeId,
  }
}

function report(run: Wire): NoticeFact | undefined {
  const url = textAt(run, 'result', 'url')
  const name = textAt(run, 'report_type')
  return url === undefined || name === undefined ? undefined : { kind: 'report', url, name }
}
