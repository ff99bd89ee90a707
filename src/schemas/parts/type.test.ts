/** Schemas that are made here are those that TypeBox makes. */
import { Type as TypeBox } from 'typebox'
import { expect, test } from 'vitest'
import { Type } from '#schemas/parts/type.ts'

const makeOneOfEach = (type: typeof Type) =>
  type.Object(
    {
      text: type.String({ minLength: 1 }),
      mayBeAbsent: type.Optional(type.Integer({ minimum: 0 })),
      number: type.Number(),
      yes: type.Boolean({ description: 'said' }),
      choice: type.Enum(['A', 'B'], { deprecated: true }),
      either: type.Union([type.Literal('X'), type.Literal(7), type.Literal(true), type.Null()]),
      list: type.Optional(type.Array(type.Ref('Line'), { maxItems: 3 })),
      anything: type.Unknown(),
      byName: type.Record(type.String(), type.Unknown(), { maxProperties: 2 }),
      nothingNeeded: type.Object({ one: type.Optional(type.String()) }),
    },
    { additionalProperties: false },
  )

test('every kind of schema is built with its options', () => {
  expect(JSON.stringify(makeOneOfEach(Type))).toBe(JSON.stringify(makeOneOfEach(TypeBox)))
})

test('an optional member leaves the schema that it was made of as it was', () => {
  const text = Type.String()
  Type.Optional(text)
  expect(Type.Object({ text })).toMatchObject({ required: ['text'] })
})
