/**
 * Wires one environment: database, vault, connectors, engine, server, workers. The process and the tests both start
 * here; nothing below knows how it was put together.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { type FaultRule, shareFaults } from '#connectors/simulator/faults.ts'
import { createCountExchange } from '#http/authentication/shared-counts.ts'
import { createLogger } from '#http/telemetry/log.ts'
import { createMetrics } from '#http/telemetry/metrics.ts'
import { openAudit } from '#operations/audit/open-audit.ts'
import type { Bank } from '#operations/bank/bank.ts'
import { createTestClock } from '#operations/clock.ts'

import { createRetentionWorker } from '#operations/customers/erase-payments.ts'

import { applyDisputeNotice } from '#operations/disputes/dispute-book.ts'

import type { Clock, Engine } from '#operations/engine.ts'
import { createEndpointBook } from '#operations/events/endpoint-book.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'
import { createAdministration } from '#operations/merchants/open-merchants.ts'
import { createApplyNotice } from '#operations/payments/apply-notice.ts'
import { pagePath, returnPath } from '#pages/page-context.ts'
import { createClockStore } from '#storage/clock.ts'
import {
  type Database,
  hasSessionSettings,
  isRefusedByPooler,
  openDatabase,
  readDurability,
} from '#storage/database.ts'
import { createDeliveryStore } from '#storage/events/deliveries.ts'
import { createEndpointStore } from '#storage/events/endpoints.ts'
import { createInstallation, type Installation } from '#storage/installation.ts'
import { createMerchantStore } from '#storage/merchants.ts'
import { createKeyReader } from '#storage/payments/keys.ts'
import { createQuoteStore } from '#storage/payments/quotes.ts'
import { createWorkFinder } from '#storage/payments/unanswered.ts'
import { createLimitUseStore } from '#storage/processes/limit-uses.ts'
import { openPresence } from '#storage/processes/presence.ts'
import { createFaultStore } from '#storage/providers/ordered-faults.ts'
import { openDerivedKeys } from '#vault/key-ring.ts'
import { createPageTokens } from '#vault/page-token.ts'
import { createBank } from '#wiring/bank.ts'
import { createDeliveries, openEngine } from '#wiring/engine.ts'
import { startLoops } from '#wiring/loops.ts'
import { findMerchantIn, type GatewayOptions } from '#wiring/parts.ts'
import { type NoticeWork, startNotices, startProviders } from '#wiring/providers.ts'
import { createServer } from '#wiring/server.ts'
import type { DeliveryWorker } from '#workers/deliver.ts'
import type { Loop } from '#workers/loop.ts'
import { createSettleWorker, type SettleWorker } from '#workers/settle.ts'
import { createTimerWorker, type TimerWorker } from '#workers/timers.ts'

export type { GatewayOptions } from '#wiring/parts.ts'

export interface Gateway {
  readonly merchants: MerchantAdministration
  readonly engine: Engine
  /** Files for banks and files of banks. */
  readonly bank: Bank
  readonly settleWorker: SettleWorker
  readonly timerWorker: TimerWorker
  readonly deliveryWorker: DeliveryWorker
  readonly notices: NoticeWork
  /** What would let an acknowledged payment vanish; in live at most a standby that commits do not wait for. */
  readonly weakDurability: readonly string[]
  /** Opens the port and starts the workers. Resolves with the origin. */
  listen(): Promise<string>
  /** For a process that reports its metrics to another one. */
  readonly metrics: Registry
  /** Readiness goes 503, requests are served for that long, workers stop, connections close. */
  close(serveForMs?: number): Promise<void>
}

/** The gateway will not start like this; the message says what to change. */
export class GatewayError extends Error {}

/** 10 s of the 15 s a stop may take; the rest is for the workers and the database. */
const drainMs = 10_000

const realClock: Clock = { nowMs: Date.now, waitMs: milliseconds => delay(milliseconds) }

