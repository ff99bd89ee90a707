/**
 * Routes at the origin for signed requests, such as providers' webhooks: the bytes are passed on unchanged, because the
 * signature covers the bytes and not the parsed content. Knows nothing about payments.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { textsOf } from '#domain/json.ts'
import { Refusal, refuseField } from '#http/answers/refusal.ts'
import { type Rooms, toRefusal } from '#http/server/route.ts'
import { sendBytes, sendRefusal } from '#http/server/send.ts'

export interface RawRequest {
  /** Values of the path's parameters. */
  readonly params: Readonly<Record<string, string>>
  /** Lower-case names; the first value of a repeated header. */
  readonly headers: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface RawAnswer {
  readonly status: number
  readonly contentType: string
  readonly body: string
}

export interface RawRoute {
  readonly verb: 'POST'
  /** With `{name}` for parameters. */
  readonly path: string
  /** A larger body is refused with 413 before it is read. */
  readonly bodyBytesMax: number
  readonly handle: (request: RawRequest) => Promise<RawAnswer>
  /** Called when a body was too large. */
  readonly onTooLarge?: () => void
  /** Called after the answer was sent. */
  readonly afterAnswer?: () => void
}

type Deps = Pick<Rooms<never>, 'sender' | 'logger' | 'retryAfterOf'>

export function addRawRoutes(app: FastifyInstance, routes: readonly RawRoute[], deps: Deps): void {
  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_, bytes, done) => done(null, bytes))
    for (const route of routes) {
      scope.route({
        method: route.verb,
        url: route.path.replace(/\{(\w+)\}/g, ':$1'),
        bodyLimit: route.bodyBytesMax,
        handler: (request, reply) => answerRaw(route, { request, reply }, deps),
        errorHandler: (error, request, reply) => {
          const refusal = refuseUnread(error, route) ?? toRefusal(error, request, deps)
          return sendRefusal(reply, { dialect: 'customer', refusal }, deps.sender)
        },
      })
    }
  })
}

async function answerRaw(
  route: RawRoute,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  deps: Deps,
): Promise<FastifyReply> {
  const { sender } = deps
  try {
    const { status, contentType, body } = await route.handle(readRaw(request))
    const sent = sendBytes(reply, { status, contentType, body, base: sender.security, more: {} }, sender)
    route.afterAnswer?.()
    return sent
  } catch (error) {
    return sendRefusal(reply, { dialect: 'customer', refusal: toRefusal(error, request, deps) }, sender)
  }
}

/** The refusal of a body that could not be read; undefined for other errors. */
function refuseUnread(
  { code, statusCode }: { readonly code?: string; readonly statusCode?: number },
  route: RawRoute,
): Refusal | undefined {
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    route.onTooLarge?.()
    return new Refusal('tooLarge', `The body may have ${route.bodyBytesMax} bytes at most.`)
  }
  return statusCode === 400 ? refuseField('body', 'The body did not arrive completely.') : undefined
}

const readRaw = (request: FastifyRequest): RawRequest => ({
  params: textsOf(request.params),
  headers: textsOf(request.headers),
  query: textsOf(request.query),
  body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
})
