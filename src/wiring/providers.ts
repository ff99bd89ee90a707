/** Wires the provider accounts of one cell: the directory, the inbox of notices and the worker that applies them. */
import { connectorDefinitions } from '#connectors/registry.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import { createNoticeRoute } from '#endpoints/provider-notices.ts'
import type { RawRoute } from '#http/server/raw-routes.ts'
import type { Gate } from '#operations/merchants/gate.ts'
import type { ApplyNotice } from '#providers/apply-notices.ts'
import { createProviders, type RunningProviders } from '#providers/create-providers.ts'
import { countDifferences, matchLines } from '#storage/providers/match-lines.ts'
import type { Parts } from '#wiring/parts.ts'

type ProviderWiring = Pick<Parts, 'database' | 'metrics' | 'logger' | 'options' | 'faults' | 'clock'>

export function startProviders({
  database,
  metrics,
  logger,
  options,
  faults,
  clock,
}: ProviderWiring): RunningProviders {
  const { environment, simulatorLatencyMs: latencyMs } = options
  const simulator = { faults, latencyMs }
  return createProviders({
    environment,
    database,
    masterKey: options.masterKey,
    simulator: environment === 'test' ? createSimulator(simulator) : undefined,
    definitions: options.definitions ?? connectorDefinitions(simulator),
    // Accounts are added and changed in real time, even if a test clock was moved.
    nowMs: Date.now,
    clockMs: clock.nowMs,
    onVerdict: verdict => metrics.countNotice(verdict),
    onApplied: result => metrics.countNoticeItem(result),
    onError: err =>
      logger.error(
        { err, component: 'notices' },
        'a notice of a provider could not be applied; it will be tried again',
      ),
    testCrash: options.noticeCrash,
  })
}

export interface NoticeWork {
  readonly route: RawRoute
  wake(): void
  /** Resolves when all due notices have been tried. */
  runDue(): Promise<void>
  /** Matches settlement lines that were imported before the outcome of their payment or operation was known. */
  matchSettlements(): Promise<void>
  /** Counts the differences between our books and the settlement lines of providers. */
  measureDifferences(): Promise<void>
  /** Deletes raw notices after 90 days. */
  expire(): Promise<void>
  /** Ends the matching and counting under way, which may take minutes. */
  cutShort(): void
  stop(): Promise<void>
}

interface NoticeWiring extends Pick<Parts, 'metrics' | 'database'> {
  readonly gate?: Gate | undefined
  /** The number of the cell. */
  readonly cell: number
}

export function startNotices(
  providers: RunningProviders,
  apply: ApplyNotice,
  { metrics, database, gate, cell }: NoticeWiring,
): NoticeWork {
  const worker = providers.startApplying(apply, gate)
  const route = createNoticeRoute({
    inbox: providers.inbox,
    onVerdict: verdict => metrics.countNotice(verdict),
    wake: worker.wake,
  })
  async function measure(): Promise<void> {
    for (const [list, found] of await countDifferences(database)) metrics.setDifferences(cell, list, found)
  }
  let isOver = false
  const ignoreIfOver = (error: unknown): void => {
    if (!isOver) throw error
  }
  // One at a time, so that the newest count is set last.
  let measured = Promise.resolve()
  return {
    route,
    wake: worker.wake,
    runDue: worker.runDue,
    matchSettlements: () => matchLines(database.writers, {}, () => isOver),
    measureDifferences() {
      measured = measured.then(measure, measure)
      return measured.catch(ignoreIfOver)
    },
    expire: () => providers.expire(),
    cutShort() {
      isOver = true
      database.endWholeReads()
    },
    async stop() {
      await worker.stop()
      await providers.close()
    },
  }
}
