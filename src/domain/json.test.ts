import { expect, test } from 'vitest'
import { canonicalJson, entryOf, textsOf } from '#domain/json.ts'

test.each([
  ['{"b":1,"a":[{"d":null,"c":"x"}]}', '{"a":[{"c":"x","d":null}],"b":1}'],
  ['{ "a" : 1.0 }', '{"a":1}'],
  ['[]', '[]'],
  ['"\\u0041"', '"A"'],
])('%s has one canonical form, with sorted names', (text, canonical) => {
  expect(canonicalJson(JSON.parse(text))).toBe(canonical)
})

test('a missing body differs from an empty one', () => {
  expect(canonicalJson(undefined)).toBe('null')
  expect(canonicalJson({})).toBe('{}')
})

test('only string members are read, and of a list the first entry', () => {
  expect(textsOf({ a: '1', b: ['2', '3'], c: [], d: 4, e: undefined })).toEqual({ a: '1', b: '2' })
  expect([textsOf(undefined), textsOf(['a'])]).toEqual([{}, {}])
})

test('a name from outside finds only what a table of ours holds itself', () => {
  const table = { a: 1 }
  expect(entryOf(table, 'a')).toBe(1)
  for (const name of ['b', 'constructor', 'toString', '__proto__'])
    expect(entryOf(table, name)).toBeUndefined()
})
