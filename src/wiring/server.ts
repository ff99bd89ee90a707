/** Wires the HTTP server of one environment: endpoints, pages, credentials, the API reference. */
import { definitions } from '#connectors/registry.ts'
import { testRateSource, testRates } from '#connectors/simulator/sandbox.ts'
import { testRanges } from '#connectors/simulator/test-bins.ts'
import { webhooks } from '#endpoints/events/webhook-examples.ts'
import { endpoints } from '#endpoints/index.ts'
import { describedAs } from '#endpoints/method-union.ts'
import type { Services } from '#endpoints/services.ts'
import { type AccessTokens, createAccessTokens } from '#http/authentication/access-token.ts'
import type { ClientCheck, HashKeys } from '#http/authentication/client-check.ts'
import { createIssueToken, type IssueToken } from '#http/authentication/issue-token.ts'
import { createFailedLogins } from '#http/authentication/rate-limit.ts'
import { about } from '#http/reference/document.ts'
import { describeApi } from '#http/reference/openapi.ts'
import { keepServed } from '#http/reference/placeholders.ts'
import { referencePages } from '#http/reference/render-reference.ts'
import type { CallInside } from '#http/server/inside-call.ts'
import { connectionsWithin, limitsOfOne, readOpenFilesMax } from '#http/server/limits.ts'
import type { AccessWatch, Credentials } from '#http/server/ports.ts'
import { createHttpServer, type HttpServer } from '#http/server/server.ts'
import { storedMethodsOf } from '#operations/customers/stored-methods.ts'
import { createLookUps } from '#operations/look-ups.ts'
import { isDatabaseLost, retryAfterOf } from '#operations/lost-database.ts'
import { rememberMerchants } from '#operations/merchants/remembered-merchants.ts'
import { createReportRoute } from '#pages/csp-reports.ts'
import { createPageRoutes } from '#pages/routes.ts'
import { formats } from '#schemas/parts/formats.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
import { createEventStore } from '#storage/events/events.ts'
import { createSettlementStore } from '#storage/providers/settlements.ts'
import { signInventory } from '#vault/inventory-signature.ts'
import { type Cell, perCell } from '#wiring/cell.ts'
import type { Cells } from '#wiring/cells.ts'
import { createConsole } from '#wiring/console.ts'
import { findMerchantIn } from '#wiring/parts.ts'
import { routeNotices, routePages } from '#wiring/routes-by-merchant.ts'
import type { Shared } from '#wiring/shared.ts'

export async function createServer(shared: Shared, cells: Cells): Promise<HttpServer> {
  const { options } = shared
  const { environment, consolePort } = options
  const accessParts = openAccessParts(shared, cells)
  const issueToken = openIssueToken(shared, cells, accessParts)
  const servicesOf = perCell(cell => openServices(cell, { shared, home: cells.home, issueToken }))
  // In live the endpoints of the test tools do not exist.
  const served = endpoints.filter(({ testOnly }) => environment === 'test' || !testOnly)
  // The origin is unknown before the port is open, so the API description is rendered on first request.
  let server: HttpServer | undefined
  const origin = (): string => options.publicUrl ?? server?.listeningOrigin ?? ''
  const describe = () =>
    describeApi({
      ...about,
      endpoints: keepServed(served),
      webhooks,
      describedAs,
      baseUrl: `${origin()}/api/v2`,
    })
  const openedServer = () => {
    if (!server) throw new Error('the console was asked before the server was made')
    return server
  }
  const callInside: CallInside = Object.assign(
    (...call: Parameters<CallInside>) => openedServer().callInside(...call),
    { stream: (...call: Parameters<CallInside>) => openedServer().callInside.stream(...call) },
  )
  const consoleRoutes = options.console === 'off' ? [] : createConsole(shared, cells, { origin, callInside })
  const http = {
    ...toHttpOptions(shared, cells, accessParts),
    endpoints: served,
    limits: {
      ...limitsOfOne(options.workers ?? 1),
      connections: connectionsWithin(readOpenFilesMax()),
      ...options.httpLimits,
    },
    services: servicesOf(cells.home),
    withServices: chooseServices(cells, servicesOf),
  }
  const pageRoutes = routePages(
    cells,
    perCell(cell =>
      openPages(cell, { shared, services: servicesOf(cell), credentials: accessParts.credentials, origin }),
    ),
  )
  server = await createHttpServer({
    ...http,
    pages: referencePages(describe),
    rawRoutes: [routeNotices(cells), createReportRoute(watchPages(shared))],
    pageRoutes: [...(consolePort === undefined ? consoleRoutes : []), ...pageRoutes],
  })
  if (consolePort !== undefined) {
    const separate = await createHttpServer({ ...http, endpoints: [], pageRoutes: consoleRoutes })
    const { host } = options.listen ?? { host: '127.0.0.1' }
    // Not onListen, whose errors Fastify swallows: if another program had the port, our links would lead there.
    server.addHook('onReady', async () => void (await separate.listen({ host, port: consolePort })))
    server.addHook('onClose', async () => separate.close())
  }
  return server
}

