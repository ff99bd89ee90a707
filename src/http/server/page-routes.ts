/**
 * HTML pages at the origin. Like endpoints they are data, but they answer in HTML, read forms and need no API
 * credentials. Other rooms make the content; this file only reads requests and writes answers. Knows nothing about
 * payments.
 */

import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { textsOf } from '#domain/json.ts'
import { Refusal } from '#http/answers/refusal.ts'
import { boundaryOf, type Multipart, readForm, readMultipart, type UploadedFile } from '#http/body/form.ts'
import { accepts, pourBytes, type Sender, sendBytes } from '#http/server/send.ts'
import type { Logger } from '#http/telemetry/log.ts'

export interface PageRequest {
  /** Values of the path's parameters. */
  readonly params: Readonly<Record<string, string>>
  /** The fields of the form; empty for GET. Undefined: the body is not a readable form. */
  readonly form: Readonly<Record<string, string>> | undefined
  /** The files of a form with uploads. */
  readonly files?: readonly UploadedFile[]
  /** The form was not read, because it is larger than the route allows. */
  readonly isTooLarge?: boolean
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The client's address. */
  readonly address: string
  /** GET also for HEAD, whose answer is that of GET without the body. */
  readonly verb: string
  /** The first value of a repeated parameter. */
  readonly query: Readonly<Record<string, string>>
  /** The path and query as they were sent. */
  readonly url: string
}

export interface PageAnswer {
  readonly status: number
  readonly contentType?: string
  /** A stream is sent as it is read. */
  readonly body?: string | Buffer | Readable
  readonly headers?: Readonly<Record<string, string>>
}

export interface PageRoute {
  readonly verb: 'GET' | 'POST'
  /** With `{name}` for parameters. */
  readonly path: string
  readonly handle: (request: PageRequest) => Promise<PageAnswer>
  /** The page to show if the handler throws. */
  readonly fail: (request: PageRequest, fault: unknown) => PageAnswer
  readonly upload?: Upload
}

/** A route whose form may contain files. */
export interface Upload {
  readonly bytesMax: number
  /** Whether the visitor may upload files. From others no more is read than the longest text of a form. */
  readonly admits: (headers: PageRequest['headers']) => Promise<boolean>
}

/** 16 KiB: a filled-in form has a few hundred bytes. */
const formBytesMax = 16_384

/** 96 KiB: 20,000 characters of four bytes, the longest text of any form, with the names of its fields. */
export const textBytesMax = 98_304

/** The status for a form that is larger than its route allows. */
const tooLarge = 413

const formType = 'application/x-www-form-urlencoded'

export function addPageRoutes(
  app: FastifyInstance,
  routes: readonly PageRoute[],
  { sender, logger }: { readonly sender: Sender; readonly logger: Logger },
): void {
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(formType, { parseAs: 'buffer' }, (_, bytes, done) => done(null, bytes))
    // Any other body counts as an unreadable form: people get a page, never a bare protocol error.
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_, __, done) => done(null, undefined))
    scope.addContentTypeParser('multipart/form-data', readUpload)
    for (const route of routes) {
      scope.route({
        config: { upload: route.upload },
        method: route.verb,
        url: route.path.replace(/\{(\w+)\}/g, ':$1'),
        bodyLimit: formBytesMax,
        handler: (request, reply) => answerPage(route, { request, reply }, { sender, logger }),
        // A body that cannot be read counts as an unreadable form: the page is shown again.
        errorHandler: (error, request, reply) =>
          answerPage(route, { request, reply, status: error.statusCode }, { sender, logger }),
      })
    }
  })
}

