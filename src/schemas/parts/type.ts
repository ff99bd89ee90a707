/**
 * Creates schemas with the types of TypeBox but without its code, whose 370 files take a tenth of the start time. The
 * schemas equal TypeBox's; type.test.ts compares them.
 */
import type { TSchema, Type as TypeBox } from 'typebox'

type Schema = Readonly<Record<string, unknown>>

const make = (own: Schema, options: Schema | undefined): TSchema => ({ ...own, ...options })

const plain = (type: string) => (options?: Schema) => make({ type }, options)

/** Marks optional members for `object`. Invisible to validators and the OpenAPI document. */
const optionalMark = '~optional'

const object = (properties: Readonly<Record<string, TSchema>>, options?: Schema): TSchema => {
  const required = Object.keys(properties).filter(name => !(optionalMark in (properties[name] ?? {})))
  return make({ type: 'object', ...(required.length > 0 ? { required } : {}), properties }, options)
}

const optional = (schema: TSchema): TSchema =>
  Object.defineProperty({ ...schema }, optionalMark, { value: true })

/** Records with any key, the only kind that we need. */
const record = (_: TSchema, value: TSchema, options?: Schema): TSchema =>
  make({ type: 'object', patternProperties: { '^.*$': value } }, options)

const makers = {
  Object: object,
  Optional: optional,
  Record: record,
  String: plain('string'),
  Integer: plain('integer'),
  Number: plain('number'),
  Boolean: plain('boolean'),
  Null: plain('null'),
  Unknown: (options?: Schema) => make({}, options),
  Array: (items: TSchema, options?: Schema) => make({ type: 'array', items }, options),
  Union: (anyOf: readonly TSchema[], options?: Schema) => make({ anyOf }, options),
  Enum: (values: readonly string[], options?: Schema) => make({ enum: values }, options),
  Literal: (value: string | number | boolean, options?: Schema) =>
    make({ type: typeof value, const: value }, options),
  Ref: ($ref: string, options?: Schema) => make({ $ref }, options),
}

/** The cast uses TypeBox's types, which infer the type of a value from its schema. */
export const Type = makers as unknown as Pick<typeof TypeBox, keyof typeof makers>