/** Authentication and the recording of logins. */
interface AccessParts extends ClientCheck {
  readonly accessTokens: AccessTokens
  readonly watch: AccessWatch
}

function openAccessParts({ options, clock, changes, logger }: Shared, cells: Cells): AccessParts {
  const toHashKeys = ({ keys }: Cell): HashKeys => ({
    peppers: keys.peppers,
    // A process that cannot read a new root secret continues with the old one.
    refresh: async () => {
      await keys.refresh().catch((err: unknown) => {
        logger.error({ err }, 'the root secret could not be read again; this process keeps the one it has')
      })
    },
  })
  const { find, findByKeyId, findByKeyHash } = cells.stores.merchants
  return {
    credentials: { find, findByKeyId, findByKeyHash, onChange: listener => void changes.add(listener) },
    accessTokens: createAccessTokens({
      key: () => cells.home.keys.accessToken,
      issuer: 'tollgate',
      audience: `tollgate ${options.environment}`,
      nowMs: clock.nowMs,
    }),
    watch: watchAccess(cells),
    hashKeysOf: async merchantId =>
      merchantId === undefined
        ? toHashKeys(cells.home)
        : cells.visit(merchantId, async cell => toHashKeys(cell)),
    allHashKeys: () => cells.all().map(toHashKeys),
  }
}

const toHttpOptions = (shared: Shared, cells: Cells, accessParts: AccessParts) => ({
  ...accessParts,
  ...{ formats, retryAfterOf, logger: shared.logger, metrics: shared.metrics, counts: shared.counts },
  nowMs: shared.clock.nowMs,
  keyStore: findKeysIn(cells),
  fingerprintKeys: () => cells.home.keys.fingerprints,
  ...watchHealth(shared, cells),
  collectMetrics: shared.options.collectMetrics,
  tls: shared.options.tls,
  trustedProxies: shared.options.trustedProxies,
})

/** With a single cell, all merchants have the same services and no look-up is needed. */
function chooseServices(cells: Cells, servicesOf: (cell: Cell) => Services) {
  const own = servicesOf(cells.home)
  return <T>(merchantId: string | undefined, work: (services: Services) => Promise<T>): Promise<T> =>
    cells.several && merchantId !== undefined
      ? cells.visit(merchantId, cell => work(servicesOf(cell)))
      : work(own)
}

const findKeysIn = (cells: Cells): Pick<Cell['keyReader'], 'find'> => ({
  find: (merchantId, key) => cells.visit(merchantId, cell => cell.keyReader.find(merchantId, key)),
})

/** Each cell records the uses of its API keys. Failed logins, which may name no merchant, are recorded in cell 0. */
function watchAccess(cells: Cells): AccessWatch {
  const own = cells.home.audit.access
  return {
    onKeyUse(use) {
      if (!cells.several) own.onKeyUse(use)
      else
        void cells
          .visit(use.merchantId, async cell => cell.audit.access.onKeyUse(use))
          // The merchant is being moved; the next use will be recorded.
          .catch(() => undefined)
    },
    onFailedLogin: (client, address) => own.onFailedLogin(client, address),
  }
}