/** Collects the bytes of a form with files, up to the limit of this route and visitor. */
async function readUpload(request: FastifyRequest, payload: Readable): Promise<Multipart | undefined> {
  const { upload } = request.routeOptions.config
  const boundary = boundaryOf(request.headers['content-type'])
  if (!upload || boundary === undefined) return undefined
  const isAdmitted = await upload.admits(textsOf(request.headers))
  const bytesMax = isAdmitted ? upload.bytesMax : Math.min(textBytesMax, upload.bytesMax)
  const chunks: Buffer[] = []
  let length = 0
  // Keep the connection open if the body is not read to its end, because the answer needs it.
  for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
    if (length < bytesMax) chunks.push(chunk.subarray(0, bytesMax - length))
    length += chunk.length
    // Browsers read an answer only after they have sent everything, so we read on, but not for an unauthenticated
    // client.
    if (length > bytesMax && !isAdmitted) break
  }
  if (isAdmitted && length > bytesMax)
    throw Object.assign(new Error('the uploaded files are too large together'), { statusCode: tooLarge })
  return readMultipart(Buffer.concat(chunks), boundary)
}

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Overrides the status of the page. */
  readonly status?: number | undefined
}

async function answerPage(
  route: PageRoute,
  { request, reply, status: given }: Exchange,
  { sender, logger }: { readonly sender: Sender; readonly logger: Logger },
): Promise<FastifyReply> {
  const asked = { ...readRequest(request), isTooLarge: given === tooLarge }
  let answer: PageAnswer
  try {
    answer = await route.handle(asked)
  } catch (err) {
    logger.error(
      { err, traceId: request.trace.traceId },
      'a page could not be made; an error page was shown instead',
    )
    answer = route.fail(asked, err)
  }
  const { contentType = htmlType, headers, status } = answer
  if (answer.body instanceof Readable) {
    const pouring = { status, contentType, body: answer.body, base: sender.security, more: headers }
    await pourBytes(reply, pouring, sender).catch(err =>
      logger.warn({ err, traceId: request.trace.traceId }, 'the client did not read an export to its end'),
    )
    return reply
  }
  const packed = pack({ ...answer, body: answer.body }, asked)
  const more = { ...headers, ...packed.headers }
  const sending = { status: given ?? status, contentType, body: packed.body, base: sender.security, more }
  return sendBytes(reply, sending, sender)
}

const htmlType = 'text/html; charset=utf-8'

/** 1,400 bytes fit into one packet even without compression. */
const packedMin = 1_400

/**
 * The lowest level: a tenth larger than the best one, in a fifth of the time. Compression cannot leak secrets here,
 * because pages have none beside text from outside.
 */
const packing = { level: 1 } as const

/** Pages are rendered each time and compressed on the way; files are stored compressed. */
function pack(
  {
    body = '',
    contentType = htmlType,
  }: { readonly body?: string | Buffer | undefined; readonly contentType?: string },
  { headers }: PageRequest,
): { readonly body: string | Buffer; readonly headers: Readonly<Record<string, string>> } {
  if (contentType !== htmlType || typeof body !== 'string' || body.length < packedMin)
    return { body, headers: {} }
  const vary = 'accept-encoding'
  return accepts(headers['accept-encoding'], 'gzip')
    ? { body: gzipSync(body, packing), headers: { vary, 'content-encoding': 'gzip' } }
    : { body, headers: { vary } }
}

function readBody(body: unknown): Pick<PageRequest, 'form' | 'files'> {
  // Fastify passes on what the parsers above returned: bytes, a parsed form with files, or undefined.
  if (!Buffer.isBuffer(body)) return { form: undefined, ...(body as Multipart | undefined) }
  const form = readForm(body)
  return { form: form instanceof Refusal ? undefined : form }
}

function readRequest(request: FastifyRequest): PageRequest {
  return {
    params: textsOf(request.params),
    ...(request.method === 'POST' ? readBody(request.body) : { form: {} }),
    query: textsOf(request.query),
    headers: textsOf(request.headers),
    address: request.clientAddress,
    url: request.raw.url ?? '/',
    verb: request.method === 'HEAD' ? 'GET' : request.method,
  }
}
