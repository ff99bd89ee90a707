/** Compiles a schema the way the server does, strictly and with our formats, and says which fields of a body are wrong. */
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { annotationKeywords } from '#schemas/parts/fields.ts'
import { formats } from '#schemas/parts/formats.ts'

/** Neither inlined nor optimised: compiling long schemas would take longer than the few checks that follow. */
export const compiledPlainly = { inlineRefs: false, code: { optimize: false } } as const

// As in the server: a condition speaks about members that are typed beside it.
const ajv = new Ajv2020({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  allErrors: true,
  ...compiledPlainly,
})
for (const keyword of annotationKeywords) ajv.addKeyword(keyword)
for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format.check)

export function compileCheck(schema: TSchema): (body: unknown) => string[] {
  const validate = ajv.compile(schema)
  return body => {
    validate(body)
    // `if` only repeats that its then or else branch failed, and propertyNames that a name did.
    const errors = (validate.errors ?? []).filter(error => !['if', 'propertyNames'].includes(error.keyword))
    return [...new Set(errors.map(toField))].sort()
  }
}

function toField(error: ErrorObject): string {
  const last = error.params.missingProperty ?? error.params.additionalProperty ?? error.propertyName
  const steps = error.instancePath.split('/').slice(1)
  const path = [...steps, ...(last === undefined ? [] : [String(last)])]
  return path.reduce(
    (field, step) => (/^[0-9]+$/.test(step) ? `${field}[${step}]` : field ? `${field}.${step}` : step),
    '',
  )
}
