/**
 * An endpoint is data: verb, path, access, schemas, error format, and a short handler. The server, the OpenAPI
 * document, the reference page and the tests are all built from the same table of endpoints. This folder knows nothing
 * about payments.
 */
import type { Static, TSchema } from 'typebox'
import type { Scope } from '#domain/api-key.ts'
import type { Merchant } from '#domain/merchant.ts'

export type Verb = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/**
 * Which credentials the endpoint accepts. `open`: none. `merchant`: Basic or Bearer.
 * `customer`: those or `X-API-Key`. `intent`: those or the access token of the payment intent named in the path.
 */
export type Access = 'open' | 'merchant' | 'customer' | 'intent'

/** An error in a field that only the endpoint can detect. */
export interface Fault {
  readonly field: string
  readonly message: string
}

/** The error format of an endpoint. dialects.ts renders all of them. */
export type Dialect = 'payment' | 'followUp' | 'customer' | 'service' | 'token'

/** The body of an answer is already JSON text, so that the stored and the sent answer are the same bytes. */
export interface Answer {
  readonly status: number
  readonly json: string
  readonly headers?: Readonly<Record<string, string>>
  /**
   * For answers too long to be held in memory: a stream of what follows `json`. Never with an idempotency key, whose
   * answer is stored as one text. If a piece fails, the connection is cut, so that the client does not take a part for
   * the whole.
   */
  readonly rest?: AsyncIterable<string>
  /** Called once, when the last piece has been sent or the client has stopped reading. */
  readonly onEnd?: () => void
}

export const answer = (status: number, body: unknown, headers?: Record<string, string>): Answer => ({
  status,
  json: JSON.stringify(body),
  ...(headers ? { headers } : {}),
})

/** A key's scope is merchant, verb and path, but not the credential, so that it survives a renewed access token. */
export interface IdempotencyKey {
  readonly verb: Verb
  /** The concrete path relative to the base, for example /payments/0198…/captures. */
  readonly path: string
  readonly key: string
  /** SHA-256 (hex) of the body's canonical JSON. */
  readonly fingerprint: string
  /** The fingerprints of the same body under earlier root secrets; absent if there was only one. */
  readonly earlierFingerprints?: () => readonly string[]
}

export interface Call<Body = unknown, Params = unknown, Query = unknown> {
  readonly merchant: Merchant
  readonly body: Body
  readonly params: Params
  readonly query: Query
  readonly key: IdempotencyKey | undefined
  readonly traceId: string
  /** The client's address, for limits and logs. */
  readonly address: string
  /** The header Accept. */
  readonly accept?: string
  /** Set if the credential is on a customer's device and restricted to this payment intent. */
  readonly intentId?: string | undefined
}

/** A complete, executable example: tests send it and compare the status; the reference shows request and answer. */
export interface Example {
  readonly summary: string
  /** Values of path parameters whose name differs from the field that fills them: `{ id: '{payId}' }`. */
  readonly params?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly query?: Readonly<Record<string, string>>
  readonly status: number
  readonly answer: unknown
  /**
   * Examples that must run before, by operationId (the first one, or `operationId 3` for the third). Placeholders such
   * as `{payId}` in path or body are filled from the fields of their answers.
   */
  readonly after?: readonly string[]
}

export interface Endpoint<Services = never> {
  readonly verb: Verb
  /** Relative to the base, with `{name}` for parameters. */
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tag: string
  /** The operation's own version number, shown in the reference. */
  readonly version: string
  readonly access: Access
  /** The scope that an API key needs; `none` for open endpoints. */
  readonly scope: Scope | 'none'
  readonly idempotent: boolean
  /** Exists in the test environment only. */
  readonly testOnly?: true
  /** Its validation is compiled soon after the start instead of by the first request. */
  readonly frequent?: true
  /** Answers 404 if an object that the body names does not exist. */
  readonly looksUp?: true
  readonly dialect: Dialect
  readonly params?: TSchema
  readonly query?: TSchema
  /**
   * Checks of the query that a schema cannot express. They also run if other members fail the schema, so that one
   * answer names all errors.
   */
  readonly findFaults?: (query: never) => readonly Fault[]
  readonly body?: TSchema
  /** The media type of the body; JSON by default. */
  readonly accepts?: 'application/json' | 'application/x-www-form-urlencoded'
  /** Members of the answer that are omitted if the credential is on a customer's device. */
  readonly hiddenFromDevices?: readonly string[]
  /** Defaults to the server's limit for bodies. */
  readonly bodyBytesMax?: number
  /** Other media types that the endpoint answers with on request (Accept), each with a description. */
  readonly alsoAnswers?: Readonly<Record<string, string>>
  /** Success (and 422) bodies by status; the dialect defines the error bodies. */
  readonly answers: Readonly<Record<number, TSchema>>
  readonly examples: readonly Example[]
  readonly handle: (call: Call<never, never, never>, services: Services) => Promise<Answer>
}

type StaticOr<T> = T extends TSchema ? Static<T> : undefined

/** Infers the handler's types from the schemas. At run time it returns its argument. */
export function endpoint<
  Services,
  B extends TSchema | undefined = undefined,
  P extends TSchema | undefined = undefined,
  Q extends TSchema | undefined = undefined,
>(
  definition: Omit<Endpoint<Services>, 'body' | 'params' | 'query' | 'findFaults' | 'handle'> & {
    readonly body?: B
    readonly params?: P
    readonly query?: Q
    readonly findFaults?: (query: Partial<StaticOr<Q>>) => readonly Fault[]
    readonly handle: (
      call: Call<StaticOr<B>, StaticOr<P>, StaticOr<Q>>,
      services: Services,
    ) => Promise<Answer>
  },
): Endpoint<Services> {
  // The table holds endpoints of all types, so this endpoint's body, path and query types are lost here.
  return definition as unknown as Endpoint<Services>
}
