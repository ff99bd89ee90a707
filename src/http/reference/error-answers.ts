/**
 * Describes the errors that an endpoint may answer with, from its dialect and what it accepts: status, body, headers
 * and text. dialects.ts renders them at run time.
 */
import type { TSchema } from 'typebox'
import type { Dialect, Endpoint } from '#http/endpoint.ts'
import type { HeaderObject } from '#http/reference/document.ts'
import { closed, optional } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'
import { fieldError, internalError, problemDetails } from '#schemas/problem.ts'

export interface ErrorAnswer {
  readonly status: number
  /** The name of the shared response in the document. */
  readonly name: string
  readonly description: string
  readonly schema: TSchema
  readonly mediaType: 'application/json' | 'application/problem+json'
  readonly headers: readonly (keyof typeof headers)[]
}

type Described = Omit<ErrorAnswer, 'status' | 'headers' | 'mediaType'> & Partial<Pick<ErrorAnswer, 'headers'>>

/** Response headers that the document describes once. */
export const headers = {
  traceparent: {
    description:
      'The W3C trace context of this request. Its trace id is the `traceId` of problem details and of our logs.',
    schema: { type: 'string', examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'] },
  },
  'X-Api-Version': {
    description: 'The version of the whole interface that answered. It informs; the path selects.',
    schema: { type: 'string', examples: ['2.5.0'] },
  },
  'Idempotent-Replayed': {
    description:
      'Present and `true` when this is the stored answer of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', enum: ['true'] },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'integer', minimum: 1 },
  },
  RateLimit: {
    description: 'What is left of the limit and when it is full again.',
    schema: { type: 'string', examples: ['"merchant";r=0;t=1'] },
  },
  'RateLimit-Policy': {
    description: 'The limit itself: requests per window of seconds.',
    schema: { type: 'string', examples: ['"merchant";q=1000;w=1'] },
  },
  'WWW-Authenticate': {
    description: 'The schemes that open this endpoint.',
    schema: { type: 'string', examples: ['Basic realm="tollgate", charset="UTF-8"'] },
  },
} as const satisfies Record<string, HeaderObject>

/** The error values of RFC 6749 for token endpoints. A 400 has only the value. */
const tokenError = closed(
  {
    error: Type.String({ description: 'A word of RFC 6749, or what is wrong with the form.' }),
    error_description: optional(Type.String({ description: 'The same for people.' })),
    error_uri: optional(Type.String({ description: 'Where to read more.' })),
  },
  { title: 'TokenError', description: 'Why there is no access token.' },
)

const problem = (name: string, description: string): Described => ({
  name,
  description,
  schema: problemDetails,
})

/** One row per status. A dialect with another format has its own row in `spoken`. */
const common: Readonly<Record<number, Described>> = {
  400: problem(
    'Invalid',
    'The request is not well formed or a field is not allowed; `errors` lists every path.',
  ),
  401: {
    ...problem('Unauthorized', 'Credentials are missing, malformed, wrong or expired.'),
    headers: ['WWW-Authenticate'],
  },
  403: problem('Forbidden', 'The credentials are valid but do not give the right to do this.'),
  404: problem('NotFound', 'There is no such object, or it belongs to somebody else: the two look the same.'),
  409: problem(
    'KeyInUse',
    'An earlier request with this `Idempotency-Key` has not ended within 5 seconds; ask again.',
  ),
  413: problem('TooLarge', 'The body is larger than 1 MiB.'),
  415: problem('UnsupportedMediaType', 'The body is not of the media type this operation takes.'),
  422: problem('Refused', 'The request is well formed, but a rule forbids it; `responseCode` says which.'),
  429: {
    ...problem('TooManyRequests', 'More requests than the limit allows; nothing was done.'),
    headers: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
  },
  500: {
    name: 'Failure',
    description: 'Something broke on our side. The key is not burnt.',
    schema: internalError,
  },
  503: {
    ...problem('Unavailable', 'The gateway cannot reach its database or is stopping; nothing was promised.'),
    headers: ['Retry-After'],
  },
}

/** The token endpoint answers in the OAuth format instead of problem details. */
const spokenAsOAuth = Object.fromEntries(
  Object.entries(common)
    .filter(([, described]) => described.schema === problemDetails)
    .map(([status, described]) => [
      status,
      { ...described, name: `Token${described.name}`, schema: tokenError },
    ]),
)

const spoken: Readonly<Record<Dialect, Readonly<Record<number, Described>>>> = {
  payment: {
    400: {
      name: 'InvalidField',
      description:
        'A field is missing or not allowed: `field` is its path, `error` says what is wrong and what is allowed.',
      schema: fieldError,
    },
  },
  followUp: {},
  customer: { 500: problem('CustomerFailure', 'Something broke on our side. The key is not burnt.') },
  service: {},
  token: {
    ...spokenAsOAuth,
    400: {
      name: 'TokenInvalid',
      description: 'A form field is missing or names nothing we know.',
      schema: tokenError,
    },
    401: {
      name: 'TokenRefused',
      description: 'The grant type is not supported or the credentials are wrong.',
      schema: tokenError,
      headers: ['WWW-Authenticate'],
    },
  },
}

/**
 * Dialects whose 422 has problem details. The others answer with the result of the operation, which the endpoint
 * declares.
 */
const refusesWithProblem: readonly Dialect[] = ['customer', 'service']

type AskedEndpoint = Pick<
  Endpoint,
  'dialect' | 'idempotent' | 'access' | 'path' | 'body' | 'answers' | 'looksUp'
>

function possibleStatuses(endpoint: AskedEndpoint): number[] {
  const { access, body, dialect, idempotent, path } = endpoint
  const possible: readonly [number, boolean][] = [
    [400, true],
    [401, access !== 'open' || dialect === 'token'],
    [403, access !== 'open' || dialect === 'token'],
    [404, path.includes('{') || endpoint.looksUp === true],
    [409, idempotent],
    [413, body !== undefined],
    [415, body !== undefined],
    [422, refusesWithProblem.includes(dialect) && (idempotent || dialect === 'service')],
    [429, true],
    [500, true],
    [503, true],
  ]
  // The endpoint's own declaration is more precise than that of its dialect.
  return possible.filter(([status, may]) => may && !(status in endpoint.answers)).map(([status]) => status)
}

export function listErrorAnswers(endpoint: AskedEndpoint): ErrorAnswer[] {
  return possibleStatuses(endpoint).flatMap(status => {
    const described = spoken[endpoint.dialect][status] ?? common[status]
    if (described === undefined) return []
    const mediaType = described.schema === problemDetails ? 'application/problem+json' : 'application/json'
    return [{ ...described, status, mediaType, headers: [...(described.headers ?? []), ...everyAnswer] }]
  })
}

/** Headers that every answer carries, errors included. */
export const everyAnswer = ['traceparent', 'X-Api-Version'] as const
