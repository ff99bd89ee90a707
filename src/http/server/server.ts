/**
 * Creates the HTTP server of one environment from the table of endpoints. Knows nothing about payments, the database or
 * settings.
 */

import type { KeyObject } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerOptions } from 'fastify'
import type { TSchema } from 'typebox'
import { memberOf, textAt } from '#domain/json.ts'
import { Refusal, refuseField } from '#http/answers/refusal.ts'
import type { AccessTokens } from '#http/authentication/access-token.ts'
import { createAuthentication } from '#http/authentication/authentication.ts'
import { readClaimedMerchant } from '#http/authentication/claimed-merchant.ts'
import type { ClientCheck } from '#http/authentication/client-check.ts'
import { createFailedLogins, createRateLimit } from '#http/authentication/rate-limit.ts'
import type { CountExchange } from '#http/authentication/shared-counts.ts'
import { createIdempotency } from '#http/body/idempotency.ts'
import { type MediaType, mediaTypes, readBytes, refuseMedia } from '#http/body/media-type.ts'
import type { Formats } from '#http/body/schema-words.ts'
import { createValidation } from '#http/body/validation.ts'
import type { Endpoint } from '#http/endpoint.ts'
import {
  answerBrokenRequest,
  answerExpectations,
  refuseCodings,
  refuseMissingHost,
  refuseRepeatedHeader,
} from '#http/server/broken-request.ts'
import {
  type FollowedCertificate,
  followCertificate,
  type TlsOptions,
  tlsSettings,
} from '#http/server/certificate.ts'
import {
  type ClientAddresses,
  createClientAddresses,
  type TrustedProxies,
} from '#http/server/client-address.ts'
import { limitConnections } from '#http/server/connection-limits.ts'
import { createDrain } from '#http/server/drain.ts'
import { type CallInside, createCallInside } from '#http/server/inside-call.ts'
import { defaultLimits, type HttpLimits } from '#http/server/limits.ts'
import { createLockstep } from '#http/server/lockstep.ts'
import { addOriginRoutes } from '#http/server/origin-routes.ts'
import { addPageRoutes, type PageRoute } from '#http/server/page-routes.ts'
import type { AccessWatch, KeyStore, RetryAfterOf } from '#http/server/ports.ts'
import { addRawRoutes, type RawRoute } from '#http/server/raw-routes.ts'
import {
  createAdmission,
  createHandler,
  dialectOf,
  prepareEndpoint,
  type Rooms,
  toRefusal,
} from '#http/server/route.ts'
import { createSender, type Page, type Sender, sendRefusal } from '#http/server/send.ts'
import { systemTimers, type Timers } from '#http/server/timers.ts'
import { readTrace } from '#http/server/trace.ts'
import { createUnrouted, isUnrouted, type Routed } from '#http/server/unrouted.ts'
import type { Logger } from '#http/telemetry/log.ts'
import type { Metrics } from '#http/telemetry/metrics.ts'

export interface HttpServerOptions<Services> extends ClientCheck {
  readonly endpoints: readonly Endpoint<Services>[]
  readonly services: Services
  /** For installations with several cells, where a merchant's services depend on its cell. */
  readonly withServices?: Rooms<Services>['withServices']
  readonly basePath?: string
  readonly accessTokens: AccessTokens
  readonly watch: AccessWatch
  readonly keyStore: KeyStore
  /** Keys for the fingerprints of bodies, newest first. Older ones are needed to recognise stored idempotency keys. */
  readonly fingerprintKeys: () => readonly [KeyObject, ...KeyObject[]]
  readonly formats: Formats
  /** Shared schemas that others refer to by $id. */
  readonly schemas?: readonly TSchema[]
  readonly limits?: Partial<HttpLimits>
  readonly logger: Logger
  readonly metrics: Metrics
  readonly readiness: () => Promise<readonly string[]>
  /** Findings for operators, shown with the readiness. */
  readonly readinessDetails?: () => Readonly<Record<string, unknown>>
  readonly retryAfterOf: RetryAfterOf
  /** The counts of other processes for the same limits. Absent: this process is the only one. */
  readonly counts?: CountExchange
  /** The metrics of all processes behind the port. Defaults to those of this process. */
  readonly collectMetrics?: () => Promise<string>
  readonly pages?: Readonly<Record<string, () => Page | Promise<Page>>>
  /** HTML pages. */
  readonly pageRoutes?: readonly PageRoute[]
  /** Routes for signed requests, such as providers' webhooks. */
  readonly rawRoutes?: readonly RawRoute[]
  readonly tls?: TlsOptions | undefined
  /** Proxies in front of us that terminate TLS and are trusted to report the client's address. */
  readonly trustedProxies?: TrustedProxies | undefined
  readonly nowMs: () => number
  readonly timers?: Timers
}

