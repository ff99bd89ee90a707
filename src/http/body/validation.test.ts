import { describe, expect, test } from 'vitest'
import { createValidation } from '#http/body/validation.ts'
import { Type } from '#schemas/parts/type.ts'

const formats = {
  currency: { check: (text: string) => text === 'EUR', allowed: 'an active ISO 4217 code' },
}
const strict = { additionalProperties: false }
const Line = Type.Object(
  { quantity: Type.Integer({ minimum: 1 }), name: Type.Optional(Type.String({ maxLength: 8 })) },
  { ...strict, $id: 'Line' },
)
const validation = createValidation({ formats, schemas: [Line] })

const Body = Type.Object(
  {
    transId: Type.String({ minLength: 1, maxLength: 64 }),
    amount: Type.Object(
      { value: Type.Integer({ minimum: 1, maximum: 99 }), currency: Type.String({ format: 'currency' }) },
      strict,
    ),
    captureMethod: Type.Optional(Type.Enum(['AUTOMATIC', 'MANUAL'])),
    order: Type.Optional(Type.Object({ items: Type.Array(Type.Ref('Line'), { maxItems: 3 }) }, strict)),
    card: Type.Optional(
      Type.Object(
        { number: Type.String({ pattern: '^[0-9]{12,19}$' }), name: Type.String({ minLength: 2 }) },
        { ...strict, sensitive: true },
      ),
    ),
    flag: Type.Optional(Type.Boolean()),
    note: Type.Optional(Type.Union([Type.String({ maxLength: 5 }), Type.Null()])),
    target: Type.Optional(
      Type.Union([
        Type.Object({ kind: Type.Literal('PLAN'), planId: Type.String() }, strict),
        Type.Object({ kind: Type.Literal('CARD'), cardId: Type.String() }, strict),
      ]),
    ),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { maxProperties: 2 })),
    choice: Type.Optional(
      Type.Object(
        { day: Type.Optional(Type.Number()), week: Type.Optional(Type.Number()) },
        { ...strict, maxProperties: 1 },
      ),
    ),
    methods: Type.Optional(
      Type.Object({ type: Type.String() }, { additionalProperties: Type.Object({}, strict) }),
    ),
  },
  strict,
)
const check = validation.compile(Body, 'body')
const good = { transId: 't', amount: { value: 1, currency: 'EUR' } }
const errorsOf = (value: unknown, length = 100) => check(value, length)

describe('names the field, the value and what is allowed', () => {
  test.each<[name: string, body: unknown, field: string, error: RegExp]>([
    ['whole body', 'x', 'body', /^body is "x"; allowed is an object\.$/],
    [
      'missing text',
      { amount: good.amount },
      'transId',
      /^transId is missing; allowed is text of 1 to 64 characters\.$/,
    ],
    ['missing object', { transId: 't' }, 'amount', /^amount is missing; allowed is an object\.$/],
    [
      'missing inside',
      { ...good, amount: { value: 1 } },
      'amount.currency',
      /is missing; allowed is an active ISO 4217 code/,
    ],
    [
      'text for a number',
      { ...good, amount: { value: '5', currency: 'EUR' } },
      'amount.value',
      /is "5"; allowed is a whole number of 1 to 99/,
    ],
    [
      'fraction',
      { ...good, amount: { value: 1.5, currency: 'EUR' } },
      'amount.value',
      /is 1\.5; allowed is a whole number/,
    ],
    [
      'too low',
      { ...good, amount: { value: 0, currency: 'EUR' } },
      'amount.value',
      /is 0; allowed is a whole number of 1 to 99/,
    ],
    [
      'format',
      { ...good, amount: { value: 1, currency: 'XXX' } },
      'amount.currency',
      /is "XXX"; allowed is an active ISO 4217 code/,
    ],
    [
      'enum',
      { ...good, captureMethod: 'LATER' },
      'captureMethod',
      /is "LATER"; allowed is one of AUTOMATIC, MANUAL/,
    ],
    ['boolean', { ...good, flag: 'true' }, 'flag', /is "true"; allowed is true or false/],
    [
      'list path',
      { ...good, order: { items: [{ quantity: 1 }, { quantity: 0 }] } },
      'order.items[1].quantity',
      /is 0; allowed is a whole number of at least 1/,
    ],
    [
      'unknown behind a reference',
      { ...good, order: { items: [{ quantity: 1, nme: 'x' }] } },
      'order.items[0].nme',
      /did you mean name\?/,
    ],
    [
      'too many entries',
      { ...good, order: { items: Array(4).fill({ quantity: 1 }) } },
      'order.items',
      /at most 3 entries/,
    ],
    [
      'unknown beside members that are objects: the value may be a misplaced secret',
      { ...good, methods: { type: 'x', securityCode: '123' } },
      'methods.securityCode',
      /^methods\.securityCode is not a field that is known here; known are type, and an object under any other name\.$/,
    ],
    [
      'unknown, close to a known one',
      { ...good, captureMethd: 1 },
      'captureMethd',
      /not a field that is known here; did you mean captureMethod\?$/,
    ],
    [
      'unknown, far from all',
      { ...good, zzzzzzzz: 1 },
      'zzzzzzzz',
      /known are transId, amount, captureMethod/,
    ],
    [
      'unknown inside',
      { ...good, amount: { ...good.amount, tax: 1 } },
      'amount.tax',
      /not a field that is known here/,
    ],
    [
      'object where text is',
      { ...good, transId: { secret: 1 } },
      'transId',
      /^transId is an object; allowed is text/,
    ],
    [
      'alternatives by type',
      { ...good, note: 7 },
      'note',
      /is 7; allowed is text of at most 5 characters or null/,
    ],
    [
      'alternatives, the matching one',
      { ...good, note: 'too long' },
      'note',
      /is "too long"; allowed is text of at most 5/,
    ],
    [
      'alternatives told apart by a member',
      { ...good, target: { kind: 'CARD', planId: 'p' } },
      'target.planId',
      /not a field that is known here/,
    ],
    [
      'a member that no alternative knows',
      { ...good, target: { kind: 'BANK', cardId: 'p' } },
      'target.kind',
      /is "BANK"; allowed is one of PLAN, CARD/,
    ],
    [
      'an unknown field that makes the fields too many',
      { ...good, choice: { day: 1, wekk: 2 } },
      'choice.wekk',
      /not a field that is known here; did you mean week/,
    ],
    [
      'too many known fields',
      { ...good, choice: { day: 1, week: 2 } },
      'choice',
      /at most 1 of its fields: day, week/,
    ],
    ['too many members', { ...good, metadata: { a: 1, b: 2, c: 3 } }, 'metadata', /at most 2 fields/],
  ])('%s', (_, body, field, error) => {
    const [first] = errorsOf(body)
    expect(first?.field).toBe(field)
    expect(first?.error).toMatch(error)
  })
})

