/** Gateways of one process count for themselves, and share what is true of the process. */
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createMetrics } from '#http/telemetry/metrics.ts'

test('metrics of the process exist once, metrics of a gateway once for each gateway', async () => {
  const create = () => createMetrics({ registry: new Registry(), processMetrics: true })
  const [first, second] = [create(), create()]
  for (const name of ['nodejs_gc_duration_seconds', 'nodejs_eventloop_lag_seconds']) {
    expect(first.registry.getSingleMetric(name)).toBeDefined()
    expect(first.registry.getSingleMetric(name)).toBe(second.registry.getSingleMetric(name))
  }
  first.countNotice('accepted')
  expect(await first.registry.metrics()).toContain('tollgate_notices_total{verdict="accepted"} 1')
  expect(await second.registry.metrics()).not.toContain('verdict="accepted"')
  expect(await second.registry.metrics()).toMatch(/^process_resident_memory_bytes \d+$/m)
})