export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { environment, clock = realClock } = options
  const logger = createLogger({
    level: options.logLevel ?? 'info',
    out: options.logDestination,
    worker: options.worker,
  })
  const metrics = createMetrics({ registry: new Registry(), processMetrics: true })
  const changes = new Set<(merchantId: string) => void>()
  const onMerchantChange = (merchantId: string): void => {
    for (const listener of changes) listener(merchantId)
  }
  const announcements: (() => Promise<void>)[] = []
  const counts = createCountExchange()
  const presence = await openPresence(options.databaseUrl, {
    onError: err => logger.error({ err }, 'the heartbeat of this process was not written'),
    onMerchantChange,
    onAnnouncement: async () => {
      for (const listener of announcements) await listener()
    },
  })
  const database = openDatabase(
    options.databaseUrl,
    err => logger.error({ err }, 'an idle database connection broke'),
    { silenceMs: options.databaseSilenceMs, process: presence.process },
  )
  try {
    const weak = await checkDatabase(database, presence.process, environment)
    const installation = createInstallation(database)
    await claimEnvironment(installation, environment)
    const keys = await openDerivedKeys(options.masterKey, installation)
    // A new root secret changes the hashes of all API keys, which every process is told of at once.
    changes.add(() => void keys.refresh().catch(err => logger.error({ err }, 'the root secret was not read')))
    const merchants = createMerchantStore(database)
    const opened = openAudit(database, clock.nowMs)
    const { access, apiKeys, audit } = opened
    const faults = shareFaults(createFaultStore<FaultRule>(database), presence.announce)
    announcements.push(faults.load)
    await faults.load()
    const pageTokens = createPageTokens(() => keys.pageTokens)
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
    const runningProviders = startProviders({ database, metrics, logger, options, faults })
    const engine = openEngine({
      database,
      providers: options.providers ?? runningProviders.directory,
      keys,
      metrics,
      logger,
      clock,
      options,
      onEvents,
      presence,
      endpointBook,
      pageAddress: payment => `${origin}${pagePath}${pageTokens.issue(payment)}`,
      returnAddress: ({ merchantId, payId, ...step }) =>
        `${origin}${returnPath}${pageTokens.issue({ merchantId, payId, step })}`,
    })
    const work = createWorkFinder(database)
    const findMerchant = findMerchantIn(merchants)
    const applyNotice =
      options.applyNotice ??
      createApplyNotice({ engine, findMerchant, applyDispute: applyDisputeNotice(engine) })
    const notices = startNotices(runningProviders, applyNotice, { metrics, database })
    const settleWorker = createSettleWorker({ engine, work, findMerchant })
    const timerWorker = createTimerWorker({ engine, finder: work, findMerchant })
    const keyReader = createKeyReader(database)
    const quotes = createQuoteStore(database)
    const retention = createRetentionWorker({ erasure: engine.erasure, clock, findMerchant })
    const testClock = createTestClock({
      clock,
      store: createClockStore(database),
      findMerchant,
      runDue: async merchantId =>
        (await timerWorker.runDue(merchantId)) + (await deliveryWorker.runDue(merchantId)),
      finishRounds: timerWorker.finishRounds,
      reap: async merchantId => (await keyReader.reap(merchantId)) + (await retention.run(merchantId)),
      onChange: onMerchantChange,
    })
    const server = await createServer({
      faults,
      onEvents,
      presence,
      counts,
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
      access,
      rawRoutes: [notices.route],
      records: runningProviders.vault,
    })
    let loops: readonly Loop[] = []

    return {
      merchants: createAdministration({
        ...{ environment, keys, merchants, apiKeys, changes, audit },
        endpoints: createEndpointStore(database),
      }),
      engine,
      bank: createBank({ database, engine, merchants, options }),
      settleWorker,
      timerWorker,
      deliveryWorker,
      metrics: metrics.registry,
      notices,
      weakDurability: weak,
      async listen() {
        // A process that is alone on the database owns all operations sent before; it has sent none itself yet.
        const startedAt = await work.now()
        const alone = await work.claimAlone()
        const { host, port } = options.listen ?? { host: '127.0.0.1', port: 0 }
        const listening = await server.listen({ host, port })
        origin = options.publicUrl ?? listening
        const onError = (err: unknown): void =>
          logger.error({ err, component: 'settle' }, 'background work failed; it goes on')
        if (alone) void settleWorker.recover(startedAt).catch(onError)
        if (alone) await deliveryWorker.recover()
        onEvents()
        loops = startLoops({
          keys,
          ...{ logger, metrics, clock, onEvents, presence, engine, counts },
          limitUses: createLimitUseStore(database),
          ...{
            timerWorker,
            settleWorker,
            deliveryStore,
            keyReader,
            quotes,
            notices,
            audit: opened,
            retention,
          },
        })
        return origin
      },
      async close(serveForMs = 0) {
        await server.drain({ serveForMs, deadlineMs: drainMs })
        await Promise.all(loops.map(loop => loop.stop()))
        await deliveryWorker.stop()
        await access.flush({ ending: true }).catch(err => logger.error({ err }, 'key uses were not written'))
        await notices.stop()
        await work.close()
        await presence.close()
        await database.close()
        logger.flush()
      },
    }
  } catch (error) {
    await presence.close()
    await database.close()
    throw error
  }
}

/** Refuses a database, or a pooler before it, that would lose payments. Returns what is weak and tolerated in test. */
async function checkDatabase(
  database: Database,
  process: number,
  environment: 'test' | 'live',
): Promise<readonly string[]> {
  const isDirect = await hasSessionSettings(database, process).catch((error: unknown) => {
    if (isRefusedByPooler(error)) return false
    throw error
  })
  if (!isDirect) {
    throw new GatewayError(
      'a pooler in transaction mode stands before the database and drops the settings of our connections; ' +
        'connect to PostgreSQL directly, or through a pooler in session mode that passes "options" on',
    )
  }
  const { durable, weak, unguardedStandby } = await readDurability(database)
  if (!durable && environment === 'live') {
    throw new GatewayError(
      `the database would lose payments in a crash (${weak.join(', ')}); switch this on for live`,
    )
  }
  const standby =
    'a standby is connected, but synchronous_standby_names is empty: a failover may lose payments'
  return unguardedStandby ? [...weak, standby] : weak
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
