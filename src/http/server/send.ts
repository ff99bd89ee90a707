/** Sends answers and refusals with the headers that all answers of this server have. */

import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FastifyReply } from 'fastify'
import { renderRefusal } from '#http/answers/dialects.ts'
import type { Refusal } from '#http/answers/refusal.ts'
import type { Caller } from '#http/authentication/authentication.ts'
import type { Quota } from '#http/authentication/rate-limit.ts'
import type { Answer, Dialect } from '#http/endpoint.ts'
import type { Upload } from '#http/server/page-routes.ts'
import type { Prepared } from '#http/server/route.ts'
import type { Trace } from '#http/server/trace.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Milliseconds of the process clock. */
    arrivedAt: number
    trace: Trace
    /** The client's address, as reported by trusted proxies. */
    clientAddress: string
    caller: Caller | undefined
    quota: Quota | undefined
  }
  interface FastifyContextConfig {
    prepared?: Prepared
    /** Set for a page whose form may contain files. */
    upload?: Upload | undefined
  }
}

export interface Sender {
  /** Headers of every answer. */
  readonly security: Readonly<Record<string, string>>
  /** Headers of every API answer. */
  readonly api: Readonly<Record<string, string>>
  /** New requests should go to another process, although this one still serves. */
  isLeaving(): boolean
  isDraining(): boolean
}

export interface Page {
  readonly contentType: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Informational; the path prefix selects the version. */
const apiVersion = '2.5.0'
/** One year: the minimum for browsers' preload lists. */
const strictTransport = 'max-age=31536000'
/** JSON is never a page. If a browser is tricked into rendering it, nothing may load or run. */
const nothingLoads = "default-src 'none'; frame-ancestors 'none'"
/** For our own pages at the origin: scripts and styles only from our own files, nothing inline, nothing external. */
const ownFilesOnly =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export function createSender(options: {
  secure: boolean
  isLeaving: () => boolean
  isDraining: () => boolean
}): Sender {
  const security = {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy': nothingLoads,
    ...(options.secure ? { 'strict-transport-security': strictTransport } : {}),
  }
  return {
    security,
    // no-store, because answers about money are for the caller only.
    api: { ...security, 'cache-control': 'no-store', 'x-api-version': apiVersion },
    isLeaving: options.isLeaving,
    isDraining: options.isDraining,
  }
}

interface Sending {
  readonly status: number
  readonly contentType: string
  readonly body: string | Buffer
  readonly base: Readonly<Record<string, string>>
  readonly more: Readonly<Record<string, string>> | undefined
}

/**
 * Writes directly to the response, bypassing Fastify's reply: the headers are final and in lower case, and Fastify's
 * bookkeeping for them would cost as much as the validation of a body.
 */
function send(reply: FastifyReply, sending: Sending, sender: Sender): FastifyReply {
  const { quota, trace } = reply.request
  const headers: Record<string, string | number> = {
    ...sending.base,
    'content-type': sending.contentType,
    'content-length': Buffer.byteLength(sending.body),
    traceparent: trace.traceparent,
  }
  if (quota) {
    headers['ratelimit-policy'] = quota.policy
    headers.ratelimit = quota.state
  }
  if (sending.more) Object.assign(headers, sending.more)
  if (sender.isLeaving()) headers.connection = 'close'
  reply.hijack()
  reply.raw.writeHead(sending.status, headers)
  // HEAD: the length of the body, but not the body.
  if (reply.request.method === 'HEAD') reply.raw.end()
  else reply.raw.end(sending.body)
  return reply
}

export const sendAnswer = (reply: FastifyReply, answer: Answer, sender: Sender): FastifyReply =>
  send(
    reply,
    {
      status: answer.status,
      contentType: 'application/json',
      body: answer.json,
      base: sender.api,
      more: answer.headers,
    },
    sender,
  )

/** For callers that set all security headers themselves: HTML pages and their files. */
export const sendBytes = send

/**
 * 60 s without a byte read, detected within another 60 s: a client that stops reading must not hold the resources of a
 * streamed answer.
 */
const stalledMs = 60_000

const endWhenStalled = ({ raw }: FastifyReply): void => {
  // Calls from within the process have no socket; the request that forwards their answer has one.
  if (raw.socket instanceof Socket) raw.socket.setTimeout(stalledMs)
}

/** Like sendBytes, for a stream. Rejects if a piece failed or the client stopped reading. */
export async function pourBytes(
  reply: FastifyReply,
  { status, contentType, body, base, more }: Omit<Sending, 'body'> & { readonly body: Readable },
  sender: Sender,
): Promise<FastifyReply> {
  reply.hijack()
  reply.raw.writeHead(status, {
    ...base,
    'content-type': contentType,
    traceparent: reply.request.trace.traceparent,
    ...more,
    ...(sender.isLeaving() ? { connection: 'close' } : {}),
  })
  endWhenStalled(reply)
  await pipeline(body, reply.raw)
  return reply
}

/** Like sendAnswer, for a streamed answer. Rejects if a piece failed or the client stopped reading. */
export async function pourAnswer(reply: FastifyReply, answer: Answer, sender: Sender): Promise<FastifyReply> {
  const { json, rest = [], status, headers } = answer
  async function* pieces() {
    yield json
    yield* rest
  }
  const { quota, trace } = reply.request
  reply.hijack()
  reply.raw.writeHead(status, {
    ...sender.api,
    'content-type': 'application/json',
    traceparent: trace.traceparent,
    ...(quota ? { 'ratelimit-policy': quota.policy, ratelimit: quota.state } : {}),
    ...headers,
    ...(sender.isLeaving() ? { connection: 'close' } : {}),
  })
  endWhenStalled(reply)
  await pipeline(Readable.from(pieces(), { objectMode: false }), reply.raw)
  return reply
}

export interface Spoken {
  readonly dialect: Dialect
  readonly refusal: Refusal
}

export function sendRefusal(reply: FastifyReply, { dialect, refusal }: Spoken, sender: Sender): FastifyReply {
  const { trace, caller } = reply.request
  const rendered = renderRefusal(dialect, refusal, {
    traceId: trace.traceId,
    merchantId: caller?.merchant.merchantId,
  })
  return send(reply, { ...rendered, base: sender.api, more: refusal.headers }, sender)
}

/** Pages at the origin: health, metrics, reference. */
export function sendPage(
  reply: FastifyReply,
  page: Omit<Page, 'body'> & { readonly body: string | Buffer; readonly status: number },
  sender: Sender,
): FastifyReply {
  const { status, contentType, body } = page
  const policy: Record<string, string> = contentType.startsWith('text/html')
    ? { 'content-security-policy': ownFilesOnly }
    : {}
  return send(
    reply,
    { status, contentType, body, base: sender.security, more: { ...policy, ...page.headers } },
    sender,
  )
}

/** Whether the client accepts a compressed answer. No header means no. */
export function accepts(acceptEncoding: string | undefined, coding: 'gzip' | 'br'): boolean {
  return (acceptEncoding ?? '').split(',').some(part => {
    const [name = '', ...parameters] = part.split(';').map(word => word.trim().toLowerCase())
    // A weight of zero means that it is not accepted.
    return name === coding && !parameters.some(parameter => /^q=0(\.0*)?$/.test(parameter))
  })
}
