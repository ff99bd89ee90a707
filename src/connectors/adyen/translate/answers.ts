/**
 * Translates Adyen's answers into outcomes. An answer that does not belong to the request, or has an unexpected value,
 * is `unknown`; an error is `declined` only if Adyen certainly did not process the request. Pure.
 */

import { dateAt, isRecord, type Loose, listAt, parseJson, recordAt, textAt } from '#connectors/adyen/loose.ts'
import { type ReadAction, readAction } from '#connectors/adyen/translate/actions.ts'
import { type AdyenAmount, fromAdyenAmount, toAdyenAmount } from '#connectors/adyen/translate/amounts.ts'
import { toFacts } from '#connectors/adyen/translate/provider-facts.ts'
import {
  cancelledByCustomer,
  cancelledByMerchant,
  credentialsRefused,
  detailOfError,
  detailOfRefusal,
  generalDecline,
  isInProgress,
  isUnknownAccount,
  timedOut,
} from '#connectors/adyen/translate/refusals.ts'
import type {
  AuthorizationOutcome,
  CustomerActionOutcome,
  HttpAnswer,
  Outcome,
} from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { Declined } from '#lifecycle/outcome.ts'

/** The request that an answer must match. */
export interface Asked {
  readonly reference: XId
  readonly amount: Money
  /** Set if the request was also to capture. */
  readonly captureReference?: XId
  /** Adyen's reference of the payment, known from an earlier answer. */
  readonly pspReference?: string
  /** The answer is about parameters from the customer's browser, which may belong to another payment. */
  readonly isBrought?: true
}

const echoOf = ({ reference, amount }: Asked) => ({ reference, amount })

const unknown: Outcome = { kind: 'unknown' }

const notUnderstood = (reason: string): Outcome => ({ kind: 'unknown', reason: reason.slice(0, 200) })

/** The body of a 2xx answer, or the outcome that follows from any other answer. */
type Reading = { readonly body: Loose } | { readonly outcome: Outcome }

function readAnswer(answer: HttpAnswer, asked: Asked): Reading {
  if (answer.kind === 'unreached') return { outcome: { kind: 'unreached' } }
  if (answer.kind === 'lost') return { outcome: unknown }
  const body = parseJson(answer.body)
  if (answer.status >= 200 && answer.status < 300) return isRecord(body) ? { body } : { outcome: unknown }
  return { outcome: readError(answer.status, body, asked) }
}

function readError(status: number, body: unknown, asked: Asked): Outcome {
  const errorCode = textAt(body, 'errorCode')
  if (isInProgress(status, errorCode)) return unknown
  // 429: rejected without processing, so the call may be repeated.
  if (status === 429) return { kind: 'unreached' }
  const isRefusedCaller = status === 401 || status === 403 || (status < 500 && isUnknownAccount(errorCode))
  if (!isRefusedCaller && (status < 400 || status >= 500 || errorCode === undefined)) return unknown
  return {
    kind: 'declined',
    detail: isRefusedCaller ? credentialsRefused : detailOfError(errorCode),
    ...(isRefusedCaller ? { callRefused: true } : {}),
    provider: {
      echo: echoOf(asked),
      ...toFacts(body),
      responseCode: errorCode ?? String(status),
      responseText: sayRefusal(status, errorCode, textAt(body, 'message')),
    },
  }
}

/** Names the wrong setting, for readers of the payment record and the log. */
function sayRefusal(status: number, errorCode: string | undefined, message: string | undefined): string {
  if (status === 401) return 'Adyen refused the API key (HTTP 401)'
  if (isUnknownAccount(errorCode)) return `Adyen refused the merchant account (HTTP ${status}, error 901)`
  if (status === 403)
    return `Adyen refused the API key: it lacks a role or access (HTTP 403, error ${errorCode ?? 'not given'})`
  return message ?? `Adyen refused the request (HTTP ${status})`
}

/** Members that Adyen echoes must equal the request; an omitted member proves nothing. */
function belongs(body: Loose, asked: Asked, sent: AdyenAmount | undefined): boolean {
  const reference = textAt(body, 'merchantReference') ?? textAt(body, 'reference')
  const amount = recordAt(body, 'amount')
  return (
    (reference === undefined || reference === asked.reference) &&
    (amount === undefined ||
      sent === undefined ||
      (amount.value === sent.value && amount.currency === sent.currency))
  )
}