export type HttpServer = FastifyInstance & {
  /** Calls an endpoint from within the process, as a merchant. */
  readonly callInside: CallInside
  /**
   * Graceful shutdown. Announces it (readiness 503, `Connection: close`) and serves for another `serveForMs`, so that a
   * proxy can send its traffic elsewhere. Then refuses new requests, lets those in flight finish, and closes;
   * connections that are still open at the deadline are cut.
   */
  drain(how: { readonly serveForMs: number; readonly deadlineMs: number }): Promise<void>
}

/** 1 KiB: a transId of 64 characters of four percent-encoded bytes each is 768 characters long. */
const pathParameterMax = 1_024

/**
 * 1 s between two checks for connections that exceed their time limits; with Node's default of 30 s they would live
 * four times as long.
 */
const checkingMs = 1_000

/** We validate bodies ourselves. Without this, Fastify loads two compilers that are never used. */
const refuseSchemas = () => () => {
  throw new Error('routes have no schemas of the framework')
}
const withoutSchemas = { compilersFactory: { buildValidator: refuseSchemas, buildSerializer: refuseSchemas } }

type ClientError = Parameters<NonNullable<FastifyServerOptions['clientErrorHandler']>>
type FrameworkErrors = NonNullable<FastifyServerOptions['frameworkErrors']>

function createFastify<Services>(
  { tls, trustedProxies, ...options }: HttpServerOptions<Services>,
  frameworkErrors: FrameworkErrors,
): FastifyInstance {
  const limits = { ...defaultLimits, ...options.limits }
  const common = {
    logger: false,
    bodyLimit: limits.bodyBytes,
    requestTimeout: limits.requestTimeoutMs,
    connectionTimeout: limits.stalledMs,
    keepAliveTimeout: trustedProxies === undefined ? limits.keepAliveHintMs : limits.proxyKeepAliveTimeoutMs,
    // The route refuses requests that arrive while the server closes, in its own dialect.
    return503OnClosing: false,
    forceCloseConnections: 'idle' as const,
    clientErrorHandler: (...[error, socket]: ClientError) => answerBrokenRequest(error, socket, limits),
    frameworkErrors,
    routerOptions: { maxParamLength: pathParameterMax },
    schemaController: withoutSchemas,
  }
  const http = {
    maxHeaderSize: limits.headerBytes,
    connectionsCheckingInterval: checkingMs,
    // We refuse requests without Host ourselves, in the usual format.
    requireHostHeader: false,
  }
  const handshakeTimeout = limits.headersTimeoutMs
  const app = tls
    ? Fastify({
        ...common,
        https: { key: tls.key, cert: tls.cert, ...tlsSettings, ...http, handshakeTimeout },
      })
    : Fastify({ ...common, http })
  app.server.headersTimeout = limits.headersTimeoutMs
  if (trustedProxies === undefined)
    app.server.keepAliveTimeoutBuffer = limits.keepAliveTimeoutMs - limits.keepAliveHintMs
  app.server.maxConnections = limits.connections
  // Fastify has different types for servers with and without TLS; the routes use only what both have.
  return app as unknown as FastifyInstance
}

/** Fastify's own errors about a request, as refusals. */
const frameworkRefusals: Readonly<Record<string, (request: FastifyRequest) => Refusal>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ({ routeOptions: { bodyLimit = defaultLimits.bodyBytes } }) =>
    new Refusal('tooLarge', `The body may have ${nameBytes(bodyLimit)} at most.`),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: request => refuseMedia(request.headers, takenBy(request)),
  FST_ERR_CTP_INVALID_TYPE: request => refuseMedia(request.headers, takenBy(request)),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    refuseField('body', 'The body is not as long as Content-Length says.'),
  FST_ERR_BAD_URL: () =>
    refuseField('path', 'The path is not readable; percent signs must be followed by UTF-8.'),
  FST_ERR_MAX_PARAM_LENGTH: () =>
    refuseField('path', `A part of the path is too long; allowed are ${pathParameterMax} characters.`),
}

const nameBytes = (bytes: number): string =>
  bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : `${bytes / 1_024} KiB`

