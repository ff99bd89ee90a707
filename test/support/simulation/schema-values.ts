/** Values that mostly fit a schema, and ways to break them, all from the given random source. */
import fc from 'fast-check'
import type { Random } from '#test/support/simulation/random.ts'

type Schema = Readonly<Record<string, unknown>>
type Properties = Readonly<Record<string, Schema>>

/** Samples for formats, whose meaning a generator cannot know. */
const formatSamples: Readonly<Record<string, readonly string[]>> = {
  date: ['2027-01-31', '2028-02-29'],
  'date-time': ['2027-01-31T12:00:00Z', '2027-01-31T12:00:00.123+02:00'],
  uri: ['https://example.com/back', 'http://localhost:9/x?y=z'],
  iri: ['https://example.com/back', 'http://localhost:9/x?y=z', 'https://bücher.example/zurück'],
  email: ['ada@example.com'],
  currency: ['EUR', 'USD', 'JPY', 'BHD'],
  alpha3: ['DEU', 'USA'],
  alpha2: ['DE', 'US'],
  numeric3: ['276', '840'],
  'card-number': ['4111111111111111', '4000000000000002', '4000000000000101', '0123456789012345'],
  'account-number': ['DE89370400440532013000', 'DE62370400440532013001', 'ZZ00BBBBBBBBBBBBBB3000'],
  'expiry-date': ['203012', '199901'],
  bcp47: ['de', 'en-GB'],
  printable: ['plain', 'ü€😀', ' '],
}

const patternSamples = new Map<string, readonly string[]>()

/** 8 texts per pattern: enough variety, and finding them is slow. */
function samplesOf(pattern: string): readonly string[] {
  const known = patternSamples.get(pattern)
  if (known) return known
  const made = fc.sample(fc.stringMatching(new RegExp(pattern, 'u')), { seed: 1, numRuns: 8 })
  patternSamples.set(pattern, made)
  return made
}

export function makeValue(schema: Schema | undefined, random: Random, depth = 0): unknown {
  if (schema === undefined || depth > 8) return 'anything'
  if (Array.isArray(schema.enum)) return random.pick(schema.enum)
  if ('const' in schema) return schema.const
  const union = schema.anyOf ?? schema.oneOf
  if (Array.isArray(union)) return makeValue(random.pick(union as Schema[]), random, depth + 1)
  switch (schema.type) {
    case 'object':
      return makeObject(schema, random, depth)
    case 'array': {
      const length = random.below(3)
      return Array.from({ length }, () => makeValue(schema.items as Schema, random, depth + 1))
    }
    case 'string':
      return makeText(schema, random)
    case 'integer':
    case 'number':
      return Number(schema.minimum ?? 0) + random.below(Math.min(5000, Number(schema.maximum ?? 5000)))
    case 'boolean':
      return random.chance(0.5)
    default:
      return random.pick([1, 'x', true, null, { a: 1 }])
  }
}

function makeObject(schema: Schema, random: Random, depth: number): Record<string, unknown> {
  const required = (schema.required ?? []) as readonly string[]
  const made: Record<string, unknown> = {}
  for (const [name, child] of Object.entries((schema.properties ?? {}) as Properties)) {
    if (required.includes(name) || random.chance(depth === 0 ? 0.25 : 0.5)) {
      made[name] = makeValue(child, random, depth + 1)
    }
  }
  if (schema.patternProperties) made[`key${random.below(9)}`] = random.pick([1, 'text', null, [1], { a: 1 }])
  return made
}

function makeText(schema: Schema, random: Random): string {
  if (typeof schema.format === 'string') return random.pick(formatSamples[schema.format] ?? ['text'])
  if (typeof schema.pattern === 'string') return random.pick(samplesOf(schema.pattern))
  return `text-${random.below(1_000_000)}`
    .padEnd(Number(schema.minLength ?? 0), 'x')
    .slice(0, Number(schema.maxLength ?? 40))
}

const deep = (levels: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { a: value }
  return value
}

/** Values that often break software. */
const nasty: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  -0,
  1.5,
  1e12,
  2 ** 53,
  1e300,
  '',
  ' ',
  'a\u0000b',
  '\ud800',
  '\udfff\ud800',
  '\u202e\ufeff',
  'x'.repeat(300),
  'x'.repeat(70_000),
  '😀'.repeat(65),
  "'; DROP TABLE payment; --",
  '{{7*7}}',
  '../../etc/passwd',
  '%00%ff',
  'NaN',
  'EUR',
  '4111111111111111',
  [],
  [[]],
  {},
  { length: 1e9 },
  { toJSON: 1, valueOf: null },
  deep(19),
  deep(25),
  deep(200),
  Array.from({ length: 600 }, () => ({})),
]

const nastyNames: readonly string[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '',
  ' ',
  'a.b[0]',
  'transId\u0000',
  '\ud800',
  '4111111111111111',
  'x'.repeat(200),
  'hasOwnProperty',
]

/** Changes one place somewhere in the value. */
export function spoil(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random.chance(0.1)) return random.pick(nasty)
  if (Array.isArray(value)) {
    if (value.length === 0 || random.chance(0.3)) return [...value, random.pick(nasty)]
    const at = random.below(value.length)
    return value.map((entry, index) => (index === at ? spoil(entry, random) : entry))
  }
  const names = Object.keys(value)
  const name = names.length > 0 ? random.pick(names) : 'x'
  const { [name]: member, ...rest } = value as Record<string, unknown>
  switch (random.below(6)) {
    case 0:
      return rest
    case 1:
      return withOwn(value, random.pick(nastyNames), random.pick(nasty))
    case 2:
      return { ...rest, [`${name}x`]: member }
    default:
      return { ...rest, [name]: spoil(member, random) }
  }
}

/** An own member even when it is named __proto__. */
const withOwn = (value: object, name: string, member: unknown): object =>
  Object.defineProperty({ ...value }, name, { value: member, enumerable: true, configurable: true })

/** Breaks the text or the bytes themselves. */
export function spoilText(text: string, random: Random): Buffer {
  const at = random.below(text.length + 1)
  switch (random.below(7)) {
    case 0:
      return Buffer.from(text.slice(0, at))
    case 1:
      return Buffer.concat([
        Buffer.from(text.slice(0, at)),
        Buffer.from([0xff, 0xc3, 0x28]),
        Buffer.from(text.slice(at)),
      ])
    case 2:
      return Buffer.from(text.replace(/"([^"]+)":/, '"$1":1,"$1":'))
    case 3:
      return Buffer.from(`${text}${text}`)
    case 4:
      return Buffer.from(
        text.replace(
          /:\s*("[^"]*"|[0-9]+)/,
          random.pick([':1e999', ':-0', ':01', ':NaN', ':"\\ud83d"', ':"\\u0000"']),
        ),
      )
    case 5:
      return Buffer.from(`\ufeff${text}`)
    default:
      return Buffer.from(
        random.pick(['', 'null', '[]', '""', '{', '[[[[', '\u0000', '{"a":', '{}', 'undefined']),
      )
  }
}