/**
 * Whether the answer names our payment: by our reference, or by Adyen's own one if an earlier answer told it. The
 * amount is enough only in the direct answer to our request, because a customer may bring the result of another order
 * of the same amount.
 */
const isEchoed = (body: Loose, { pspReference, isBrought }: Asked): boolean =>
  ['merchantReference', 'reference', ...(isBrought ? [] : ['amount'])].some(
    name => body[name] !== undefined,
  ) ||
  (pspReference !== undefined && textAt(body, 'pspReference') === pspReference)

export function fromPayment(answer: HttpAnswer, asked: Asked): AuthorizationOutcome {
  const reading = readAnswer(answer, asked)
  if ('outcome' in reading) return { authorization: reading.outcome }
  return fromResult(reading.body, asked)
}

/** All fourteen result codes of `/payments` and `/payments/details`; any other one is unknown. */
function fromResult(body: Loose, asked: Asked): AuthorizationOutcome {
  const resultCode = textAt(body, 'resultCode')
  if (resultCode === 'PartiallyAuthorised') return { authorization: partlyApproved(body, asked) }
  if (!belongs(body, asked, toAdyenAmount(asked.amount))) return { authorization: unknown }
  switch (resultCode) {
    case 'Authorised':
      return isEchoed(body, asked)
        ? approved(body, asked)
        : { authorization: notUnderstood('it does not name the payment') }
    case 'Refused':
    case 'Error':
      return { authorization: declined(body, asked, refusalOf(body)) }
    case 'Cancelled':
      return { authorization: declined(body, asked, cancelledByCustomer) }
    case 'Pending':
    case 'Received':
    case 'Success':
      return { authorization: fromWaiting(body, asked) }
    case 'RedirectShopper':
    case 'PresentToShopper':
    case 'IdentifyShopper':
    case 'ChallengeShopper':
      return { authorization: fromAction(body, asked) }
    default:
      // Results of authentication-only requests, which we never make, and codes of later API versions.
      return { authorization: notUnderstood(`resultCode is ${resultCode ?? 'missing'}`) }
  }
}

function approved(body: Loose, asked: Asked): AuthorizationOutcome {
  const facts = toFacts(body)
  const authorization: Outcome = {
    kind: 'approved',
    provider: { echo: echoOf(asked), ...facts, responseCode: facts.responseCode ?? '0' },
  }
  if (asked.captureReference === undefined) return { authorization }
  // Adyen sends no notice of an automatic capture, only CAPTURE_FAILED if it fails.
  const echo = { reference: asked.captureReference, amount: asked.amount }
  return { authorization, capture: { kind: 'approved', provider: { ...facts, echo } } }
}

/** A partial approval: the engine detects it by the smaller echoed amount. */
function partlyApproved(body: Loose, asked: Asked): Outcome {
  const amount = fromAdyenAmount(recordAt(body, 'amount'))
  const reference = textAt(body, 'merchantReference')
  return amount === undefined || reference !== asked.reference
    ? unknown
    : { kind: 'approved', provider: { ...toFacts(body), echo: { reference: asked.reference, amount } } }
}

/** Both members are optional: an answer may have the reason without its code. */
const refusalOf = (body: Loose): string =>
  detailOfRefusal(textAt(body, 'refusalReasonCode'), textAt(body, 'refusalReason'))

const declined = (body: Loose, asked: Asked, detail: string): Declined => ({
  kind: 'declined',
  detail,
  provider: { echo: echoOf(asked), ...toFacts(body) },
})

const pending = (body: Loose, asked: Asked): Outcome => ({
  kind: 'pending',
  provider: { echo: echoOf(asked), ...toFacts(body) },
})

function fromAction(body: Loose, asked: Asked): Outcome | CustomerActionOutcome {
  const read = readAction(recordAt(body, 'action'))
  if (read === 'wait') return pending(body, asked)
  return read === undefined ? unknown : toActionOutcome(read, body, asked)
}

/** "Pending" may come with a QR code or a bank account, which the customer needs to pay. */
function fromWaiting(body: Loose, asked: Asked): Outcome | CustomerActionOutcome {
  const read = readAction(recordAt(body, 'action'))
  return read === undefined || read === 'wait' ? pending(body, asked) : toActionOutcome(read, body, asked)
}

const toActionOutcome = (read: ReadAction, body: Loose, asked: Asked): CustomerActionOutcome => ({
  kind: 'action',
  ...read,
  provider: { echo: echoOf(asked), ...toFacts(body) },
})

/**
 * The answer to a new session. Nothing can be paid on a session before a customer has its address, so a lost answer
 * counts as `unreached`.
 */