const takenBy = ({ routeOptions }: FastifyRequest): MediaType =>
  routeOptions.config.prepared?.endpoint.accepts ?? 'application/json'

const createSetUp =
  (addresses: ClientAddresses) =>
  (request: FastifyRequest): void => {
    request.arrivedAt = performance.now()
    request.trace = readTrace(request.headers.traceparent)
    request.clientAddress = addresses.find(request.socket.remoteAddress, request.headers['x-forwarded-for'])
  }

function refuseFrameworkError(
  error: unknown,
  request: FastifyRequest,
  faults: Pick<HttpServerOptions<never>, 'logger' | 'retryAfterOf'>,
): Refusal {
  // Anything may have been thrown; only Fastify's errors have these members.
  const code = textAt(error, 'code')
  const statusCode = memberOf(error, 'statusCode')
  const known = code === undefined ? undefined : frameworkRefusals[code]
  if (known) return known(request)
  // The connection broke while the body was read. The client cannot receive this answer, and it is no error of ours.
  if (statusCode === 400) return refuseField('body', 'The body did not arrive completely.')
  return toRefusal(error, request, faults)
}

const quietRoutes = ['/health/live', '/health/ready', '/metrics']

/**
 * One log line and one count per request, with the route's pattern: an address may hold data that must not be logged.
 */
function addAccessLog(app: FastifyInstance, logger: Logger, metrics: Metrics): void {
  app.addHook('onResponse', (request, reply, done) => {
    const { config } = request.routeOptions
    const endpoint = config.prepared?.endpoint
    const durationMs = performance.now() - request.arrivedAt
    const operationId = endpoint?.operationId ?? (request.is404 ? 'unrouted' : 'origin')
    metrics.countRequest(operationId, reply.statusCode, durationMs / 1000)
    const line = {
      traceId: request.trace.traceId,
      verb: request.method,
      route: request.is404 ? 'none' : config.url,
      status: reply.statusCode,
      durationMs: Math.round(durationMs * 1000) / 1000,
      address: request.clientAddress,
      merchantId: request.caller?.merchant.merchantId,
      claimedMerchantId: reply.statusCode === 401 ? claimOf(request) : undefined,
      operationId,
    }
    // Health probes come every second and matter only if they fail.
    if (quietRoutes.includes(config.url) && reply.statusCode < 500) logger.debug(line, 'request')
    else logger.info(line, 'request')
    done()
  })
}

const claimOf = ({ headers, body, routeOptions }: FastifyRequest): string | undefined =>
  readClaimedMerchant(
    headers.authorization,
    routeOptions.config.prepared?.endpoint.dialect === 'token' && Buffer.isBuffer(body) ? body : undefined,
  )

function addEndpoints<Services>(
  app: FastifyInstance,
  rooms: Rooms<Services>,
  options: EndpointOptions<Services>,
): void {
  for (const mediaType of mediaTypes) {
    app.register(async scope => {
      readBytes(scope, mediaType)
      for (const endpoint of options.endpoints) {
        if ((endpoint.accepts ?? 'application/json') !== mediaType) continue
        const prepared = prepareEndpoint(endpoint, rooms.validation)
        scope.route({
          method: endpoint.verb,
          ...(endpoint.bodyBytesMax === undefined ? {} : { bodyLimit: endpoint.bodyBytesMax }),
          url: options.basePath + endpoint.path.replace(/\{(\w+)\}/g, ':$1'),
          config: { prepared },
          onRequest: createAdmission(prepared, rooms),
          handler: createHandler(prepared, rooms),
        })
      }
    })
  }
}

function guardConnections<Services>(
  { server }: FastifyInstance,
  { limits, metrics, timers = systemTimers }: HttpServerOptions<Services>,
  addresses: ClientAddresses,
): void {
  const { openPerAddress, idlePerAddress, keepAliveTimeoutMs, pipelinedPerConnection } = {
    ...defaultLimits,
    ...limits,
  }
  limitConnections({
    server,
    addresses,
    timers,
    limits: {
      openPerAddress,
      idlePerAddress,
      idleMs: keepAliveTimeoutMs,
      pipelined: pipelinedPerConnection,
    },
    onDrop: reason => metrics.countDroppedConnection(reason),
  })
}

interface EndpointOptions<Services> {
  readonly endpoints: readonly Endpoint<Services>[]
  readonly basePath: string
}

