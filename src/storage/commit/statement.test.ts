/** Any mix of parts in a batch is served by a handful of prepared statements. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { timerKey } from '#storage/commit/columns.ts'
import { commitStatement, type PartRow, partNames } from '#storage/commit/statement.ts'

test('any mix of parts is served by one of at most thirteen statements, and each has one text', () => {
  const texts = new Map<string, string>()
  fc.assert(
    fc.property(fc.subarray(partNames), needed => {
      const { name, text, shape } = commitStatement(needed)
      if (!needed.every(part => shape.includes(part)) || (texts.get(name) ?? text) !== text) return false
      texts.set(name, text)
      return true
    }),
    { numRuns: 2_000 },
  )
  for (const part of partNames) commitStatement([part])
  expect(texts.size).toBeLessThanOrEqual(13)
})

test.each([
  [['payment', 'card', 'operation'], 3],
  [['payment', 'settled', 'card', 'operation', 'answered'], 5],
  [['settled', 'answered'], 3],
  [['key', 'payment', 'operation'], 5],
  [['payment', 'operation', 'providerReference'], 5],
  [['settled', 'unmark', 'answered'], 5],
  [['keyAnswer', 'settled', 'answered'], 8],
  [['settled', 'mark', 'answered', 'timer'], 8],
  [['payment', 'operation', 'mark', 'timer'], 9],
  [['payment', 'account', 'operation'], 9],
  [['settled', 'answered', 'operation', 'event'], 6],
  [['payment', 'settled', 'card', 'operation', 'answered', 'event'], 6],
  [['keyAnswer', 'settled', 'answered', 'event', 'providerReference'], 12],
  [['revised', 'mark', 'answered', 'timer'], 12],
  [['chosen', 'card', 'answered'], 19],
] as const)('the common batch of %s does not carry the rare parts', (needed, parts) => {
  expect(commitStatement(needed).shape).toHaveLength(parts)
})

/** Checked by the compiler: each `@ts-expect-error` below is itself an error once the line after it compiles. */
test('a misspelt, forgotten or superfluous column of a row fails the type check', () => {
  const row: PartRow<'timerDrop'> = { c: 0, merchant_id: 'm', pay_id: 'p', x_id: 'x', kind: 'LAPSE' }
  // @ts-expect-error pay_idd is no column
  const misspelt: PartRow<'timerDrop'> = { c: 0, merchant_id: 'm', pay_idd: 'p', x_id: 'x', kind: 'LAPSE' }
  // @ts-expect-error kind is missing
  const forgotten: PartRow<'timerDrop'> = { c: 0, merchant_id: 'm', pay_id: 'p', x_id: 'x' }
  // @ts-expect-error run_at belongs to another part
  const superfluous: PartRow<'timerDrop'> = { ...row, run_at: new Date() }
  // @ts-expect-error an attempt is a number
  const mistyped: PartRow<'timer'> = { ...row, run_at: new Date(), attempt: '1' }
  const columnsOf = (value: object): readonly string[] => Object.keys(value)
  expect(columnsOf(row)).toEqual(['c', ...timerKey.map(([name]) => name)])
  for (const wrong of [misspelt, forgotten, superfluous, mistyped])
    expect(columnsOf(wrong)).not.toEqual(columnsOf(row))
})
