/**
 * Wires one environment: database, vault, connectors, engine, server, workers. The process and the tests both start
 * here; nothing below knows how it was put together.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { type Connectors, createConnectors } from '#connectors/registry.ts'
import { createFaultBook, type FaultBook } from '#connectors/simulator/faults.ts'
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
import { createHttpServer, type HttpServer } from '#http/server/server.ts'
import { createLogger, type Logger } from '#http/telemetry/log.ts'
import { createMetrics, type Metrics } from '#http/telemetry/metrics.ts'
import { createTestClock } from '#operations/clock.ts'
import { createEngine } from '#operations/create-engine.ts'
import { type StoredMethods, storedMethodsOf } from '#operations/customers/stored-methods.ts'
import type { Alarm, Clock, CrashPoint, Engine } from '#operations/engine.ts'
import { createEndpointBook, type EndpointBook } from '#operations/events/endpoint-book.ts'
import { openWebhookSecret } from '#operations/events/webhook-secret.ts'
import { createLookUps } from '#operations/look-ups.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'
import { createAdministration, newId } from '#operations/merchants/open-merchants.ts'
import { rememberMerchants } from '#operations/merchants/remembered-merchants.ts'
import { pagePath } from '#pages/page-context.ts'
import { createPageRoutes } from '#pages/routes.ts'
import { formats } from '#schemas/formats.ts'
import { createClockStore } from '#storage/clock.ts'
import { type Database, openDatabase, readDurability } from '#storage/database.ts'
import { createDeliveryStore, type DeliveryStore } from '#storage/events/deliveries.ts'
import { createEndpointStore } from '#storage/events/endpoints.ts'
import { createEventStore } from '#storage/events/events.ts'
import { createInstallation, type Installation } from '#storage/installation.ts'
import { createMerchantStore, type MerchantStore } from '#storage/merchants.ts'
import { createKeyReader, type KeyReader } from '#storage/payments/keys.ts'
import { createQuoteStore } from '#storage/payments/quotes.ts'
import { createWorkFinder } from '#storage/payments/unanswered.ts'
import { type DerivedKeys, openDerivedKeys } from '#vault/key-ring.ts'
import type { MasterKey, MasterRing } from '#vault/master-key.ts'
import { createPageTokens, type PageTokens } from '#vault/page-token.ts'
import { addressPolicies } from '#webhooks/policies.ts'
import { createSender, type Sender } from '#webhooks/send.ts'
import { createDeliveryWorker, type DeliveryWorker } from '#workers/deliver.ts'
import { type Loop, startLoop } from '#workers/loop.ts'
import { createSettleWorker, type SettleWorker } from '#workers/settle.ts'
import { createTimerWorker, type TimerWorker } from '#workers/timers.ts'

export interface GatewayOptions {
  readonly environment: 'test' | 'live'
  /** A database that has been migrated. */
  readonly databaseUrl: string
  /** One key, or a ring that is asked again when a key is not known: the master key may be changed meanwhile. */
  readonly masterKey: MasterKey | MasterRing
  readonly listen?: { readonly host: string; readonly port: number }
  readonly tls?: { readonly cert: string; readonly key: string }
  readonly trustedProxy?: boolean
  /** The origin others see; the listening address unless given. */
  readonly publicUrl?: string
  readonly logLevel?: string
  readonly logDestination?: { write(line: string): void }
  /** For tests and embedders: other time, other providers, a process that dies at a named point. */
  readonly clock?: Clock
  readonly connectors?: Connectors
  readonly testCrash?: CrashPoint
  /** Two decimals: what a quote in the cardholder's currency has on top of the published rate. 3.00 unless given. */
  readonly dccMarkup?: string
  /** How long the simulator takes to answer; 0 unless given. There is none in live. */
  readonly simulatorLatencyMs?: number
  /** Customers' stored cards, for the account updater; none unless given. */
  readonly storedMethods?: StoredMethods
  readonly sender?: Sender
}

export interface Gateway {
  readonly merchants: MerchantAdministration
  readonly engine: Engine
  readonly settleWorker: SettleWorker
  readonly timerWorker: TimerWorker
  readonly deliveryWorker: DeliveryWorker
  /** Settings of the database that would let an acknowledged payment vanish; always empty in live. */
  readonly weakDurability: readonly string[]
  /** Opens the port and starts the workers. Resolves with the origin. */
  listen(): Promise<string>
  /** Readiness goes 503, requests in flight finish, workers stop, connections close. */
  close(): Promise<void>
}

/** The gateway will not start like this; the message says what to change. */
export class GatewayError extends Error {}

/** 1 s: an inquiry is due 10 s after its operation at the earliest; nobody notices one second. */
const duePauseMs = 1_000

/** 30 s: what a dead neighbour left waits 90 s anyway. */
const abandonedPauseMs = 30_000

/** 10 min: keys live for 30 days; a few minutes more harm nobody. */
const reapPauseMs = 600_000

