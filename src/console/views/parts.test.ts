/** The small pieces of pages that are decided by a rule. */
import { expect, test } from 'vitest'
import { renderFilters } from '#console/views/parts.ts'

test.each([
  ['2026-11-01T00:00:00+02:00', '2026-10-31T22:00'],
  ['2026-11-01T00:00:00-05:30', '2026-11-01T05:30'],
  ['2026-11-01T00:00:00Z', '2026-11-01T00:00'],
  ['2026-11-01T00:00:30Z', '2026-11-01T00:00:30'],
  ['2026-11-01T00:00:30.250Z', '2026-11-01T00:00:30.250'],
  ['2026-11-01T00:00', '2026-11-01T00:00'],
  ['yesterday', 'yesterday'],
  ['2026-13-41T00:00:00Z', '2026-13-41T00:00:00Z'],
])('the field of a filter shows the moment %s in UTC, to its last digit', (from, shown) => {
  const { text } = renderFilters([{ name: 'from', label: 'From (UTC)', type: 'datetime-local' }], { from })
  expect(/value="([^"]*)"/.exec(text)?.[1]).toBe(shown)
})
