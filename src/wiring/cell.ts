/**
 * Wires one cell: its database, engine, providers and workers. With one cell this is the whole gateway except its port.
 */
import { type FaultRule, type SharedFaults, shareFaults } from '#connectors/simulator/faults.ts'
import type { MerchantId } from '#domain/ids.ts'
import { type OpenAudit, openAudit } from '#operations/audit/access-recorder.ts'
import { createTestClock, type TestClock } from '#operations/clock.ts'
import { createRetentionWorker } from '#operations/customers/erase-payments.ts'
import { applyDisputeNotice } from '#operations/disputes/dispute-book.ts'
import type { Engine } from '#operations/engine.ts'
import { createEndpointBook } from '#operations/events/endpoint-book.ts'
import type { Gate } from '#operations/merchants/gate.ts'
import { createApplyNotice } from '#operations/payments/notices/apply-notice.ts'
import { pageOf } from '#pages/hosted.ts'
import { pagePath, returnPath } from '#pages/page-context.ts'
import type { RunningProviders } from '#providers/create-providers.ts'
import { type CellAddress, cellName } from '#storage/cells/address.ts'
import { createClockStore } from '#storage/clock.ts'
import { createFormStore } from '#storage/console/forms.ts'
import { type Database, openDatabase } from '#storage/database.ts'
import { createDeliveryStore } from '#storage/events/deliveries.ts'
import { createEndpointStore, type EndpointStore } from '#storage/events/endpoints.ts'
import { createInstallation } from '#storage/installation.ts'
import { createMerchantStore, type MerchantStore } from '#storage/merchants.ts'
import { createKeyReader, type KeyReader } from '#storage/payments/keys.ts'
import { createQuoteStore } from '#storage/payments/quotes.ts'
import { createWorkFinder } from '#storage/payments/unanswered.ts'
import {
  type ClockDifference,
  describeDifference,
  leastDifferenceMs,
  watchClocks,
} from '#storage/processes/clock-difference.ts'
import { createLimitUseStore } from '#storage/processes/limit-uses.ts'
import { openPresence, type Presence } from '#storage/processes/presence.ts'
import { createFaultStore } from '#storage/providers/ordered-faults.ts'
import { type DerivedKeys, openDerivedKeys } from '#vault/key-ring.ts'
import { createPageTokens, type PageTokens } from '#vault/page-token.ts'
import { checkDatabase, claimEnvironment } from '#wiring/checks.ts'
import { createDeliveries, openEngine } from '#wiring/engine.ts'
import { startLoops } from '#wiring/loops.ts'
import { findMerchantIn } from '#wiring/parts.ts'
import { type NoticeWork, startNotices, startProviders } from '#wiring/providers.ts'
import type { Shared } from '#wiring/shared.ts'
import type { DeliveryWorker } from '#workers/deliver.ts'
import type { Loop } from '#workers/loop.ts'
import { createSettleWorker, type SettleWorker } from '#workers/settle.ts'
import { createTimerWorker, type TimerWorker } from '#workers/timers.ts'

export interface CellOptions extends Shared {
  readonly address: Pick<CellAddress, 'number' | 'url'>
  /** The database of the audit trail; the cell's own unless given. */
  readonly home?: Database
  /** Restricts background work to merchants of this cell. */
  readonly gate?: Gate
  /** Called for every announcement, besides what every cell does. */
  readonly onAnnouncement?: () => Promise<void>
}

export interface Cell {
  readonly number: number
  readonly database: Database
  readonly presence: Presence
  readonly keys: DerivedKeys
  readonly merchants: MerchantStore
  readonly endpoints: EndpointStore
  readonly audit: OpenAudit
  readonly apiKeys: OpenAudit['apiKeys']
  readonly faults: SharedFaults
  readonly pageTokens: PageTokens
  readonly providers: RunningProviders
  readonly engine: Engine
  readonly notices: NoticeWork
  readonly keyReader: KeyReader
  readonly testClock: TestClock
  readonly settleWorker: SettleWorker
  readonly timerWorker: TimerWorker
  readonly deliveryWorker: DeliveryWorker
  readonly onEvents: () => void
  /** Settings that could lose an acknowledged payment. */
  readonly weak: readonly string[]
  /**
   * Called before the port opens: notes the time, and whether this process is alone, so that `start` can recover
   * earlier work.
   */
  claim(): Promise<void>
  /** Starts the workers. */
  start(): Promise<void>
  stop(): Promise<void>
}

