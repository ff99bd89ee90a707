/** What the gateway counts, in one place and in Prometheus form. Labels come from closed lists, never from callers. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client'

export interface Metrics {
  readonly registry: Registry
  countRequest(operationId: string, status: number, seconds: number): void
  /** One outcome of one kind of operation: approved, declined, unknown … */
  countOutcome(operation: string, outcome: string): void
  observeBatch(changes: number): void
  setWebhookLag(seconds: number): void
}

/** From 1 ms, a cached read, to 10 s, the slowest provider worth waiting for. */
const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Powers of two up to the largest batch that the group commit makes. */
const batchBuckets = [1, 2, 4, 8, 16, 32, 64]

export function createMetrics(options: { registry: Registry; processMetrics: boolean }): Metrics {
  const registers = [options.registry]
  if (options.processMetrics) collectDefaultMetrics({ register: options.registry })
  const requests = new Counter({
    name: 'tollgate_http_requests_total',
    help: 'Requests by operation and class of status.',
    labelNames: ['operation_id', 'status_class'],
    registers,
  })
  const latencies = new Histogram({
    name: 'tollgate_http_request_duration_seconds',
    help: 'Time from the first byte of a request to the last of its answer.',
    labelNames: ['operation_id'],
    buckets: latencyBuckets,
    registers,
  })
  const outcomes = new Counter({
    name: 'tollgate_operation_outcomes_total',
    help: 'Outcomes of payment operations.',
    labelNames: ['operation', 'outcome'],
    registers,
  })
  const batches = new Histogram({
    name: 'tollgate_commit_batch_size',
    help: 'Changes that shared one commit.',
    buckets: batchBuckets,
    registers,
  })
  const webhookLag = new Gauge({
    name: 'tollgate_webhook_lag_seconds',
    help: 'Age of the oldest event that waits for its first delivery.',
    registers,
  })
  return {
    registry: options.registry,
    countRequest(operationId, status, seconds) {
      requests.inc({ operation_id: operationId, status_class: `${Math.floor(status / 100)}xx` })
      latencies.observe({ operation_id: operationId }, seconds)
    },
    countOutcome: (operation, outcome) => outcomes.inc({ operation, outcome }),
    observeBatch: changes => batches.observe(changes),
    setWebhookLag: seconds => webhookLag.set(seconds),
  }
}
