import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Refusal } from '#http/answers/refusal.ts'
import { quoteValue, readJson } from '#http/body/json-text.ts'

const fieldOf = (text: string | Buffer): string | undefined => {
  const read = readJson(Buffer.from(text as string))
  return read instanceof Refusal ? read.errors[0]?.field : undefined
}

const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

const withMembers = (count: number): string =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index])))

/** A list of objects; `nameOf` says which name stands at which place. */
const withNames = (
  objects: number,
  names: number,
  nameOf: (object: number, name: number) => number,
): string =>
  JSON.stringify(
    Array.from({ length: objects }, (_, object) =>
      Object.fromEntries(Array.from({ length: names }, (_, name) => [`n${nameOf(object, name)}`, 1])),
    ),
  )
const unique = (object: number, name: number): number => object * 1_000 + name

test.each<[name: string, text: string | Buffer, field: string | undefined]>([
  ['an object', '{"a":1}', undefined],
  ['not JSON', '{"a":', 'body'],
  ['only white space', '  ', 'body'],
  ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 'body'],
  ['U+FFFD that was sent as such', '{"a":"\ufffd"}', undefined],
  ['20 levels', nested(20), undefined],
  ['21 levels', nested(21), Array(20).fill('a').join('.')],
  ['100 levels', '['.repeat(100) + ']'.repeat(100), '[0]'.repeat(20)],
  ['an open string', '{"a', 'body'],
  ['many levels', '['.repeat(500_000) + ']'.repeat(500_000), 'body'],
  ['100,000 values', `[${'1,'.repeat(99_999)}1]`, undefined],
  ['more than 100,000 values', `[${'1,'.repeat(100_000)}1]`, 'body'],
  ['more empty objects', `[${'{},'.repeat(50_000)}{}]`, 'body'],
  ['1,000 members', withMembers(1_000), undefined],
  ['1,001 members', withMembers(1_001), 'body'],
  ['1,001 members further down', `{"a":[{"b":1},${withMembers(1_001)}]}`, 'body'],
  ['2,000 new names', withNames(20, 100, unique), undefined],
  ['2,100 new names', withNames(21, 100, unique), 'body'],
  [
    'the same names in many orders',
    withNames(240, 10, (object, name) => ((name + 1) * (object + 1)) % 251),
    'body',
  ],
  ['the same names in each of 10,000 objects', withNames(10_000, 3, (_, name) => name), undefined],
  ['three wide objects of the same names', withNames(3, 1_000, (_, name) => name), 'body'],
  ['2,000 members in two objects', `{"a":${withMembers(1_000)},"b":${withMembers(1_000)}}`, undefined],
  ['a long number beside 5,000 values', `[${'1,'.repeat(4_998)}1234567890123456]`, undefined],
  ['a long number beside more than 5,000 values', `[${'1,'.repeat(5_000)}1234567890123456]`, 'body'],
  ['commas inside of text', JSON.stringify({ a: ','.repeat(200_000) }), undefined],
  ['U+0000 in a value', '{"a":{"b":["x","\\u0000"]}}', 'a.b[1]'],
  ['U+0000 in a name', '{"a":{"b\\u0000":1}}', 'a.b\u2400'],
  ['half a surrogate pair', '{"a":"\\ud800"}', 'a'],
  ['half a pair in a name', '{"\\udc00":1}', '\ufffd'],
  ['a whole pair', '{"a":"\\ud83d\\ude00"}', undefined],
  ['__proto__', '{"metadata":{"__proto__":{"x":1}}}', 'metadata.__proto__'],
  ['constructor.prototype', '{"a":{"constructor":{"prototype":1}}}', 'a.constructor.prototype'],
  ['constructor as plain text', '{"constructor":"Smith & Sons"}', undefined],
  ['2^53 - 1', '{"a":9007199254740991}', undefined],
  ['2^53', '{"a":9007199254740992}', 'a'],
  ['far below zero', '{"a":[-1e300]}', 'a[0]'],
  ['endless', '{"a":1e999}', 'a'],
  ['17 digits that a double represents exactly', '{"a":0.30000000000000004}', undefined],
  ['more digits than a double can represent', '{"a":{"b":[0.1234567890123456789]}}', 'a.b[0]'],
  ['a whole amount but for the 18th digit', '{"amount":{"value":100.0000000000000001}}', 'amount.value'],
  ['too small for a double', '{"a":1e-400}', 'a'],
  ['an exponent that changes nothing', '{"a":[1.50E+2,-2.5e-1,0e0,-0.0]}', undefined],
  ['zeros that change nothing', '{"a":1.00000000000000000000}', undefined],
  ['long digits inside of text', '{"a":"0.1234567890123456789"}', undefined],
  ['a name twice beside a long number', '{"a":1234567890123456,"a":2}', 'a'],
  ['a name twice', '{"a":1,"b":{"c":1,"d":[{"e":1},{"f":1,"f":2}]}}', 'b.d[1].f'],
  ['a name twice, once escaped', '{"a":1,"\\u0061":2}', 'a'],
  ['names and colons inside of text', '{"a":"\\",\\"a\\":","b":"::{\\\\"}', undefined],
  ['the same name in two objects', '{"a":{"x":1},"b":{"x":1}}', undefined],
])('a body is read, or refused at the right place: %s', (_, text, field) => {
  expect(fieldOf(text)).toBe(field)
})

test('every JSON value is read unchanged', () => {
  const isKept = (value: unknown): boolean => {
    const read = readJson(Buffer.from(JSON.stringify(value)))
    return !(read instanceof Refusal) && JSON.stringify(read.value) === JSON.stringify(value)
  }
  const key = fc
    .string()
    .filter(name => name !== '__proto__' && name !== 'constructor' && !name.includes('\u0000'))
  const leaf = fc.oneof(
    fc.string().filter(text => !text.includes('\u0000')),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
  )
  const { tree } = fc.letrec(tie => ({
    tree: fc.oneof({ maxDepth: 5 }, leaf, fc.array(tie('tree')), fc.dictionary(key, tie('tree'))),
  }))
  fc.assert(fc.property(tree, isKept), { seed: 20261115, numRuns: 500 })
})

test('every number that a double can represent is read unchanged', () => {
  const double = fc.double({ noNaN: true, min: -1e15, max: 1e15 })
  const numbers = fc.sample(double, { seed: 20261115, numRuns: 2_000 })
  expect(readJson(Buffer.from(JSON.stringify(numbers)))).toMatchObject({
    value: JSON.parse(JSON.stringify(numbers)),
  })
})

test.each([
  ['a name', () => fieldOf('{"a\u202eb\u009b":1e999}'), String.raw`a\u202eb\u009b`],
  ['a value', () => quoteValue('a\u202eb\u009b\u{e0001}'), String.raw`"a\u202eb\u009b\udb40\udc01"`],
])('invisible characters of %s are repeated as their codes', (_, shown, expected) => {
  expect(shown()).toBe(expected)
})

test('a long name is cut in the path', () => {
  expect(fieldOf(`{"${'n'.repeat(1_000)}":1e999}`)).toBe(`${'n'.repeat(64)}…`)
})

test('half a megabyte of zeros within a number, or of digits in a name, is refused at once', () => {
  expect(fieldOf(`{"a":1${'0'.repeat(500_000)}1}`)).toBe('a')
  expect(fieldOf(`{"${'9'.repeat(900_000)}":1e999}`)).toBe('…')
  expect(fieldOf(`{"order ${'4111111111111111 '.repeat(50_000)}":1e999}`)).toBe('order…')
})