export async function openCell(cell: CellOptions): Promise<Cell> {
  const { logger, options, changes } = cell
  const announcements: (() => Promise<void>)[] = cell.onAnnouncement ? [cell.onAnnouncement] : []
  const presence = await openPresence(cell.address.url, {
    onError: err =>
      logger.error(
        { err },
        'the heartbeat of this process could not be written; if that goes on, others take over its work',
      ),
    onMerchantChange: merchantId => publishChange(changes, merchantId),
    onAnnouncement: async () => {
      for (const listener of announcements) await listener()
    },
    onClock: reportClock(cell),
  })
  const database = openDatabase(
    cell.address.url,
    err => logger.error({ err }, 'an idle database connection broke; a new one is opened when it is needed'),
    { silenceMs: options.databaseSilenceMs, process: presence.process },
  )
  let stopListening = (): void => undefined
  try {
    const weak = await checkDatabase(database, presence.process, options.environment)
    const installation = createInstallation(database)
    await claimEnvironment(installation, options.environment)
    const keys = await openDerivedKeys(options.masterKey, installation)
    stopListening = refreshOnChange(keys, cell)
    const faults = shareFaults(createFaultStore<FaultRule>(database), presence.announce)
    announcements.push(faults.load)
    await faults.load()
    const assembled = await assembleCell(cell, { presence, database, weak, keys, faults })
    return {
      ...assembled,
      async stop() {
        stopListening()
        await assembled.stop()
      },
    }
  } catch (error) {
    stopListening()
    await presence.close()
    await database.close()
    throw error
  }
}

/**
 * A new root secret changes the hashes of all API keys, so every process is notified at once. Returns a function that
 * ends the listening.
 */
function refreshOnChange(keys: DerivedKeys, { changes, logger }: Shared): () => void {
  const onChange = (): void =>
    void keys
      .refresh()
      .catch(err =>
        logger.error({ err }, 'the root secret could not be read again; this process keeps the one it has'),
      )
  changes.add(onChange)
  return () => void changes.delete(onChange)
}

/**
 * Logs when the clocks of process and database begin to differ and when they agree again; a metric shows the
 * difference.
 */
function reportClock({ logger, metrics, address: { number } }: CellOptions) {
  const database = number === 0 ? 'the database' : `the database of ${cellName(number)}`
  const component = 'clock'
  const watch = watchClocks({
    onApart: difference =>
      logger.warn(
        { component },
        `the clock of this process is ${describeDifference(difference)} that of ${database}, and what is due ` +
          'happens too early or too late: synchronise the clocks of both machines',
      ),
    onTogether: () => logger.warn({ component }, `the clocks of this process and of ${database} agree again`),
  })
  return (difference: ClockDifference): void => {
    metrics.setClockDifference(number, leastDifferenceMs(difference) / 1_000)
    watch(difference)
  }
}

export function publishChange(changes: Shared['changes'], merchantId: string): void {
  for (const listener of changes) listener(merchantId)
}

type Opened = Pick<Cell, 'presence' | 'database' | 'weak' | 'keys' | 'faults'>

async function assembleCell(cell: CellOptions, opened: Opened): Promise<Cell> {
  const { options, clock, metrics, logger, gate } = cell
  const { database, keys, presence, faults } = opened
  const merchants = createMerchantStore(database)
  const audit = openAudit(database, clock.nowMs, cell.home)
  const pageTokens = createPageTokens(() => keys.pageTokens)
  const deliveryStore = createDeliveryStore(database)
  const endpoints = createEndpointStore(database)
  const endpointBook = createEndpointBook(endpoints)
  await endpointBook.load()
  const deliveryWorker = createDeliveries(
    { keys, logger, metrics, clock, options, endpointBook, gate },
    deliveryStore,
  )
  const onEvents = (): void => deliveryWorker.wake()
  const providers = startProviders({ database, metrics, logger, options, faults, clock })
  const engine = openEngine({
    ...{ database, keys, metrics, logger, clock, options, onEvents, presence, endpointBook },
    providers: options.providers ?? providers.directory,
    pageAddress: payment => `${cell.origin()}${pagePath}${pageTokens.issue(pageOf(payment))}`,
    returnAddress: ({ merchantId, payId, ...step }) =>
      `${cell.origin()}${returnPath}${pageTokens.issue({ merchantId, payId, step })}`,
  })
  const findMerchant = findMerchantIn(merchants)
  const applyNotice =
    options.applyNotice ??
    createApplyNotice({
      engine,
      findMerchant,
      applyDispute: applyDisputeNotice(engine),
      applyReport: providers.applyReport,
    })
  const notices = startNotices(providers, applyNotice, { metrics, database, gate, cell: cell.address.number })
  const workers = createWorkers(cell, { database, engine, merchants, deliveryWorker })
  const { work, retention, quotes, ...rest } = workers
  return {
    number: cell.address.number,
    ...opened,
    ...rest,
    ...{ merchants, endpoints, audit, apiKeys: audit.apiKeys, pageTokens, providers, engine, notices },
    ...{ deliveryWorker, onEvents },
    ...createLifecycle(cell, {
      ...{ ...opened, work, retention, quotes, engine, notices, audit, deliveryStore, deliveryWorker },
      ...{ onEvents, ...rest },
    }),
  }
}

