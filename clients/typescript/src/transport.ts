/** One request to the gateway: signs in, repeats what is safe to repeat under one Idempotency-Key, and reads the answer. */
import { randomUUID } from 'node:crypto'
import {
  AuthenticationError,
  ConnectionError,
  InvalidRequestError,
  NotFoundError,
  PaymentFailedError,
  RateLimitError,
  TollgateError,
  toError,
} from './errors.ts'

export interface TollgateOptions {
  /** As the gateway prints it at its start, such as `https://pay.example.com/api/v2`. */
  readonly baseUrl: string
  readonly merchantId: string
  readonly apiKey: string
  /** How often a request is repeated after a lost answer, 409, 429 or 5xx; 2 unless given. */
  readonly retries?: number
  /** How long one attempt may take; 70 s unless given: the gateway waits up to 60 s for a provider. */
  readonly timeoutMs?: number
  /** The longest pause between two attempts that a `Retry-After` may ask for; 30 s unless given. */
  readonly maxPauseMs?: number
  /** For tests: replaces Node's own. */
  readonly fetch?: typeof globalThis.fetch
  /** For tests: replaces waiting between two attempts. */
  readonly pause?: (milliseconds: number) => Promise<void>
}

export interface CallOptions {
  /** One is made unless given; it stays the same over all retries. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

export interface Request {
  readonly verb: string
  /** With its query. */
  readonly path: string
  readonly body?: unknown
  readonly key?: string
  readonly signal?: AbortSignal
}

/** How a request ended. */
export type Ending<T> = { readonly answer: T } | Unanswered

export interface Unanswered {
  readonly error: TollgateError
  /** An attempt may have taken effect although its answer is missing. */
  readonly unsure: boolean
  /** The caller's signal ended it. */
  readonly aborted?: boolean
}

export interface Transport {
  send<T>(request: Request): Promise<Ending<T>>
}

export const makeKey = (): string => randomUUID()

/** Attempts that end so may be repeated: nothing was decided yet, or the key keeps it from being decided twice. */
const repeatable = new Set([409, 429, 500, 502, 503, 504])

export function createTransport(options: TollgateOptions): Transport {
  const base = readBaseUrl(options.baseUrl)
  const { retries = 2, timeoutMs = 70_000, maxPauseMs = 30_000, fetch: ask = globalThis.fetch } = options
  const pause = options.pause ?? (ms => new Promise<void>(resolve => setTimeout(resolve, ms)))
  const signIn = createSignIn(options, form =>
    ask(`${base}/authorization/oauth/token`, {
      method: 'POST',
      body: form,
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'manual',
    }),
  )

  async function attempt({ verb, path, headers, body, key, signal }: Prepared): Promise<Attempt> {
    const bound = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])])
    // Until there is a token nothing was sent, whatever goes wrong.
    let token: string | undefined
    try {
      const held = await orAborted(signIn.token(), bound)
      bound.throwIfAborted()
      token = held
      const response = await ask(base + path, {
        method: verb,
        headers: { ...headers, authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body }),
        ...{ signal: bound, redirect: 'manual' },
      })
      return { ...(await readAttempt(response, key)), token }
    } catch (cause) {
      const sent = token !== undefined
      return {
        error: cause instanceof TollgateError ? cause : toConnectionError(cause, { key, sent }),
        token,
        aborted: signal?.aborted ?? false,
      }
    }
  }

  async function send<T>(request: Request): Promise<Ending<T>> {
    const prepared = prepare(request)
    let unsure = false
    let renewed = false
    for (let tried = 0; ; tried += 1) {
      const ended = await attempt(prepared)
      if ('answer' in ended) return { answer: ended.answer as T }
      const { error, token, retryAfterSeconds, aborted = false } = ended
      // Without a token the credentials themselves were refused.
      if (error instanceof AuthenticationError && token !== undefined && !renewed) {
        signIn.forget(token)
        renewed = true
        tried -= 1
        continue
      }
      unsure ||= token !== undefined && mayHaveHappened(error)
      if (aborted) return { error, unsure, aborted }
      const waitMs =
        retryAfterSeconds === undefined
          ? 250 * 2 ** tried * (0.75 + Math.random() / 2)
          : retryAfterSeconds * 1_000
      const again = error.status === undefined || repeatable.has(error.status)
      if (!again || tried >= retries || waitMs > maxPauseMs)
        return { error, unsure: unsure && !decides(error) }
      if (!(await isPauseOver(pause(waitMs), request.signal))) return { error, unsure, aborted: true }
    }
  }

  return { send }
}

