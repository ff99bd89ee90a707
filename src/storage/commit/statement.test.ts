/** However the parts of a batch are mixed, they go through a handful of prepared statements. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commitStatement, partNames } from '#storage/commit/statement.ts'

test('any mix of parts is served by one of at most eight statements, and each has one text', () => {
  const texts = new Map<string, string>()
  fc.assert(
    fc.property(fc.subarray(partNames), needed => {
      const { name, text, shape } = commitStatement(needed)
      expect(shape).toEqual(expect.arrayContaining(needed))
      expect(text).toBe(texts.get(name) ?? text)
      texts.set(name, text)
    }),
    { numRuns: 2_000 },
  )
  for (const part of partNames) commitStatement([part])
  expect(texts.size).toBeLessThanOrEqual(8)
})

test.each([
  [['payment', 'card', 'operation'], 3],
  [['settled', 'answered'], 3],
  [['key', 'payment', 'operation'], 5],
  [['keyAnswer', 'settled', 'answered'], 6],
] as const)('the common batch of %s does not carry the rare parts', (needed, parts) => {
  expect(commitStatement(needed).shape).toHaveLength(parts)
})