export function fromNewSession(answer: HttpAnswer, asked: Asked): AuthorizationOutcome {
  const reading = readAnswer(answer, asked)
  if ('outcome' in reading)
    return { authorization: reading.outcome.kind === 'unknown' ? { kind: 'unreached' } : reading.outcome }
  const { body } = reading
  const [id, url] = [textAt(body, 'id'), textAt(body, 'url')]
  if (id === undefined || url === undefined || !belongs(body, asked, toAdyenAmount(asked.amount)))
    return { authorization: { kind: 'unreached' } }
  const expiresAt = dateAt(body, 'expiresAt')
  return {
    authorization: {
      kind: 'action',
      action: { type: 'redirect', url, verb: 'GET' },
      provider: { echo: echoOf(asked), fields: { sessionId: id } },
      ...(expiresAt === undefined ? {} : { expiresAt }),
    },
  }
}

/**
 * All six states of a session. After an unreadable answer the notice decides. A pending one names the payment whose
 * notice decides, unless there are several.
 */
export function fromSessionResult(answer: HttpAnswer, asked: Asked): AuthorizationOutcome {
  const reading = readAnswer(answer, asked)
  const waiting: AuthorizationOutcome = {
    authorization: { kind: 'pending', provider: { echo: echoOf(asked) } },
  }
  if ('outcome' in reading) return waiting
  const { body } = reading
  if (!belongs(body, asked, undefined)) return waiting
  switch (textAt(body, 'status')) {
    case 'completed':
      return fromSessionPayments(body, asked) ?? waiting
    case 'refused':
      return { authorization: declined(body, asked, generalDecline) }
    case 'canceled':
      return { authorization: declined(body, asked, cancelledByCustomer) }
    case 'expired':
      return { authorization: { ...declined(body, asked, timedOut), pageEnded: true } }
    case 'paymentPending':
      return {
        authorization: { kind: 'pending', provider: { echo: echoOf(asked), ...pendingPayment(body) } },
      }
    default:
      return waiting
  }
}

function pendingPayment(body: Loose): { readonly transactionId?: string } {
  const [only, ...others] = listAt(body, 'payments').filter(payment =>
    ['Received', 'Pending'].includes(textAt(payment, 'resultCode') ?? ''),
  )
  const transactionId = others.length === 0 ? textAt(only, 'pspReference') : undefined
  return transactionId === undefined ? {} : { transactionId }
}

function fromSessionPayments(body: Loose, asked: Asked): AuthorizationOutcome | undefined {
  const paid = listAt(body, 'payments').find(payment => textAt(payment, 'resultCode') === 'Authorised')
  if (!isRecord(paid) || !belongs(paid, asked, toAdyenAmount(asked.amount))) return undefined
  return approved({ ...paid, additionalData: body.additionalData }, asked)
}

/** Modifications are answered `received`; only `amountUpdates` may be decided at once, if Adyen enabled that. */
export function fromModification(answer: HttpAnswer, asked: Asked, sent: AdyenAmount | undefined): Outcome {
  const reading = readAnswer(answer, asked)
  if ('outcome' in reading) return reading.outcome
  const { body } = reading
  if (!belongs(body, asked, sent)) return unknown
  switch (textAt(body, 'status')) {
    case 'received':
      return pending(body, asked)
    case 'authorised':
      return { kind: 'approved', provider: { echo: echoOf(asked), ...toFacts(body) } }
    case 'refused':
      return declined(body, asked, generalDecline)
    default:
      return unknown
  }
}

/** A technical cancel echoes our reference as `paymentReference`; its result comes as a notice. */
export function fromTechnicalCancel(answer: HttpAnswer, asked: Asked): Outcome {
  const reading = readAnswer(answer, asked)
  if ('outcome' in reading) return reading.outcome.kind === 'declined' ? unknown : reading.outcome
  const { body } = reading
  return textAt(body, 'status') === 'received' && textAt(body, 'paymentReference') === asked.reference
    ? { kind: 'pending', provider: { echo: echoOf(asked) } }
    : unknown
}

/** Ending a page: Adyen cancels what may have been paid on it, and we give back what is paid on it later. */
export function fromEndedPage(answer: HttpAnswer, asked: Asked): Outcome {
  const outcome = fromTechnicalCancel(answer, asked)
  return outcome.kind === 'pending'
    ? { kind: 'declined', detail: cancelledByMerchant, provider: outcome.provider }
    : outcome
}