function createWorkers(
  { clock, changes, gate, logger }: CellOptions,
  parts: Pick<Cell, 'database' | 'engine' | 'merchants' | 'deliveryWorker'>,
) {
  const { database, engine, merchants, deliveryWorker } = parts
  const work = createWorkFinder(database)
  const findMerchant = findMerchantIn(merchants)
  const tell = (component: string) => (err: unknown) =>
    logger.error({ err, component }, 'background work failed; it will be tried again')
  const settleWorker = createSettleWorker({ engine, work, findMerchant, gate, onError: tell('take over') })
  const timerWorker = createTimerWorker({
    ...{ engine, finder: work, findMerchant, gate },
    onError: tell('timers'),
  })
  const keyReader = createKeyReader(database)
  const retention = createRetentionWorker({ erasure: engine.erasure, clock, findMerchant })
  const testClock = createTestClock({
    clock,
    store: createClockStore(database),
    findMerchant,
    runDue: async merchantId =>
      (await timerWorker.runDue(merchantId)) + (await deliveryWorker.runDue(merchantId)),
    finishTimers: timerWorker.finish,
    reap: async (merchantId: MerchantId) =>
      (await keyReader.reap(merchantId)) + (await retention.run(merchantId)),
    onChange: merchantId => publishChange(changes, merchantId),
  })
  const quotes = createQuoteStore(database)
  return { work, settleWorker, timerWorker, keyReader, retention, testClock, quotes }
}

type LifecycleParts = Opened &
  Pick<Cell, 'engine' | 'notices' | 'audit' | 'deliveryWorker' | 'onEvents'> &
  ReturnType<typeof createWorkers> & { readonly deliveryStore: ReturnType<typeof createDeliveryStore> }

/** Starts and stops the work of the cell. */
function createLifecycle(cell: CellOptions, parts: LifecycleParts): Pick<Cell, 'claim' | 'start' | 'stop'> {
  const { logger, metrics, clock, counts } = cell
  const { work, settleWorker, deliveryWorker, database, presence, onEvents } = parts
  let loops: readonly Loop[] = []
  let startedAt = new Date(0)
  let alone = false
  return {
    async claim() {
      // A process that is alone on the database owns everything that was sent before; nothing new has been sent yet.
      startedAt = await work.now()
      alone = await work.claimAlone()
      await presence.refresh()
    },
    async start() {
      const onError = (err: unknown): void =>
        logger.error({ err, component: 'settle' }, 'background work failed; it will be tried again')
      if (alone) void settleWorker.recover(startedAt).catch(onError)
      if (alone) await deliveryWorker.recover()
      onEvents()
      loops = startLoops({
        ...{ ...parts, logger, metrics, clock, counts },
        cell: cell.address.number,
        timersByHand: cell.options.timersByHand === true,
        // Rate limits are shared by the whole installation, in the database of cell 0.
        limitUses: cell.address.number === 0 ? createLimitUseStore(database) : undefined,
        forms: cell.address.number === 0 ? createFormStore(database) : undefined,
      })
    },
    async stop() {
      const stopped = loops.map(loop => loop.stop())
      parts.notices.cutShort()
      await Promise.all(stopped)
      await Promise.all([parts.timerWorker.stop(), deliveryWorker.stop(), settleWorker.finish()])
      await parts.audit.access
        .flush({ ending: true })
        .catch(err => logger.error({ err }, 'the last uses of API keys could not be written'))
      await parts.notices.stop()
      await work.close()
      await presence.close()
      await database.close()
    },
  }
}

/**
 * Makes a part once per cell, when it is first needed: a cell that was unavailable at the start is opened later.
 */
export function perCell<T>(make: (cell: Cell) => T): (cell: Cell) => T {
  const made = new WeakMap<Cell, T>()
  return cell => {
    const known = made.get(cell)
    if (known !== undefined) return known
    const fresh = make(cell)
    made.set(cell, fresh)
    return fresh
  }
}
