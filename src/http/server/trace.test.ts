import { expect, test } from 'vitest'
import { readTrace } from '#http/server/trace.ts'

const id = '4bf92f3577b34da6a3ce929d0e0e4736'

test.each([
  ['00', `00-${id}-00f067aa0ba902b7-01`, true],
  ['a later version with more fields', `01-${id}-00f067aa0ba902b7-00-more`, true],
  ['version ff', `ff-${id}-00f067aa0ba902b7-01`, false],
  ['a zero trace id', `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, false],
  ['a zero span id', `00-${id}-${'0'.repeat(16)}-01`, false],
  ['upper case', `00-${id.toUpperCase()}-00f067aa0ba902b7-01`, false],
  ['nonsense', 'x', false],
])('a traceparent header is used or ignored: %s', (_, header, taken) => {
  expect(readTrace(header).traceId === id).toBe(taken)
})

test('a new trace has a fresh id, and its header repeats it', () => {
  const seen = new Set(Array.from({ length: 2_000 }, () => readTrace(undefined).traceId))
  expect(seen.size).toBe(2_000)
  const { traceId, traceparent } = readTrace(undefined)
  expect(traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`))
})

test('the caller keeps its sampling flag and gets a span of ours', () => {
  const { traceparent } = readTrace(`00-${id}-00f067aa0ba902b7-01`)
  expect(traceparent).toMatch(new RegExp(`^00-${id}-[0-9a-f]{16}-01$`))
  expect(traceparent).not.toContain('00f067aa0ba902b7')
})