test('a valid body has no errors', () => {
  expect(
    errorsOf({ ...good, note: null, target: { kind: 'PLAN', planId: 'p' }, metadata: { a: [1] } }),
  ).toEqual([])
})

test('sensitive values are never shown, nor values within a sensitive object', () => {
  const [first, ...rest] = errorsOf({ ...good, card: { number: '4111 1111', name: 'Q' } })
  expect(first).toEqual({
    field: 'card.number',
    error:
      'card.number is not as it must be (the value is not shown); allowed is text in the form ^[0-9]{12,19}$.',
  })
  expect(JSON.stringify(rest)).not.toContain('"Q')
})

test('a card number in any field is masked before the value is cut', () => {
  const [first] = errorsOf({ ...good, transId: `${'x'.repeat(50)} 4111111111111111 ${'y'.repeat(50)}` })
  expect(first?.error).toContain('x 411111******')
  expect(first?.error).not.toContain('4111111111')
  expect(first?.error.length).toBeLessThan(200)
})

test('only the beginning of a long text is read, and digits at the cut are not shown', () => {
  const errorOf = (transId: string) => errorsOf({ ...good, transId })[0]?.error
  expect(errorOf('4 '.repeat(500_000))).toMatch(/^transId is "…"; /)
  expect(errorOf(`${'x'.repeat(250)}411111${'1'.repeat(500_000)}`)).not.toContain('4111')
})

test('errors are in document order, missing members last', () => {
  const fields = errorsOf({ zzz: 1, amount: { currency: 'X', value: 0 }, flag: 1 }).map(({ field }) => field)
  expect(fields).toEqual(['zzz', 'amount.currency', 'amount.value', 'flag', 'transId'])
})

test('at most 20 errors are rendered', () => {
  const unknown = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`unknown${at}`, 1]))
  expect(errorsOf({ ...good, ...unknown })).toHaveLength(20)
})

test('a huge body gets only its first error, without the thorough validation', () => {
  expect(errorsOf({ ...good, aaa: 1, bbb: 2 }, 1_000_000)).toHaveLength(1)
})

describe('conditions between fields', () => {
  const conditional = validation.compile(
    Type.Object(
      { type: Type.Enum(['DELAYED', 'NOW']), hours: Type.Optional(Type.Integer()) },
      { ...strict, if: { properties: { type: { const: 'NOW' } } }, else: { required: ['hours'] } },
    ),
    'body',
  )
  test('only the fields that the condition requires are named', () => {
    expect(conditional({ type: 'DELAYED' }, 10)).toEqual([
      { field: 'hours', error: 'hours is missing; allowed is a whole number.' },
    ])
  })

  const oneOf = validation.compile(
    Type.Object(
      { a: Type.Optional(Type.String()), b: Type.Optional(Type.String()) },
      { ...strict, oneOf: [{ required: ['a'] }, { required: ['b'] }] },
    ),
    'body',
  )
  test.each([
    [{}, 'body must have one of a, b.'],
    [{ a: '1', b: '2' }, 'body must have only one of a, b.'],
  ])('%j', (body, error) => {
    expect(oneOf(body, 10)).toEqual([{ field: 'body', error }])
  })

  const least = validation.compile(
    Type.Object({ a: Type.Optional(Type.String()) }, { ...strict, minProperties: 1 }),
    'body',
  )
  test('a body that needs at least one field is refused without any', () => {
    expect(least({}, 2)).toEqual([{ field: 'body', error: 'body must have at least 1 of its fields: a.' }])
  })
})

test('of a thousand errors only the shown ones are put into words, because that costs the most', () => {
  let worded = 0
  const counted = {
    never: {
      check: () => false,
      get allowed() {
        worded += 1
        return 'something else'
      },
    },
  }
  const every = createValidation({ formats: counted }).compile(
    Type.Record(Type.String(), Type.String({ format: 'never' })),
    'body',
  )
  const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`)
  const errors = every(Object.fromEntries(names.map(name => [name, 'x'])), 10_000)
  expect(errors.map(({ field }) => field)).toEqual(names.slice(0, 20))
  expect(worded).toBe(20)
})
