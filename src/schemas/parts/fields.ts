/**
 * Helpers for writing schemas, so that a property fits on one line and no object is left open by mistake. Two
 * annotations, which validate nothing: `sensitive: true` marks a value that no error text may repeat, `alsoSpelt` an
 * alternative name in requests.
 */
import type { TObjectOptions, TProperties, TSchema, TSchemaOptions, TStringOptions } from 'typebox'
import { Type } from '#schemas/parts/type.ts'

/** Our own keywords, which must be declared to a strict validator. */
export const annotationKeywords: readonly string[] = ['sensitive', 'alsoSpelt']

/** 255: enough for references and remarks, too little for documents. */
export const freeTextMax = 255

export const text = (maxLength: number, description: string, options: TStringOptions = {}) =>
  Type.String({ maxLength, description, ...options })

/** A text whose format also limits its length. */
export const formatted = (format: string, description: string, options: TStringOptions = {}) =>
  Type.String({ format, description, ...options })

/** A URL that we generate: ASCII only. */
export const url = (description: string) => Type.String({ format: 'uri', maxLength: 2048, description })

/** A URL from a merchant: the URL standard accepts letters of any script, which `uri` does not. */
export const givenUrl = (description: string) => Type.String({ format: 'iri', maxLength: 2048, description })

export const choice = <Values extends string[]>(values: readonly [...Values], description: string) =>
  Type.Enum(values, { type: 'string', description })

export const whole = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description })

export const flag = (description: string, options: TSchemaOptions = {}) =>
  Type.Boolean({ description, ...options })

export const optional = Type.Optional

/**
 * A filter that must not be empty: an empty one is a mistake of the caller, such as an unset variable, and never
 * matches.
 */
export const filled = (maxLength: number, description: string) =>
  optional(text(maxLength, description, { minLength: 1 }))

export const emailFilter = (description: string) =>
  optional(formatted('email', description, { maxLength: 254 }))

/** An object that refuses unknown members. */
export const closed = <Properties extends TProperties>(properties: Properties, options: TObjectOptions) =>
  Type.Object(properties, { ...options, additionalProperties: false })

/** The body of a request that needs none. `{}` and no body are equivalent. */
export const noMembers = closed({}, { title: 'NoMembers', description: 'Has no members.' })

/** An object whose additional members must all match one schema. */
export const closedBut = <Properties extends TProperties>(
  properties: Properties,
  others: TSchema,
  options: TObjectOptions,
) => Type.Object(properties, { ...options, additionalProperties: others })

/** A condition between members: `consequence` must hold if `condition` is met, `otherwise` if it is not. */
export const when = (condition: object, consequence: object, otherwise?: object) => ({
  if: condition,
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema, and nobody awaits a schema.
  then: consequence,
  ...(otherwise ? { else: otherwise } : {}),
})
