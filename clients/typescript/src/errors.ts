/** What can go wrong, as classes. Each carries the response code, its advice, and what the gateway said. */
import { type Advice, adviceByCode, adviceByDetail, type FailedResult } from './generated.ts'

export interface ErrorFacts {
  readonly status?: number
  readonly responseCode?: string
  readonly traceId?: string
  readonly fields?: Readonly<Record<string, readonly string[]>>
  readonly retryAfterSeconds?: number
  readonly idempotencyKey?: string
  readonly body?: unknown
  readonly cause?: unknown
}

/** What to do about a response code; undefined for one that this version does not know. */
export function adviceFor(responseCode: string | undefined): Advice | undefined {
  if (responseCode === undefined) return undefined
  return (
    adviceByCode[responseCode] ??
    (responseCode.startsWith('2') ? adviceByDetail[responseCode.slice(4)] : undefined)
  )
}

export class TollgateError extends Error {
  override readonly name: string = 'TollgateError'
  /** The HTTP status; absent when there was no answer. */
  readonly status: number | undefined
  /** Eight digits; absent where the gateway gave none. */
  readonly responseCode: string | undefined
  /** What to do next, such as `other card` or `correct the request`. */
  readonly advice: Advice | undefined
  /** Names the call in the gateway's logs. */
  readonly traceId: string | undefined
  /** The key under which the same request may be sent again without taking effect twice. */
  readonly idempotencyKey: string | undefined

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.status = facts.status
    this.responseCode = facts.responseCode
    this.advice = adviceFor(facts.responseCode)
    this.traceId = facts.traceId
    this.idempotencyKey = facts.idempotencyKey
  }
}

/** 400, 413, 415: the request has faults; `fields` names each. */
export class InvalidRequestError extends TollgateError {
  override readonly name = 'InvalidRequestError'
  readonly fields: Readonly<Record<string, readonly string[]>>

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, facts)
    this.fields = facts.fields ?? {}
  }
}

/** 401: merchant id or API key is wrong, revoked or expired. */
export class AuthenticationError extends TollgateError {
  override readonly name = 'AuthenticationError'
}

/** 403: the key may not do this. */
export class PermissionError extends TollgateError {
  override readonly name = 'PermissionError'
}

export class NotFoundError extends TollgateError {
  override readonly name = 'NotFoundError'
}

/** 422: the operation was refused by the gateway or declined by the provider. It is certain that no money moved. */
export class PaymentFailedError extends TollgateError {
  override readonly name = 'PaymentFailedError'
  /** The whole answer. */
  readonly result: Partial<FailedResult>

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, facts)
    this.result = (facts.body ?? {}) as Partial<FailedResult>
  }
}

/** 429, after the retries or when the gateway asks for a longer pause than the client may wait. */
export class RateLimitError extends TollgateError {
  override readonly name = 'RateLimitError'
  readonly retryAfterSeconds: number | undefined

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, facts)
    this.retryAfterSeconds = facts.retryAfterSeconds
  }
}

/** 409 or 5xx, after the retries. */
export class GatewayError extends TollgateError {
  override readonly name = 'GatewayError'
}

/** There was no answer. `arrived` is false when the request certainly never reached the gateway. */
export class ConnectionError extends TollgateError {
  override readonly name = 'ConnectionError'
  readonly arrived: boolean

  constructor(message: string, facts: ErrorFacts & { readonly arrived: boolean }) {
    super(message, facts)
    this.arrived = facts.arrived
  }
}

/** A webhook that this client must not trust. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
}

/** The class for an answer that is not 2xx. */
export function toError(status: number, body: unknown, facts: ErrorFacts): TollgateError {
  const {
    title,
    detail,
    responseDescription,
    error_description,
    responseCode,
    traceId,
    errors,
    field,
    error,
  } = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const named = typeof field === 'string' && typeof error === 'string' ? { [field]: [error] } : undefined
  const fields = named ?? (errors as ErrorFacts['fields'])
  // The texts begin with the names of their fields.
  const faults = fields && Object.values(fields).flat().join(' ')
  const texts = [faults, detail, responseDescription, error_description, title, error]
  const message = texts.find(text => typeof text === 'string' && text !== '')
  const all: ErrorFacts = {
    ...facts,
    status,
    body,
    responseCode: typeof responseCode === 'string' ? responseCode : undefined,
    traceId: typeof traceId === 'string' ? traceId : undefined,
    fields,
  }
  const Kind =
    kinds[status] ?? (status >= 500 ? GatewayError : status === 409 ? GatewayError : InvalidRequestError)
  return new Kind(
    `${message ?? 'The gateway gave no reason.'} (HTTP ${status}${all.responseCode ? `, ${all.responseCode}` : ''})`,
    all,
  )
}

const kinds: Readonly<Record<number, new (message: string, facts?: ErrorFacts) => TollgateError>> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  422: PaymentFailedError,
  429: RateLimitError,
}
