/** Gateways of one process count for themselves, and share what is true of the process. */
import { AggregatorRegistry, Registry } from 'prom-client'
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

test('of several cells, differences are added up and the longest wait for a webhook is shown', async () => {
  const { registry, ...metrics } = createMetrics({ registry: new Registry(), processMetrics: false })
  metrics.setWebhookLag(0, 0)
  metrics.setWebhookLag(1, 90)
  metrics.setWebhookLag(2, 3)
  for (const [cell, found] of [3, 2, 0].entries()) metrics.setDifferences(cell, 'theirs_without_ours', found)
  const before = await registry.metrics()
  expect(before).toContain('tollgate_webhook_lag_seconds 90')
  expect(before).toContain('tollgate_reconciliation_differences{list="theirs_without_ours"} 5')
  metrics.setWebhookLag(1, 1)
  metrics.setDifferences(0, 'theirs_without_ours', 0)
  const after = await registry.metrics()
  expect(after).toContain('tollgate_webhook_lag_seconds 3')
  expect(after).toContain('tollgate_reconciliation_differences{list="theirs_without_ours"} 2')
})

test('what every worker measures for the whole installation is not added up over the workers', async () => {
  const reports = [2, 2, 2].map(async found => {
    const { registry, ...metrics } = createMetrics({ registry: new Registry(), processMetrics: false })
    metrics.setWebhookLag(0, 1.5)
    metrics.setDifferences(0, 'amounts_differ', found)
    metrics.countNotice('accepted')
    return registry.getMetricsAsJSON()
  })
  const text = await AggregatorRegistry.aggregate(await Promise.all(reports)).metrics()
  expect(text).toContain('tollgate_webhook_lag_seconds 1.5')
  expect(text).toContain('tollgate_reconciliation_differences{list="amounts_differ"} 2')
  expect(text).toContain('tollgate_notices_total{verdict="accepted"} 3')
})
