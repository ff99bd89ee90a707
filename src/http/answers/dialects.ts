/**
 * Renders refusals in the format of each dialect, from one table. No other code formats errors of the HTTP layer, so
 * all error texts pass the card number filter here.
 */
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import { describe, internalFault, type ResponseCode, refusalCodes } from '#domain/response-codes.ts'
import { type FieldError, type Refusal, type RefusalKind, refusals } from '#http/answers/refusal.ts'
import type { Answer, Dialect } from '#http/endpoint.ts'

export interface RefusalContext {
  readonly traceId: string
  readonly merchantId?: string | undefined
}

export interface Rendered {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

type Shape = 'problem' | 'codedProblem' | 'field' | 'operation' | 'code' | 'oauth' | 'oauthShort'

/** The refusals of the HTTP layer that have a response code. */
const responseCodes: Partial<Record<RefusalKind, ResponseCode>> = {
  keyReused: describe(refusalCodes.KEY_REUSED),
  fault: describe(internalFault),
}

/** The `error` values of RFC 6749 for the token endpoint, which does not use problem details. */
const oauthWords: Partial<Record<RefusalKind, string>> = {
  unauthenticated: 'invalid_client',
  forbidden: 'access_denied',
  tooMany: 'slow_down',
  unavailable: 'temporarily_unavailable',
}

const problems = {
  invalid: 'problem',
  unauthenticated: 'problem',
  forbidden: 'problem',
  notFound: 'problem',
  wrongVerb: 'problem',
  keyRunning: 'problem',
  tooLarge: 'problem',
  unsupportedMedia: 'problem',
  expectation: 'problem',
  keyReused: 'codedProblem',
  tooMany: 'problem',
  fault: 'problem',
  unavailable: 'problem',
} as const satisfies Record<RefusalKind, Shape>

const shapes: Readonly<Record<Dialect, Readonly<Record<RefusalKind, Shape>>>> = {
  payment: { ...problems, invalid: 'field', keyReused: 'operation', fault: 'code' },
  followUp: { ...problems, keyReused: 'operation', fault: 'code' },
  customer: problems,
  service: { ...problems, fault: 'code' },
  token: {
    invalid: 'oauthShort',
    unauthenticated: 'oauth',
    forbidden: 'oauth',
    notFound: 'oauth',
    wrongVerb: 'oauth',
    keyRunning: 'oauth',
    tooLarge: 'oauth',
    unsupportedMedia: 'oauth',
    expectation: 'oauth',
    keyReused: 'oauth',
    tooMany: 'oauth',
    fault: 'code',
    unavailable: 'oauth',
  },
}

/** The documentation of errors; a relative address, so that it works behind every host name. */
export const errorDocs = '/docs#errors'

/** notFound → not-found: the last part of a problem's type. */
const slugOf = (kind: RefusalKind): string => kind.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)

const groupByField = (errors: readonly FieldError[]): Record<string, string[]> => {
  const grouped = new Map<string, string[]>()
  for (const { field, error } of errors) {
    const messages = grouped.get(field)
    if (messages) messages.push(error)
    else grouped.set(field, [error])
  }
  // fromEntries defines each key as its own property, so a field named __proto__ stays a field.
  return Object.fromEntries(grouped)
}

/**
 * `instance` is deliberately omitted: it would contain the requested address, so that the 404 for another merchant's
 * object would differ from the 404 for an object that never existed. The trace id identifies the occurrence.
 */
const writeProblem = (refusal: Refusal, context: RefusalContext): Record<string, unknown> => ({
  type: `urn:tollgate:problem:${slugOf(refusal.kind)}`,
  title: refusals[refusal.kind].title,
  status: refusal.status,
  detail: refusal.detail,
  traceId: context.traceId,
  ...(refusal.errors.length > 0 ? { errors: groupByField(refusal.errors) } : {}),
})

const writers: Readonly<Record<Shape, (refusal: Refusal, context: RefusalContext) => unknown>> = {
  problem: writeProblem,
  codedProblem: (refusal, context) => ({
    ...writeProblem(refusal, context),
    responseCode: responseCodes[refusal.kind]?.code,
  }),
  // Refusals without a field, such as an unreadable address, concern the whole request.
  field: refusal => refusal.errors[0] ?? { field: 'body', error: refusal.detail },
  operation: (refusal, context) => ({
    merchantId: context.merchantId,
    status: 'FAILED',
    responseCode: responseCodes[refusal.kind]?.code,
    responseDescription: responseCodes[refusal.kind]?.description,
  }),
  code: refusal => ({
    responseCode: responseCodes[refusal.kind]?.code,
    responseDescription: responseCodes[refusal.kind]?.description,
  }),
  oauth: refusal => ({
    error: oauthWords[refusal.kind] ?? 'invalid_request',
    error_description: refusal.detail,
    error_uri: errorDocs,
  }),
  oauthShort: refusal => ({ error: refusal.errors[0]?.error ?? refusal.detail }),
}

const withScrubbedErrors = (refusal: Refusal): Refusal =>
  Object.assign(Object.create(Object.getPrototypeOf(refusal)), refusal, {
    detail: scrubCardNumbers(refusal.detail),
    errors: refusal.errors.map(({ field, error }) => ({
      field: scrubCardNumbers(field),
      error: scrubCardNumbers(error),
    })),
  })

export function renderRefusal(dialect: Dialect, refusal: Refusal, context: RefusalContext): Rendered {
  const shape = shapes[dialect][refusal.kind]
  return {
    status: refusal.status,
    contentType:
      shape === 'problem' || shape === 'codedProblem' ? 'application/problem+json' : 'application/json',
    body: JSON.stringify(writers[shape](withScrubbedErrors(refusal), context)),
  }
}

/**
 * A 422 with problem details. It is an answer of the handler, not a refusal, so that it can be stored under its key and
 * replayed byte for byte.
 */
export function refusedAnswer(responseCode: string, traceId: string): Answer {
  const problem = {
    type: 'urn:tollgate:problem:refused',
    title: 'A rule forbids this request',
    status: 422,
    detail: describe(responseCode).description,
    traceId,
    responseCode,
  }
  return { status: problem.status, json: JSON.stringify(problem) }
}
