import { expect, test } from 'vitest'
import { canonicalJson } from '#domain/json.ts'

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
