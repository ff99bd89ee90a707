/** Wires the HTTP server of one environment: endpoints, pages, credentials, the API reference. */
import type { MerchantId } from '#domain/ids.ts'
import { webhooks } from '#endpoints/events/webhook-examples.ts'
import { endpoints } from '#endpoints/index.ts'
import type { Services, TestTools } from '#endpoints/services.ts'
import { createAccessTokens } from '#http/authentication/access-token.ts'
import { createIssueToken } from '#http/authentication/issue-token.ts'
import { createFailedLogins } from '#http/authentication/rate-limit.ts'
import { about } from '#http/reference/about.ts'
import { buildOpenApi } from '#http/reference/openapi.ts'
import { referencePages } from '#http/reference/pages.ts'
import { keepServed } from '#http/reference/placeholders.ts'
import type { CallInside } from '#http/server/inside-call.ts'
import type { RawRoute } from '#http/server/raw-routes.ts'
import { createHttpServer, type HttpServer } from '#http/server/server.ts'
import type { AccessRecorder } from '#operations/audit/access-recorder.ts'
import { storedMethodsOf } from '#operations/customers/stored-methods.ts'
import type { Engine } from '#operations/engine.ts'
import { createLookUps } from '#operations/look-ups.ts'
import { retryAfterOf } from '#operations/lost-database.ts'
import { rememberMerchants } from '#operations/merchants/remembered-merchants.ts'
import { createReportRoute } from '#pages/csp-reports.ts'
import { createPageRoutes } from '#pages/routes.ts'
import { formats } from '#schemas/formats.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
import { createEndpointStore } from '#storage/events/endpoints.ts'
import { createEventStore } from '#storage/events/events.ts'
import type { MerchantStore } from '#storage/merchants.ts'
import type { KeyReader } from '#storage/payments/keys.ts'
import { createSettlementStore } from '#storage/providers/settlements.ts'
import { signInventory } from '#vault/inventory-signature.ts'
import type { PageTokens } from '#vault/page-token.ts'
import type { RecordVault } from '#vault/sealed-records.ts'
import { createConsole } from '#wiring/console.ts'
import { findMerchantIn, type Parts } from '#wiring/parts.ts'
export async function createServer(
  parts: Parts & {
    merchants: MerchantStore
    engine: Engine
    changes: Set<(merchantId: string) => void>
    keyReader: KeyReader
    testTools: TestTools
    pageTokens: PageTokens
    access: AccessRecorder
    rawRoutes: readonly RawRoute[]
    records: RecordVault
  },
): Promise<HttpServer> {
  const { keys, merchants, engine, metrics, logger, clock, options, changes, database, testTools } = parts
  const { environment } = options
  const credentials = {
    find: merchants.find,
    findByKeyId: merchants.findByKeyId,
    findByKeyHash: merchants.findByKeyHash,
    onChange: (listener: (merchantId: string) => void) => void changes.add(listener),
  }
  const nowMs = clock.nowMs
  const accessTokens = createAccessTokens({
    key: () => keys.accessToken,
    issuer: 'tollgate',
    audience: `tollgate ${environment}`,
    nowMs,
  })
  // Who may not read a new root secret goes on with the old one; its own loop says so as well.
  const refreshPeppers = () =>
    keys.refresh().catch((err: unknown) => {
      logger.error({ err }, 'the root secret was not read')
      return false
    })
  const issueToken = createIssueToken({
    credentials,
    peppers: () => keys.peppers,
    refreshPeppers,
    accessTokens,
    failedTokenRequests: createFailedLogins({ nowMs, shared: parts.counts.scope('tokens') }),
    watch: parts.access,
    findIntent: (merchantId, id) => engine.intents.exists(merchantId as MerchantId, id),
  })
  const events = {
    store: createEventStore(database),
    endpoints: createEndpointStore(database),
    onEvents: parts.onEvents,
  }
  const services: Services = {
    audit: createAuditStore(database),
    environment,
    engine,
    issueToken,
    testTools,
    events,
    records: parts.records,
    settlements: createSettlementStore(database),
    lookUps: createLookUps(database, {
      ...options,
      storedMethods: options.storedMethods ?? storedMethodsOf(engine.storedMethods),
    }),
  }
  // In live the levers of the test environment do not exist: their paths are unknown ones.
  const served = endpoints.filter(({ testOnly }) => environment === 'test' || !testOnly)
  // Only the address is not known before the port is open, so the pages are made when first asked for.
  let server: HttpServer | undefined
  const origin = (): string => options.publicUrl ?? server?.listeningOrigin ?? ''
  const describe = () =>
    buildOpenApi({ ...about, endpoints: keepServed(served), webhooks, baseUrl: `${origin()}/api/v2` })
  const openedServer = () => {
    if (!server) throw new Error('the console was asked before the server was made')
    return server
  }
  const consoleRoutes =
    options.console === 'off'
      ? []
      : createConsole({
          ...{ database, keys, options, merchants, changes, testTools, origin, counts: parts.counts },
          callInside: Object.assign((...call: Parameters<CallInside>) => openedServer().callInside(...call), {
            stream: (...call: Parameters<CallInside>) => openedServer().callInside.stream(...call),
          }),
        })
  const shared = {
    endpoints: served,
    services,
    credentials,
    peppers: () => keys.peppers,
    refreshPeppers,
    accessTokens,
    watch: parts.access,
    keyStore: parts.keyReader,
    fingerprintKeys: () => keys.fingerprints,
    formats,
    logger,
    metrics,
    readiness: async () => {
      await database.ping()
      return parts.presence.isAlive() ? [] : ['this process was cut off from the database a moment ago']
    },
    readinessDetails: () => ({ webhookFailures: metrics.webhookFailures() }),
    retryAfterOf,
    counts: parts.counts,
    collectMetrics: options.collectMetrics,
    tls: options.tls,
    trustedProxies: options.trustedProxies,
    nowMs,
  }
  const { consolePort } = options
  const pageRoutes = createPageRoutes({
    engine,
    lookUps: services.lookUps,
    audit: services.audit,
    environment,
    findMerchant: rememberMerchants(findMerchantIn(merchants), { nowMs, onChange: credentials.onChange }),
    pageTokens: parts.pageTokens,
    counts: parts.counts,
    secure: options.tls !== undefined || options.trustedProxies !== undefined,
    origin,
    securityContact: options.securityContact,
    signInventory: text => signInventory(keys.pageInventory, text),
  })
  server = await createHttpServer({
    ...shared,
    pages: referencePages(describe),
    rawRoutes: [...parts.rawRoutes, createReportRoute(watchPages(parts))],
    pageRoutes: [...(consolePort === undefined ? consoleRoutes : []), ...pageRoutes],
  })
  if (consolePort !== undefined) {
    const separate = await createHttpServer({ ...shared, endpoints: [], pageRoutes: consoleRoutes })
    const { host } = options.listen ?? { host: '127.0.0.1' }
    server.addHook('onListen', async () => void (await separate.listen({ host, port: consolePort })))
    server.addHook('onClose', async () => separate.close())
  }
  return server
}

/** A violation of a page's policy is worth an alarm: a page of ours loads nothing that its policy forbids. */
const watchPages = ({ metrics, logger, clock }: Pick<Parts, 'metrics' | 'logger' | 'clock'>) => ({
  count: (directive: string) => metrics.countCspReport(directive),
  log: (directive: string, blocked: string) =>
    logger.warn(
      { code: 'CSP_VIOLATION', reason: `${directive} ${blocked}` },
      'a page was made to load something else',
    ),
  nowMs: clock.nowMs,
})