function createRooms<Services>(options: HttpServerOptions<Services>, sender: Sender): Rooms<Services> {
  const { keyStore, fingerprintKeys, nowMs, timers = systemTimers } = options
  const failedLogins = createFailedLogins({ nowMs, shared: options.counts?.scope('logins') })
  return {
    withServices: options.withServices ?? ((_, work) => work(options.services)),
    authentication: createAuthentication({ ...options, failedLogins }),
    rateLimit: createRateLimit({ nowMs, shared: options.counts?.scope('requests') }),
    idempotency: createIdempotency({ keyStore, fingerprintKeys, nowMs, timers }),
    validation: createValidation(options),
    joinTurn: createLockstep(),
    logger: options.logger,
    sender,
    retryAfterOf: options.retryAfterOf,
  }
}

const addCertificate = (
  details: Readonly<Record<string, unknown>> | undefined,
  certificate: FollowedCertificate | undefined,
) => (certificate ? { ...details, certificateEndsAt: certificate.endsAt() } : details)

export async function createHttpServer<Services>(options: HttpServerOptions<Services>): Promise<HttpServer> {
  const { endpoints, basePath = '/api/v2', logger, metrics, readiness, pages = {} } = options
  const { pageRoutes = [], rawRoutes = [] } = options
  let leaving = false
  let draining = false
  let certificate: FollowedCertificate | undefined
  const secure = options.tls !== undefined || options.trustedProxies !== undefined
  const addresses = createClientAddresses(options.trustedProxies)
  const setUp = createSetUp(addresses)
  const sender = createSender({ secure, isLeaving: () => leaving, isDraining: () => draining })
  const app = createFastify(options, (error, request, reply) => {
    setUp(request)
    sendRefusal(
      reply,
      { dialect: 'customer', refusal: refuseFrameworkError(error, request, options) },
      sender,
    )
  })
  const rooms = createRooms(options, sender)

  for (const name of ['trace', 'caller', 'quota', 'arrivedAt', 'clientAddress'])
    app.decorateRequest(name, undefined)
  const originPaths = addOriginRoutes(app, {
    ...{ logger, readiness, pages, sender },
    readinessDetails: () => addCertificate(options.readinessDetails?.(), certificate),
    metricsType: metrics.registry.contentType,
    collectMetrics: options.collectMetrics ?? (() => metrics.registry.metrics()),
  })
  const routes: Routed[] = [
    ...endpoints.map(({ verb, path, dialect }) => ({ verb, path: basePath + path, dialect })),
    ...originPaths.map(path => ({ verb: 'GET', path, dialect: 'customer' as const })),
    ...[...pageRoutes, ...rawRoutes].map(({ verb, path }) => ({ verb, path, dialect: 'customer' as const })),
  ]
  const answerUnrouted = createUnrouted(routes, { basePath, sender })
  app.addHook('onRequest', (request, reply, done) => {
    setUp(request)
    const { raw } = request
    const refusal = refuseMissingHost(raw) ?? refuseCodings(raw, reply.raw) ?? refuseRepeatedHeader(raw)
    if (refusal) sendRefusal(reply, { dialect: dialectOf(request), refusal }, sender)
    else if (isUnrouted(request, originPaths)) answerUnrouted(request, reply)
    else done()
  })
  app.setErrorHandler((error, request, reply) => {
    const refusal = refuseFrameworkError(error, request, options)
    return sendRefusal(reply, { dialect: dialectOf(request), refusal }, sender)
  })
  addAccessLog(app, logger, metrics)
  guardConnections(app, options, addresses)
  answerExpectations(app.server)
  addEndpoints(app, rooms, { endpoints, basePath })
  addRawRoutes(app, rawRoutes, rooms)
  addPageRoutes(app, pageRoutes, { sender, logger })
  app.addHook('onListen', async () => rooms.validation.warmUp())

  const timers = options.timers ?? systemTimers
  if (options.tls) certificate = followCertificate(app, options.tls, { ...options, timers })
  const drain = createDrain(app, timers)
  app.decorate('callInside', createCallInside(app, basePath))
  app.decorate('drain', async ({ serveForMs, deadlineMs }: Parameters<HttpServer['drain']>[0]) => {
    leaving = true
    if (serveForMs > 0) await new Promise<void>(resolve => timers.after(serveForMs, resolve))
    draining = true
    await drain(deadlineMs)
  })
  await app.after()
  // The decorators above add these members at run time, which Fastify's type does not show.
  return app as unknown as HttpServer
}
