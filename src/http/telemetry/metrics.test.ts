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

test('outcomes are counted by operation and kind, and reading them changes nothing', async () => {
  const { registry, countOutcome } = createMetrics({ registry: new Registry(), processMetrics: false })
  countOutcome('CAPTURE', 'approved')
  countOutcome('CAPTURE', 'approved')
  countOutcome('CAPTURE', 'declined')
  const read = async () =>
    (await registry.metrics())
      .split('\n')
      .filter(line => line.startsWith('tollgate_operation_outcomes_total'))
  const counted = [
    'tollgate_operation_outcomes_total{operation="CAPTURE",outcome="approved"} 2',
    'tollgate_operation_outcomes_total{operation="CAPTURE",outcome="declined"} 1',
  ]
  expect(await read()).toEqual(counted)
  expect(await read()).toEqual(counted)
})
