/**
 * The closed list of refusals of the HTTP layer. A refusal has a status and a text; the endpoint's dialect decides its
 * format (dialects.ts).
 */
export interface FieldError {
  /** Dotted path, for example order.items[0].quantity; `body` for the body as a whole. */
  readonly field: string
  readonly error: string
}

export const refusals = {
  invalid: { status: 400, title: 'The request is not valid' },
  unauthenticated: { status: 401, title: 'Credentials are missing or wrong' },
  forbidden: { status: 403, title: 'These credentials do not open this' },
  notFound: { status: 404, title: 'Nothing is here' },
  wrongVerb: { status: 405, title: 'This address does not take this verb' },
  keyRunning: { status: 409, title: 'The first call with this Idempotency-Key is still running' },
  tooLarge: { status: 413, title: 'The body is too large' },
  unsupportedMedia: { status: 415, title: 'The body has a media type that is not taken here' },
  expectation: { status: 417, title: 'The header Expect asks for something that is not done here' },
  keyReused: { status: 422, title: 'The Idempotency-Key was used with another body' },
  tooMany: { status: 429, title: 'Too many requests' },
  fault: { status: 500, title: 'Something broke on our side' },
  unavailable: { status: 503, title: 'Not available at the moment' },
} as const satisfies Record<string, { readonly status: number; readonly title: string }>

export type RefusalKind = keyof typeof refusals

interface RefusalMore {
  readonly errors?: readonly FieldError[]
  readonly headers?: Readonly<Record<string, string>>
}

/** A class, so that `instanceof` distinguishes it from an answer. Not an Error, because it needs no stack trace. */
export class Refusal {
  readonly kind: RefusalKind
  readonly detail: string
  readonly errors: readonly FieldError[]
  readonly headers: Readonly<Record<string, string>>

  constructor(kind: RefusalKind, detail: string, more: RefusalMore = {}) {
    this.kind = kind
    this.detail = detail
    this.errors = more.errors ?? []
    this.headers = more.headers ?? {}
  }

  get status(): number {
    return refusals[this.kind].status
  }
}

export const refuseInvalid = (errors: readonly FieldError[]): Refusal =>
  new Refusal('invalid', 'One or more fields are not as they must be.', { errors })

export const refuseField = (field: string, error: string): Refusal => refuseInvalid([{ field, error }])

/** The same text for an id that never existed and for another merchant's object. */
export const refuseNotFound = (): Refusal =>
  new Refusal('notFound', 'No such object, or not one that these credentials may see.')

export const refuseFault = (): Refusal =>
  new Refusal('fault', 'The request could not be completed. Quote the trace id when you ask about it.')

export const refuseUnavailable = (retryAfterSeconds: number): Refusal =>
  new Refusal(
    'unavailable',
    'The gateway cannot say whether the request was carried out. Send it again after the time given, with the same Idempotency-Key if it had one.',
    {
      headers: { 'retry-after': String(retryAfterSeconds) },
    },
  )

/** Both challenges, because every endpoint with credentials accepts either scheme. */
const challenges = 'Basic realm="tollgate", charset="UTF-8", Bearer realm="tollgate"'

export const refuseUnauthenticated = (detail: string): Refusal =>
  new Refusal('unauthenticated', detail, { headers: { 'www-authenticate': challenges } })
