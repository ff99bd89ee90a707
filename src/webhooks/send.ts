/**
 * One attempt to deliver a message: one POST with one time limit, no redirects, and only the first bytes of the answer
 * are kept. Every result is a value, never an exception.
 */
import type { Agent, Dispatcher } from 'undici'
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import { type AddressPolicy, AddressRefused, refuseUrl } from '#webhooks/policies.ts'
import type { Resolve } from '#webhooks/resolve.ts'

export interface Message {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Sent {
  /** Undefined if there was no answer. */
  readonly status: number | undefined
  /** The first bytes of the answer, or why there is none. */
  readonly answer: string
  readonly retryAfter: string | undefined
  readonly durationMs: number
}

export interface Sender {
  send(message: Message): Promise<Sent>
  /** Aborts attempts under way; they end without an answer. */
  close(): Promise<void>
}

export interface SenderOptions {
  readonly policy: AddressPolicy
  readonly resolve?: Resolve
  readonly limits?: Partial<Limits>
}

export interface Limits {
  readonly attemptMs: number
  readonly bodyMs: number
}

const standardLimits: Limits = {
  /** 15 s by contract, from resolving the name to the last header. */
  attemptMs: 15_000,
  /** 2 s: the status has arrived and decides; the body is for the merchant's information only. */
  bodyMs: 2_000,
}

/** 64 KiB: far above any acknowledgement. The connection of a longer answer is aborted. */
const answerBytesMax = 65_536

/** 1,000 bytes: enough for an error message, and it fits its column whatever the encoding. */
const keptBytes = 1_000

export function createSender(options: SenderOptions): Sender {
  const { policy } = options
  const limits = { ...standardLimits, ...options.limits }
  let opening: Promise<Agent> | undefined
  // Loaded with the first message, because it takes a quarter of an idle gateway's memory.
  const open = (): Promise<Agent> => {
    opening ??= import('#webhooks/connect.ts').then(({ openAgent }) => openAgent(options))
    return opening
  }
  return {
    async send(message) {
      const url = URL.canParse(message.url) ? new URL(message.url) : undefined
      const refusal = url ? refuseUrl(url, policy) : 'this is not an address'
      if (!url || refusal)
        return { status: undefined, answer: `not sent: ${refusal}`, retryAfter: undefined, durationMs: 0 }
      return post(await open(), { url, message, limits })
    },
    async close() {
      await (await opening)?.destroy()
    },
  }
}

interface Posting {
  readonly url: URL
  readonly message: Message
  readonly limits: Limits
}

function post(agent: Agent, { url, message, limits }: Posting): Promise<Sent> {
  const begun = performance.now()
  const { promise, resolve } = Promise.withResolvers<Sent>()
  let controller: Dispatcher.DispatchController | undefined
  let status: number | undefined
  let retryAfter: string | undefined
  let ended = false
  let bytes = 0
  const kept: Buffer[] = []

  const end = (why: string): void => {
    if (ended) return
    ended = true
    clearTimeout(timer)
    const answer = status === undefined ? why : showBytes(Buffer.concat(kept))
    resolve({ status, answer, retryAfter, durationMs: Math.round(performance.now() - begun) })
  }
  const giveUp = (why: string): void => {
    end(why)
    controller?.abort(new Error(why))
  }
  const seconds = limits.attemptMs / 1_000
  let timer = setTimeout(giveUp, limits.attemptMs, `no answer within ${seconds} s`)

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started
      // The attempt timed out while the connection was being opened.
      if (ended) started.abort(new Error('the attempt had ended before its connection was ready'))
    },
    onResponseStart(_, code, headers) {
      // 1xx is informational; the answer follows.
      if (code < 200) return
      status = code
      retryAfter = firstOf(headers['retry-after'])
      clearTimeout(timer)
      timer = setTimeout(giveUp, limits.bodyMs, 'the answer did not end')
    },
    onResponseData(_, chunk) {
      if (bytes < keptBytes) kept.push(chunk.subarray(0, keptBytes - bytes))
      bytes += chunk.length
      if (bytes > answerBytesMax) giveUp('the answer is too long')
    },
    onResponseEnd: () => end(''),
    onResponseError: (_, error) => end(describe(error)),
  }
  const { origin, pathname, search } = url
  const { headers, body } = message
  agent.dispatch({ origin, path: `${pathname}${search}`, method: 'POST', headers, body }, handler)
  return promise
}

const firstOf = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value

/**
 * Text that can be stored and shown: without U+0000, incomplete characters, and card numbers that a receiver echoes.
 */
const showBytes = (bytes: Buffer): string =>
  scrubCardNumbers(bytes.toString('utf8').replaceAll('\u0000', '\ufffd'))

function describe(error: Error): string {
  if (error instanceof AddressRefused) return `not sent: ${error.message}`.slice(0, keptBytes)
  // If all addresses of a host failed, the errors are wrapped in an AggregateError without a message.
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error
  return `no answer: ${describeTls(inner) ?? (inner.message || inner.name)}`.slice(0, keptBytes)
}

/** The message of OpenSSL's errors has addresses of our memory and files; its reason is what a merchant can use. */
const describeTls = (error: Error): string | undefined =>
  'library' in error && 'reason' in error ? `TLS: ${String(error.reason)}` : undefined
