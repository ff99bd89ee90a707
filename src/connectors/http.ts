/**
 * The HTTP client for providers: keep-alive connections, no redirects, no retries, bounded answers. The important part
 * is the result without an answer: `unreached` only if the request was certainly never sent, otherwise `lost`. Logs
 * nothing.
 */

import type { LookupFunction } from 'node:net'
import type { Agent, Dispatcher } from 'undici'
import type { HttpAnswer, HttpRequest, ProviderHttp } from '#connectors/contract.ts'
import { textAt } from '#domain/json.ts'

export interface ProviderHttpOptions {
  /** Resolves names and refuses forbidden addresses. Defaults to the system's resolver. */
  readonly lookup?: LookupFunction
}

export interface ProviderHttpPool {
  /** With hosts: https to these only, `*.` stands for one label. Without: any address. */
  forHosts(hosts?: readonly string[]): ProviderHttp
  close(): Promise<void>
}

/**
 * 1 MiB: a hundred times the longest answer to a payment. A longer one counts as lost, and its connection is closed.
 */
const answerBytesMax = 1_048_576

/** 10 s: half of a call's time limit, so that a host that drops packets can be distinguished from a slow one. */
const connectMs = 10_000

/** 30 s of silence: providers keep idle connections for a minute or more, and a new one costs three round trips. */
const keepAliveMs = 30_000

/**
 * 512 connections per host: as many payments may wait for a slow provider without queueing. A healthy provider, which
 * answers in 100 ms, needs a tenth of them.
 */
const connectionsMax = 512

export function createProviderHttp({ lookup }: ProviderHttpOptions = {}): ProviderHttpPool {
  let opening: Promise<Agent> | undefined
  // undici is loaded with the first call, because an installation without accounts never needs it.
  const open = (): Promise<Agent> => {
    opening ??= import('undici').then(
      undici =>
        new undici.Agent({
          connect: undici.buildConnector({
            timeout: connectMs,
            allowH2: false,
            ...(lookup ? { lookup } : {}),
          }),
          connections: connectionsMax,
          keepAliveTimeout: keepAliveMs,
          allowH2: false,
          pipelining: 1,
          // The caller's signal bounds the whole exchange.
          headersTimeout: 0,
          bodyTimeout: 0,
        }),
    )
    return opening
  }
  return {
    forHosts: hosts => ({
      async exchange(request, signal) {
        const url = URL.canParse(request.url) ? new URL(request.url) : undefined
        const refusal = url ? refuseUrl(url, hosts) : 'this is not an address'
        if (!url || refusal) return { kind: 'unreached', reason: refusal ?? '' }
        return dispatch(await open(), { url, request, signal })
      },
    }),
    async close() {
      await (await opening)?.destroy()
    },
  }
}

/** Why an address must not be called; undefined: it may be called. */
function refuseUrl(url: URL, hosts: readonly string[] | undefined): string | undefined {
  if (url.username !== '' || url.password !== '') return 'an address must not hold credentials'
  if (hosts === undefined)
    return /^https?:$/.test(url.protocol) ? undefined : `${url.protocol} is not spoken here`
  if (url.protocol !== 'https:') return 'providers are called over https only'
  if (url.port !== '') return `the port ${url.port} is not one of this provider`
  return hosts.some(host => isHost(url.hostname, host))
    ? undefined
    : `${url.hostname} is no host of this provider`
}

/** `*.` stands for one label: `*-live.example.com` is not a pattern, `*.example.com` is. */
export function isHost(hostname: string, pattern: string): boolean {
  if (!pattern.startsWith('*.')) return hostname === pattern
  const [first = '', ...rest] = hostname.split('.')
  return first !== '' && rest.join('.') === pattern.slice(2)
}

interface Exchange {
  readonly url: URL
  readonly request: HttpRequest
  readonly signal: AbortSignal
}

function dispatch(agent: Agent, { url, request, signal }: Exchange): Promise<HttpAnswer> {
  const { promise, resolve } = Promise.withResolvers<HttpAnswer>()
  let controller: Dispatcher.DispatchController | undefined
  let head: { status: number; headers: Record<string, string> } | undefined
  let ended = false
  let bytes = 0
  const bytesMax = request.answerBytesMax ?? answerBytesMax
  const chunks: Buffer[] = []

  const end = (answer: HttpAnswer): void => {
    if (ended) return
    ended = true
    signal.removeEventListener('abort', giveUp)
    resolve(answer)
  }
  /** Undici starts a request only once it has a connection for it; before that, nothing was sent. */
  const fail = (reason: string): void =>
    end(controller ? { kind: 'lost', reason } : { kind: 'unreached', reason })
  const giveUp = (): void => {
    fail('the provider did not answer in time')
    controller?.abort(new Error('the provider did not answer in time'))
  }
  signal.addEventListener('abort', giveUp)
  if (signal.aborted) giveUp()
  if (ended) return promise

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      // The call was aborted while the connection was being opened: drop the request before its first byte.
      if (ended) return void started.abort(new Error('the call had ended before its connection was ready'))
      controller = started
    },
    onResponseStart(_, status, headers) {
      // 1xx is informational; the final answer is still to come.
      if (status >= 200) head = { status, headers: firstValues(headers) }
    },
    onResponseData(_, chunk) {
      bytes += chunk.length
      if (bytes <= bytesMax) return void chunks.push(chunk)
      end({ kind: 'lost', reason: `the answer is longer than ${bytesMax} bytes` })
      controller?.abort(new Error('the answer of the provider is too long'))
    },
    onResponseEnd() {
      if (head) end({ kind: 'answered', ...head, body: Buffer.concat(chunks).toString('utf8') })
      else fail('the connection ended without an answer')
    },
    onResponseError: (_, error) => fail(describe(error)),
  }
  const { origin, pathname, search } = url
  const { verb, headers, body } = request
  agent.dispatch(
    { origin, path: `${pathname}${search}`, method: verb, headers: { ...headers }, body },
    handler,
  )
  return promise
}

const firstValues = (headers: Record<string, string | string[] | undefined>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      const first = Array.isArray(value) ? value[0] : value
      return first === undefined ? [] : [[name.toLowerCase(), first]]
    }),
  )

/** The error's code or message. Socket errors never quote the request. */
function describe(error: Error): string {
  // If all addresses of a host failed, their errors are wrapped in an AggregateError without a message.
  const inner = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error
  const code = textAt(inner, 'code')
  return code ?? (inner.message || inner.name)
}
