/**
 * Answers input that is not a readable HTTP request. This happens below the routes, so the bytes are written directly
 * to the socket, but never where they could be taken for (a part of) the answer to another request.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { renderRefusal } from '#http/answers/dialects.ts'
import { Refusal, refuseField } from '#http/answers/refusal.ts'
import { quoteValue } from '#http/body/json-text.ts'
import type { HttpLimits } from '#http/server/limits.ts'
import { readTrace } from '#http/server/trace.ts'

/** Not imported, because an import evaluates all exports of node:http, including a web client of 10 MB (measured). */
const { STATUS_CODES } = process.getBuiltinModule('node:http')

const statuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** 1 s for a client that is still sending to read our answer: closing with unread bytes would reset the connection. */
const lingerMs = 1_000

type Broken = Error & { readonly code?: string; readonly reason?: unknown; readonly rawPacket?: unknown }
type Response = ServerResponse<IncomingMessage>

/** Node keeps the outstanding answer of a connection in this property; there is no other access to it. */
const owedAnswer = (socket: Socket): Response | undefined =>
  (socket as Socket & { readonly _httpMessage?: Response | null })._httpMessage ?? undefined

type Limits = Pick<HttpLimits, 'headerBytes' | 'headersTimeoutMs' | 'requestTimeoutMs'>

/** What was wrong. The reason is one of the parser's fixed texts and repeats nothing of the request. */
function describeBroken(status: number, { reason }: Broken, limits: Limits): string {
  const { headerBytes, headersTimeoutMs, requestTimeoutMs } = limits
  if (status === 431) return `The address and the headers may have ${headerBytes / 1_024} KiB together.`
  if (status === 408)
    return `The headers must arrive within ${headersTimeoutMs / 1_000} s and the body within ${requestTimeoutMs / 1_000} s.`
  return `This is no readable HTTP/1.1${typeof reason === 'string' && reason !== '' ? `: ${reason}` : ''}.`
}

export function answerBrokenRequest(error: Broken, socket: Socket, limits: Limits): void {
  // More data of a request that was already answered is discarded until the client has received its answer.
  if (socket.writableEnded && error.code !== 'ECONNRESET') return
  const owed = owedAnswer(socket)
  // The error is in a later request, or an answer has already begun: closing the connection tells the client that the
  // outcome is unknown.
  const wouldMix = owed !== undefined && (owed.headersSent || owed.req.complete)
  if (error.code === 'ECONNRESET' || !socket.writable || wouldMix) {
    socket.destroy()
    return
  }
  const status = statuses[error.code ?? ''] ?? 400
  const title = STATUS_CODES[status] ?? 'Bad Request'
  const { traceId, traceparent } = readTrace(undefined)
  const detail = describeBroken(status, error, limits)
  const problem = JSON.stringify({
    type: 'urn:tollgate:problem:broken-request',
    title,
    status,
    detail,
    traceId,
  })
  const body = mayHaveBody(owed, error, socket) ? problem : ''
  socket.end(
    `HTTP/1.1 ${status} ${title}\r\n` +
      `content-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
      `x-content-type-options: nosniff\r\ntraceparent: ${traceparent}\r\nconnection: close\r\n\r\n${body}`,
  )
  const cut = setTimeout(() => socket.destroy(), lingerMs).unref()
  socket.once('close', () => clearTimeout(cut))
}

/**
 * Answers an `Expect` other than 100-continue, which Node handles itself and which is the only one that RFC 9110
 * defines. Node would answer it with an empty 417.
 */
export function answerExpectations(server: Pick<Server, 'on'>): void {
  server.on('checkExpectation', (request: IncomingMessage, response: Response) => {
    const { traceId, traceparent } = readTrace(request.headers.traceparent)
    const refusal = new Refusal('expectation', 'Leave the header Expect out, or send 100-continue.')
    const { status, body, contentType } = renderRefusal('customer', refusal, { traceId })
    response.writeHead(status, {
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      'x-content-type-options': 'nosniff',
      traceparent,
      // The body that follows is not read.
      connection: 'close',
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  })
}

/**
 * Headers that determine the caller and the meaning of a request. If one occurs twice, Node uses the first, but a proxy
 * in front may have used the last.
 */
const onceOnly: ReadonlyMap<string, string> = new Map(
  ['Authorization', 'Host', 'Content-Type', 'X-API-Key', 'Idempotency-Key', 'Origin'].map(name => [
    name.toLowerCase(),
    name,
  ]),
)

/** RFC 9112 requires a request of HTTP/1.1 to name its host. Node would refuse it with an empty answer. */
export const refuseMissingHost = ({ httpVersion, headers }: IncomingMessage): Refusal | undefined =>
  httpVersion === '1.1' && headers.host === undefined
    ? refuseField('Host', 'Host is missing; every request of HTTP/1.1 needs it.')
    : undefined

/**
 * A proxy may see the end of such a request elsewhere than we do and take the rest for another request (request
 * smuggling), so the connection is closed. HTTP/1.0 has no Transfer-Encoding; in HTTP/1.1 Node would pass the bytes of
 * a further coding (`gzip, chunked`) on as if they were the body.
 */
export function refuseCodings(
  { httpVersion, headers }: IncomingMessage,
  response: Response,
): Refusal | undefined {
  const coding = headers['transfer-encoding']
  const isOld = httpVersion === '1.0'
  if (coding === undefined || (!isOld && coding.trim().toLowerCase() === 'chunked')) return undefined
  response.shouldKeepAlive = false
  return refuseField(
    'Transfer-Encoding',
    isOld
      ? 'Transfer-Encoding is not part of HTTP/1.0; send Content-Length.'
      : `Transfer-Encoding is ${quoteValue(coding)}; send chunked alone, or Content-Length.`,
  )
}

/** Refuses a repeated header that may occur only once. */
export function refuseRepeatedHeader(
  request: Pick<IncomingMessage, 'headers' | 'rawHeaders'>,
): Refusal | undefined {
  // rawHeaders holds names and values in turn. In nearly every request each name occurs once, which is quick to check.
  const { rawHeaders } = request
  let names = 0
  for (const _ in request.headers) names += 1
  if (names * 2 === rawHeaders.length) return undefined
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = onceOnly.get(rawHeaders[index]?.toLowerCase() ?? '')
    if (name === undefined) continue
    if (seen.has(name)) return refuseField(name, `${name} stands more than once; send it once.`)
    seen.add(name)
  }
  return undefined
}

/**
 * An answer to HEAD has no body, so a body is sent only if the verb is certainly another one. The verb is known if
 * these are the first bytes of the connection, or if the packet begins like a request.
 */
function mayHaveBody(owed: Response | undefined, { rawPacket }: Broken, { bytesRead }: Socket): boolean {
  if (owed) return owed.req.method !== 'HEAD'
  if (!Buffer.isBuffer(rawPacket)) return false
  const start = rawPacket.toString('latin1', 0, 8)
  return !start.startsWith('HEAD') && (rawPacket.length === bytesRead || /^[A-Z]{3,7} /.test(start))
}
