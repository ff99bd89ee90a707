import { expect, test } from 'vitest'
import { canonicalJson, textsOf } from '#domain/json.ts'

test.each([
  ['{"b":1,"a":[{"d":null,"c":"x"}]}', '{"a":[{"c":"x","d":null}],"b":1}'],
  ['{ "a" : 1.0 }', '{"a":1}'],
  ['[]', '[]'],
  ['"\\u0041"', '"A"'],
])('%s', (text, canonical) => {
  expect(canonicalJson(JSON.parse(text))).toBe(canonical)
})

test('no body is not an empty one', () => {
  expect(canonicalJson(undefined)).toBe('null')
  expect(canonicalJson({})).toBe('{}')
})

test('texts are members that are text, and of a list the first', () => {
  expect(textsOf({ a: '1', b: ['2', '3'], c: [], d: 4, e: undefined })).toEqual({ a: '1', b: '2' })
  expect([textsOf(undefined), textsOf(['a'])]).toEqual([{}, {}])
})
