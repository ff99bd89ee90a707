/** Wires what all cells of a process share. */
import { setTimeout as delay } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { type CountExchange, createCountExchange } from '#http/authentication/shared-counts.ts'
import { createLogger, type Logger } from '#http/telemetry/log.ts'
import { createMetrics, type Metrics } from '#http/telemetry/metrics.ts'
import type { Clock } from '#operations/engine.ts'
import type { GatewayOptions } from '#wiring/parts.ts'

/** The parts that all cells of a process share. */
export interface Shared {
  readonly options: GatewayOptions
  readonly logger: Logger
  readonly metrics: Metrics
  readonly clock: Clock
  readonly counts: CountExchange
  /** Caches of merchants; notified when one changes. */
  readonly changes: Set<(merchantId: string) => void>
  /** Known only once the port is open; nothing that needs it happens earlier. */
  readonly origin: () => string
}

const realClock: Clock = { nowMs: Date.now, waitMs: milliseconds => delay(milliseconds) }

export function createShared(options: GatewayOptions, origin: Shared['origin']): Shared {
  const { logLevel: level = 'info', logDestination: out, worker } = options
  const metrics = createMetrics({ registry: new Registry(), processMetrics: true })
  return {
    options,
    clock: options.clock ?? realClock,
    logger: createLogger({ level, out, worker, onDropped: metrics.countDroppedLines }),
    metrics,
    counts: createCountExchange(),
    changes: new Set(),
    origin,
  }
}
