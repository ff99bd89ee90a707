/** All metrics of the gateway, in Prometheus format. Label values come from closed lists, never from callers. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client'
import type { DropReason } from '#http/server/connection-limits.ts'
import { RequestTally } from '#http/server/request-tally.ts'

export interface Metrics {
  readonly registry: Registry
  countRequest(operationId: string, status: number, seconds: number): void
  /** Counts an outcome of a type of operation: approved, declined, unknown … */
  countOutcome(operation: string, outcome: string): void
  observeBatch(changes: number): void
  /** The metric is the longest lag of all cells. */
  setWebhookLag(cell: number, seconds: number): void
  /** The metric is the largest difference of all cells. */
  setClockDifference(cell: number, seconds: number): void
  /** Seconds since 1970. */
  setCertificateEnd(seconds: number): void
  /** An event that will not be delivered unless it is replayed. */
  countWebhookFailure(): void
  webhookFailures(): number
  /** A connection that was closed because its address or the server had too many, or because it was idle too long. */
  countDroppedConnection(reason: DropReason): void
  /** Log lines that standard output did not accept. */
  countDroppedLines(lines: number): void
  /** A browser's report of a violation of a page's content security policy. */
  countCspReport(directive: string): void
  /** A notice delivered by a provider: accepted, repeated, forged … */
  countNotice(verdict: string): void
  /** A fact of a notice: applied, unmatched, failed … */
  countNoticeItem(result: string): void
  /**
   * The number of differences between our books and providers' settlements in one of the three lists, summed over all
   * cells.
   */
  setDifferences(cell: number, list: string, found: number): void
}

/** Powers of two up to the largest batch of the group commit. */
const batchBuckets = [1, 2, 4, 8, 16, 32, 64]

let processMetrics: readonly Metric[] | undefined

/**
 * Memory, garbage collection and event loop of this process. Created once, because each creation leaves a timer and an
 * observer behind, and tests start hundreds of gateways in one process.
 */
function readProcess(): readonly Metric[] {
  if (processMetrics) return processMetrics
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  processMetrics = registry.getMetricsAsArray().flatMap(({ name }) => registry.getSingleMetric(name) ?? [])
  return processMetrics
}

/**
 * For metrics that every process measures for the whole installation: their values are the same, so the highest one is
 * shown instead of their sum.
 */
const ofInstallation = { aggregator: 'max' } as const

/** The last value of each cell. */
class CellValues {
  readonly #values = new Map<number, number>()

  set(cell: number, value: number): readonly number[] {
    this.#values.set(cell, value)
    return [...this.#values.values()]
  }
}

/**
 * Counted here and passed to prom-client on collection, because it builds a key from the labels for every single count.
 */
function tallyOutcomes(registry: Registry): Metrics['countOutcome'] {
  const tallies = new Map<
    string,
    { readonly labels: Record<'operation' | 'outcome', string>; count: number }
  >()
  new Counter({
    name: 'tollgate_operation_outcomes_total',
    help: 'Outcomes of payment operations.',
    labelNames: ['operation', 'outcome'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, count } of tallies.values()) this.inc(labels, count)
    },
  })
  return (operation, outcome) => {
    const name = `${operation} ${outcome}`
    const tally = tallies.get(name)
    if (tally) tally.count += 1
    else tallies.set(name, { labels: { operation, outcome }, count: 1 })
  }
}

/** Metrics that are measured per cell and shown for all cells together. */
function gaugeCells(
  registry: Registry,
): Pick<Metrics, 'setWebhookLag' | 'setClockDifference' | 'setDifferences'> {
  const registers = [registry]
  const webhookLag = new Gauge({
    name: 'tollgate_webhook_lag_seconds',
    help: 'Age of the oldest event that waits for its first delivery.',
    ...ofInstallation,
    registers,
  })
  const lags = new CellValues()
  const clockDifference = new Gauge({
    name: 'tollgate_clock_difference_seconds',
    help: 'How far the clocks of this process and of the database are apart at least.',
    ...ofInstallation,
    registers,
  })
  const clocks = new CellValues()
  const differences = new Gauge({
    name: 'tollgate_reconciliation_differences',
    help: 'Differences between our books and the settlement lines of providers.',
    labelNames: ['list'],
    ...ofInstallation,
    registers,
  })
  const differencesOf = new Map<string, CellValues>()
  return {
    setWebhookLag: (cell, seconds) => webhookLag.set(Math.max(...lags.set(cell, seconds))),
    setClockDifference: (cell, seconds) => clockDifference.set(Math.max(...clocks.set(cell, seconds))),
    setDifferences(cell, list, found) {
      const cells = differencesOf.get(list) ?? new CellValues()
      differencesOf.set(list, cells)
      differences.set(
        { list },
        cells.set(cell, found).reduce((sum, one) => sum + one, 0),
      )
    },
  }
}

/** Without a certificate it has no value: a zero would say that one ended in 1970. */
function gaugeCertificate(registry: Registry): Metrics['setCertificateEnd'] {
  const gauge = new Gauge({
    name: 'tollgate_certificate_end_timestamp_seconds',
    help: 'When the TLS certificate in use ends, in seconds since 1970.',
    ...ofInstallation,
    registers: [registry],
  })
  gauge.remove()
  return seconds => gauge.set(seconds)
}

export function createMetrics(options: { registry: Registry; processMetrics: boolean }): Metrics {
  const registers = [options.registry]
  if (options.processMetrics) for (const metric of readProcess()) options.registry.registerMetric(metric)
  const requests = new RequestTally()
  for (const metric of requests.metrics()) options.registry.registerMetric(metric)
  const counter = <Label extends string = never>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name: `tollgate_${name}_total`, help, labelNames, registers })
  const countOutcome = tallyOutcomes(options.registry)
  const batches = new Histogram({
    name: 'tollgate_commit_batch_size',
    help: 'Changes that shared one commit.',
    buckets: batchBuckets,
    registers,
  })
  const webhookFailures = counter(
    'webhook_failures',
    'Events that failed for good at one of their receivers.',
  )
  let failures = 0
  const dropped = counter(
    'connections_dropped',
    'Connections that were ended by a limit, by reason.',
    'reason',
  )
  const droppedLines = counter(
    'log_lines_dropped',
    'Lines of the log that were dropped, because nobody read it or it could not be written.',
  )
  const notices = counter('notices', 'Notices that providers delivered, by what became of them.', 'verdict')
  const noticeItems = counter(
    'notice_items',
    'Facts in notices of providers, by what became of each try to apply them.',
    'result',
  )
  const cspReports = counter(
    'csp_reports',
    'Reports of browsers that a page wanted to load what its policy forbids.',
    'directive',
  )
  return {
    registry: options.registry,
    countCspReport: directive => cspReports.inc({ directive }),
    countDroppedConnection: reason => dropped.inc({ reason }),
    countDroppedLines: lines => droppedLines.inc(lines),
    countRequest: (operationId, status, seconds) => requests.count(operationId, status, seconds),
    countOutcome,
    observeBatch: changes => batches.observe(changes),
    ...gaugeCells(options.registry),
    setCertificateEnd: gaugeCertificate(options.registry),
    countWebhookFailure() {
      failures += 1
      webhookFailures.inc()
    },
    webhookFailures: () => failures,
    countNotice: verdict => notices.inc({ verdict }),
    countNoticeItem: result => noticeItems.inc({ result }),
  }
}