/** A request as it can be sent. */
interface Prepared extends Omit<Request, 'body'> {
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Throws for what HTTP or JSON cannot carry. Were it found while sending, it would pass for an answer that was lost. */
function prepare({ body, key, ...rest }: Request): Prepared {
  // By the rule of the gateway, which takes off quotes around the key.
  if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new TypeError(
      `idempotencyKey is ${JSON.stringify(key)}, but must be 1 to 255 visible ASCII characters`,
    )
  const headers = {
    accept: 'application/json',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  }
  return {
    ...rest,
    headers,
    ...(key === undefined ? {} : { key }),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
}

/** Rejects as soon as the signal is aborted, and leaves the promise to others who wait for it. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  const { promise: aborted, reject } = withRejection()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** False if the signal ended the pause. */
const isPauseOver = (pause: Promise<void>, signal: AbortSignal | undefined): Promise<boolean> =>
  orAborted(pause, signal).then(
    () => true,
    cause => {
      if (signal?.aborted) return false
      throw cause
    },
  )

/** Node 20 has no Promise.withResolvers. */
function withRejection(): { readonly promise: Promise<never>; readonly reject: (reason: unknown) => void } {
  let reject: (reason: unknown) => void = () => undefined
  const promise = new Promise<never>((_, rejectIt) => {
    reject = rejectIt
  })
  return { promise, reject }
}

type Read =
  | { readonly answer: unknown }
  | { readonly error: TollgateError; readonly retryAfterSeconds?: number }

async function readAttempt(response: Response, key: string | undefined): Promise<Read> {
  const answer = readJson(await response.text())
  if (response.ok && answer !== undefined) return { answer }
  // Something between us and the gateway has answered in its place, or has cut the answer short.
  if (response.ok)
    throw new TypeError('the answer is not JSON', { cause: { code: `HTTP ${response.status}` } })
  const retryAfterSeconds = readRetryAfter(response.headers.get('retry-after'))
  const facts = { idempotencyKey: key, retryAfterSeconds }
  return {
    error: toRedirectError(response, facts) ?? toError(response.status, answer, facts),
    retryAfterSeconds,
  }
}

/**
 * A redirect is not followed: it would turn a POST into a GET, whose answer would pass for that of the payment, or carry card
 * and key to another address.
 */
function toRedirectError(
  { status, headers }: Response,
  { idempotencyKey }: { readonly idempotencyKey?: string | undefined } = {},
): TollgateError | undefined {
  if (status < 300 || status > 399) return undefined
  const target = headers.get('location') ?? 'an unknown address'
  return new TollgateError(
    `The gateway's address redirects to ${target} (HTTP ${status}); baseUrl must be the address itself.`,
    { status, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) },
  )
}

type Attempt =
  | { readonly answer: unknown }
  | {
      readonly error: TollgateError
      /** The access token that it was sent with; undefined if it was not sent, because there was none. */
      readonly token: string | undefined
      readonly retryAfterSeconds?: number
      readonly aborted?: boolean
    }

/**
 * Whether it also settles an earlier attempt whose answer was lost. A refused key or a redirect does not: the gateway may have
 * been reached with that key before.
 */
const decides = (error: TollgateError): boolean =>
  (error instanceof PaymentFailedError ||
    error instanceof InvalidRequestError ||
    error instanceof NotFoundError) &&
  isOfGateway(error)

/** A proxy that finds no gateway behind it answers 404 or 400 as well, but knows nothing about the payment. */
const isOfGateway = (error: TollgateError): boolean =>
  error.traceId !== undefined ||
  error.responseCode !== undefined ||
  (error instanceof InvalidRequestError && Object.keys(error.fields).length > 0)

/** A limit refuses before anything is done; every other ending that may be repeated leaves the outcome open. */
function mayHaveHappened(error: TollgateError): boolean {
  if (error instanceof RateLimitError) return false
  if (error instanceof ConnectionError) return error.arrived
  return error.status !== undefined && repeatable.has(error.status)
}

/** Keeps an access token until a minute before it ends; several calls that need one at once share one request. */
function createSignIn(
  { merchantId, apiKey }: TollgateOptions,
  post: (form: URLSearchParams) => Promise<Response>,
) {
  let held: { readonly token: string; readonly until: number } | undefined
  let under: Promise<string> | undefined

  async function fetchToken(): Promise<string> {
    const form = new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: merchantId,
      client_secret: apiKey,
    })
    const response = await post(form)
    const body = readJson(await response.text())
    if (!response.ok) {
      const retryAfterSeconds = readRetryAfter(response.headers.get('retry-after'))
      // The form is refused with 400 where a header would be refused with 401.
      const status =
        (body as { error?: unknown } | undefined)?.error === 'invalid_client' ? 401 : response.status
      throw toRedirectError(response) ?? toError(status, body, { retryAfterSeconds })
    }
    const { access_token: token, expires_in: seconds } = body as { access_token: string; expires_in: number }
    held = { token, until: Date.now() + (seconds - 60) * 1_000 }
    return token
  }

  return {
    /** Not ended by one caller's signal, because others may wait for the same token. */
    async token(): Promise<string> {
      if (held && Date.now() < held.until) return held.token
      under ??= fetchToken().finally(() => {
        under = undefined
      })
      return under
    },
    /** Unless another call has renewed it since: calls that run at once are all refused with the same token. */
    forget(refused: string): void {
      if (held?.token === refused) held = undefined
    },
  }
}

function readBaseUrl(text: string): string {
  const url = new URL(text)
  const local = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && local))
    throw new TypeError(
      `baseUrl is "${url.origin}", but must be https: cards and keys are sent to it (http only on this machine)`,
    )
  return url.href.replace(/\/$/, '')
}

function readJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1_000))
}

/** Node's codes for a connection that was never made. */
const neverArrived = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

function toConnectionError(
  cause: unknown,
  { key, sent }: { readonly key: string | undefined; readonly sent: boolean },
): ConnectionError {
  const inner = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause
  const code =
    typeof inner === 'object' && inner !== null && 'code' in inner && typeof inner.code === 'string'
      ? inner.code
      : ''
  const arrived = sent && !neverArrived.has(code)
  const reason = code || (cause instanceof Error ? cause.name : 'unknown reason')
  return new ConnectionError(
    arrived ? `The gateway's answer was lost (${reason}).` : `The gateway could not be reached (${reason}).`,
    { cause, arrived, idempotencyKey: key },
  )
}
