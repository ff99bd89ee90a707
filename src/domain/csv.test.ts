import { expect, test } from 'vitest'
import { splitCsvLine } from '#domain/csv.ts'

test.each([
  ['', ['']],
  ['a', ['a']],
  ['a,b', ['a', 'b']],
  [' a , b ', ['a', 'b']],
  ['a,', ['a', '']],
  [',', ['', '']],
  ['"a,b",c', ['a,b', 'c']],
  ['"a ""b"" c"', ['a "b" c']],
  ['"",x', ['', 'x']],
  ['x,""', ['x', '']],
  ['"a', undefined],
  ['a"b', undefined],
  ['"a"b,c', undefined],
  ['"a""', undefined],
])('the line %j is split into its fields', (line, cells) => {
  expect(splitCsvLine(line)).toEqual(cells)
})