const openIssueToken = ({ clock, counts }: Shared, cells: Cells, accessParts: AccessParts): IssueToken =>
  createIssueToken({
    ...accessParts,
    failedTokenRequests: createFailedLogins({ nowMs: clock.nowMs, shared: counts.scope('tokens') }),
    findIntent: (merchantId, id) =>
      cells.visit(merchantId, ({ engine }) => engine.intents.exists(merchantId, id)),
  })

function openServices(
  cell: Cell,
  { shared, home, issueToken }: { shared: Shared; home: Cell; issueToken: IssueToken },
): Services {
  const { options } = shared
  const { database, engine } = cell
  return {
    audit: createAuditStore(home.database),
    environment: options.environment,
    engine,
    issueToken,
    testTools: { clock: cell.testClock, faults: cell.faults, keys: cell.keyReader },
    events: { store: createEventStore(database), endpoints: cell.endpoints, onEvents: cell.onEvents },
    records: cell.providers.vault,
    settlements: createSettlementStore(database),
    lookUps: createLookUps(database, {
      ...options,
      // Live has imported data only.
      builtIn:
        options.environment === 'test'
          ? { ranges: testRanges, rates: { rates: testRates, source: testRateSource } }
          : undefined,
      storedMethods: options.storedMethods ?? storedMethodsOf(engine.storedMethods),
    }),
  }
}

interface PageParts {
  readonly shared: Shared
  readonly services: Services
  readonly credentials: Credentials
  readonly origin: () => string
}

function openPages(cell: Cell, { shared, services, credentials, origin }: PageParts) {
  const { options, clock, counts } = shared
  return createPageRoutes({
    engine: cell.engine,
    lookUps: services.lookUps,
    audit: services.audit,
    environment: options.environment,
    sites: listSites(options),
    findMerchant: rememberMerchants(findMerchantIn(cell.merchants), {
      nowMs: clock.nowMs,
      onChange: credentials.onChange,
    }),
    pageTokens: cell.pageTokens,
    counts,
    secure: options.tls !== undefined || options.trustedProxies !== undefined,
    origin,
    securityContact: options.securityContact,
    signInventory: text => signInventory(cell.keys.pageInventory, text),
  })
}

/** The paths of our pages for providers without a web site of their own. Test-only providers have none in live. */
function listSites({ environment, definitions: others = [] }: Shared['options']): readonly string[] {
  const served = [...definitions, ...others].filter(
    ({ facts }) => environment === 'test' || facts.testOnly !== true,
  )
  return [...new Set(served.flatMap(({ facts }) => facts.sitePath ?? []))]
}

/**
 * The process is ready while it can serve any cell: a load balancer must not cut off the merchants of one cell because
 * another is unavailable, not even cell 0. For the other cells the heartbeat answers without a query.
 */
const watchHealth = ({ metrics }: Shared, cells: Cells) => ({
  readiness: async () => {
    const { home } = cells
    if (cells.all().some(cell => cell !== home && cell.presence.isAlive())) return []
    try {
      await home.database.ping()
    } catch (error) {
      if (!isDatabaseLost(error)) throw error
      return ['the database cannot be reached, or does not answer']
    }
    return home.presence.isAlive() ? [] : ['this process was cut off from the database a moment ago']
  },
  readinessDetails: () => ({
    webhookFailures: metrics.webhookFailures(),
    ...(cells.several ? { cellsAway: cells.away() } : {}),
  }),
})

/**
 * Reports violations of a page's Content-Security-Policy. Our own pages never violate it, so each one is worth an
 * alarm.
 */
const watchPages = ({ metrics, logger, clock }: Pick<Shared, 'metrics' | 'logger' | 'clock'>) => ({
  count: (directive: string) => metrics.countCspReport(directive),
  log: (directive: string, blocked: string) =>
    logger.warn(
      { code: 'CSP_VIOLATION', reason: `${directive} ${blocked}` },
      'a browser reports that a payment page tried to load something its policy forbids; "tollgate verify-page" checks what is served',
    ),
  nowMs: clock.nowMs,
})