/** 10 s: often enough for a graph of how far deliveries lag behind. */
const lagPauseMs = 10_000

/** 10 s of the 15 s a stop may take; the rest is for the workers and the database. */
const drainMs = 10_000

const realClock: Clock = { nowMs: Date.now, waitMs: milliseconds => delay(milliseconds) }

export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { environment, clock = realClock } = options
  const logger = createLogger({ level: options.logLevel ?? 'info', out: options.logDestination })
  const metrics = createMetrics({ registry: new Registry(), processMetrics: true })
  const database = openDatabase(options.databaseUrl, err =>
    logger.error({ err }, 'an idle database connection broke'),
  )
  try {
    const { durable, weak } = await readDurability(database)
    if (!durable && environment === 'live') {
      throw new GatewayError(
        `the database would lose payments in a crash (${weak.join(', ')}); switch this on for live`,
      )
    }
    const installation = createInstallation(database)
    await claimEnvironment(installation, environment)
    const keys = await openDerivedKeys(options.masterKey, installation)
    const merchants = createMerchantStore(database)
    const faults = createFaultBook()
    const pageTokens = createPageTokens(keys.pageToken)
    const deliveryStore = createDeliveryStore(database)
    const endpointBook = createEndpointBook(createEndpointStore(database))
    await endpointBook.load()
    const deliveryWorker = createDeliveries(
      { keys, logger, metrics, clock, options, endpointBook },
      deliveryStore,
    )
    const onEvents = (): void => deliveryWorker.wake()
    // Only known once the port is open; nothing that needs it can happen before.
    let origin = options.publicUrl ?? ''
    const engine = openEngine({
      database,
      keys,
      metrics,
      logger,
      clock,
      options,
      faults,
      onEvents,
      endpointBook,
      pageAddress: payment => `${origin}${pagePath}${pageTokens.issue(payment)}`,
    })
    const work = createWorkFinder(database)
    const findMerchant = findMerchantIn(merchants)
    const settleWorker = createSettleWorker({ engine, work, findMerchant })
    const timerWorker = createTimerWorker({ engine, finder: work, findMerchant })
    const keyReader = createKeyReader(database)
    const quotes = createQuoteStore(database)
    const changes = new Set<(merchantId: string) => void>()
    const testClock = createTestClock({
      clock,
      store: createClockStore(database),
      findMerchant,
      runDue: async merchantId =>
        (await timerWorker.runDue(merchantId)) + (await deliveryWorker.runDue(merchantId)),
      finishRounds: timerWorker.finishRounds,
      reapKeys: merchantId => keyReader.reap(merchantId),
      onChange: merchantId => {
        for (const listener of changes) listener(merchantId)
      },
    })
    const server = await createServer({
      faults,
      onEvents,
      keyReader,
      testTools: { clock: testClock, faults, keys: keyReader },
      database,
      keys,
      merchants,
      engine,
      metrics,
      logger,
      clock,
      options,
      changes,
      pageTokens,
    })
    let loops: Loop[] = []

    return {
      merchants: createAdministration({
        environment,
        keys,
        merchants,
        endpoints: createEndpointStore(database),
        changes,
      }),
      engine,
      settleWorker,
      timerWorker,
      deliveryWorker,
      weakDurability: weak,
      async listen() {
        // Whoever is alone on the database owns everything that was sent before; nothing new has been sent yet.
        const startedAt = await work.now()
        const alone = await work.claimAlone()
        const { host, port } = options.listen ?? { host: '127.0.0.1', port: 0 }
        const listening = await server.listen({ host, port })
        origin = options.publicUrl ?? listening
        const onError = (err: unknown): void =>
          logger.error({ err, worker: 'settle' }, 'a worker failed; it goes on')
        if (alone) void settleWorker.recover(startedAt).catch(onError)
        if (alone) await deliveryWorker.recover()
        onEvents()
        loops = [
          startLoop(() => timerWorker.runAllDue(), duePauseMs, onError),
          startLoop(() => settleWorker.recoverAbandoned(), abandonedPauseMs, onError),
          startLoop(() => keyReader.reap(), reapPauseMs, onError),
          startLoop(() => engine.customers.deleteUnused(), reapPauseMs, onError),
          startLoop(() => quotes.reap(), reapPauseMs, onError),
          startLoop(async () => onEvents(), duePauseMs, onError),
          startLoop(
            async () => metrics.setWebhookLag(await deliveryStore.readLagSeconds(new Date(clock.nowMs()))),
            lagPauseMs,
            onError,
          ),
        ]
        return origin
      },
      async close() {
        await server.drain(drainMs)
        await Promise.all(loops.map(loop => loop.stop()))
        await deliveryWorker.stop()
        await work.close()
        await database.close()
        logger.flush()
      },
    }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** A database belongs to one environment for good: nothing of test may ever be seen by live, or the other way round. */
async function claimEnvironment(installation: Installation, environment: 'test' | 'live'): Promise<void> {
  const owner = await installation.readOrInsert('environment', environment)
  if (owner !== environment) {
    throw new GatewayError(
      `this database belongs to the ${owner} environment; give ${environment} one of its own`,
    )
  }
}

interface Parts {
  readonly database: Database
  readonly keys: DerivedKeys
  readonly metrics: Metrics
  readonly logger: Logger
  readonly clock: Clock
  readonly options: GatewayOptions
  readonly faults: FaultBook
  /** Told when a commit held events. */
  readonly onEvents: () => void
}

function createDeliveries(
  {
    keys,
    logger,
    metrics,
    clock,
    options,
    endpointBook,
  }: Pick<Parts, 'keys' | 'logger' | 'metrics' | 'clock' | 'options'> & { endpointBook: EndpointBook },
  store: DeliveryStore,
): DeliveryWorker {
  return createDeliveryWorker({
    store,
    sender: options.sender ?? createSender({ policy: addressPolicies[options.environment] }),
    openSecret: (owner, sealed) => openWebhookSecret(keys.webhookSecret, owner, sealed),
    hasEndpoints: () => !endpointBook.isEmpty(),
    onFailed: ({ merchantId, payId, eventId, endpointId }) => {
      metrics.countWebhookFailure()
      logger.error(
        { code: 'WEBHOOK_FAILED', merchantId, payId, eventId, endpointId },
        'an event failed for good; only a replay sends it again',
      )
    },
    clock,
    chance: Math.random,
    onError: err => logger.error({ err, worker: 'deliver' }, 'a delivery failed on our side; it comes back'),
  })
}

function openEngine(parts: Parts & Pick<Engine, 'pageAddress'> & { endpointBook: EndpointBook }): Engine {
  const { database, metrics, logger, clock, options, faults, keys, pageAddress, onEvents } = parts
  return createEngine({
    database,
    keys,
    masterKey: options.masterKey,
    connectors: options.connectors ?? createConnectors(options, faults),
    clock,
    newId,
    pageAddress,
    onBatch: size => metrics.observeBatch(size),
    onEvents,
    endpoints: parts.endpointBook,
    onOutcome: (operation, outcome) => metrics.countOutcome(operation, outcome),
    onAlarm: (alarm: Alarm) => {
      const { code, message, payId, xId, error: err } = alarm
      logger.error({ code, payId, xId, err }, message)
    },
    testCrash: options.testCrash ?? (() => undefined),
  })
}

const findMerchantIn = (store: MerchantStore) => async (merchantId: MerchantId) =>
  (await store.find(merchantId))?.merchant

async function createServer(
  parts: Parts & {
    merchants: MerchantStore
    engine: Engine
    changes: Set<(merchantId: string) => void>
    keyReader: KeyReader
    testTools: TestTools
    pageTokens: PageTokens
  },
): Promise<HttpServer> {
  const { keys, merchants, engine, metrics, logger, clock, options, changes, database, testTools } = parts
  const { environment } = options
  const credentials = {
    find: (merchantId: string) => merchants.find(merchantId),
    findByKeyHash: (keyHash: string) => merchants.findByKeyHash(keyHash),
    onChange: (listener: (merchantId: string) => void) => void changes.add(listener),
  }
  const nowMs = clock.nowMs
  const accessTokens = createAccessTokens({
    key: keys.accessToken,
    issuer: 'tollgate',
    audience: `tollgate ${environment}`,
    nowMs,
  })
  const issueToken = createIssueToken({
    credentials,
    pepper: keys.apiKey,
    accessTokens,
    failedTokenRequests: createFailedLogins({ nowMs }),
    findIntent: (merchantId, id) => engine.intents.exists(merchantId as MerchantId, id),
  })
  const events = {
    store: createEventStore(database),
    endpoints: createEndpointStore(database),
    onEvents: parts.onEvents,
  }
  const services: Services = {
    environment,
    engine,
    issueToken,
    testTools,
    events,
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
    buildOpenApi({ ...about, endpoints: served, webhooks, baseUrl: `${origin()}/api/v2` })
  server = await createHttpServer({
    endpoints: served,
    services,
    credentials,
    pepper: keys.apiKey,
    accessTokens,
    keyStore: parts.keyReader,
    fingerprintKey: keys.fingerprint,
    formats,
    logger,
    metrics,
    readiness: async () => {
      await database.ping()
      return []
    },
    readinessDetails: () => ({ webhookFailures: metrics.webhookFailures() }),
    pages: referencePages(describe),
    pageRoutes: createPageRoutes({
      engine,
      lookUps: services.lookUps,
      environment,
      findMerchant: rememberMerchants(findMerchantIn(merchants), { nowMs, onChange: credentials.onChange }),
      pageTokens: parts.pageTokens,
      secure: options.tls !== undefined || options.trustedProxy === true,
    }),
    tls: options.tls,
    trustProxy: options.trustedProxy,
    nowMs,
  })
  return server
}
