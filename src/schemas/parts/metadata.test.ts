import { expect, test } from 'vitest'
import { checkMetadata, metadata } from '#schemas/parts/metadata.ts'
import { compileCheck } from '#test/support/docs/check-schema.ts'

const check = compileCheck(metadata)
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]))

test.each<[string, unknown, string[]]>([
  ['empty', {}, []],
  ['anything within', { a: [1, { b: null }], 'ä ö': 'x', '': true }, []],
  ['fifty keys', keys(50), []],
  ['fifty-one keys', keys(51), ['']],
  ['a key of 40', { ['k'.repeat(40)]: 1 }, []],
  ['a key of 41', { ['k'.repeat(41)]: 1 }, ['k'.repeat(41)]],
  ['an array', [], ['']],
  ['a text', 'x', ['']],
  ['null', null, ['']],
])('the schema decides about metadata: %s', (_, body, fields) => expect(check(body)).toEqual(fields))

test.each<[string, unknown, RegExp | undefined]>([
  ['exact numbers', { a: 9007199254740991, b: -9007199254740991, c: 0.1, d: 0, e: 1e15 }, undefined],
  ['2^53', { a: 9007199254740992 }, /number at a /],
  ['-2^53 deep inside', { a: { b: [0, { c: -9007199254740992 }] } }, /number at a\.b\[1\]\.c /],
  ['a number beyond all', JSON.parse('{"a":1e400}'), /number at a /],
  ['exactly 16 KiB', { a: 'x'.repeat(16 * 1024 - 8) }, undefined],
  ['one byte more', { a: 'x'.repeat(16 * 1024 - 7) }, /16385 bytes.*16384/],
  ['bytes, not characters', { a: 'ä'.repeat(8 * 1024) }, /bytes/],
])('the rules decide about metadata: %s', (_, value, message) => {
  if (message === undefined) expect(checkMetadata(value)).toBeUndefined()
  else expect(checkMetadata(value)).toMatch(message)
})
