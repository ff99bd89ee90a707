/** Adyen's own documents, from the folder beside the project. Where that is absent, tests say so and leave the comparison out. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { AnyJson } from '#test/support/any-json.ts'

const folder = new URL('../../../shared/providers/adyen/', import.meta.url)

export const hasAdyenDocuments: boolean = existsSync(new URL('CheckoutService-v72.json', folder))

export const absenceNote =
  'The folder ../shared/providers/adyen is absent: the comparison with Adyen’s documents is left out.'

if (!hasAdyenDocuments) console.info(absenceNote)

export const readAdyenDocument = (name: string): AnyJson =>
  JSON.parse(readFileSync(new URL(name, folder), 'utf8'))

export const listRecordings = (ending: string): readonly string[] =>
  readdirSync(new URL('recordings/', folder)).filter(name => name.endsWith(ending))

export const readRecording = (name: string): string =>
  readFileSync(new URL(`recordings/${name}`, folder), 'utf8')

/** Compiles one schema of a document; `undefined` is a fitting value, a text says what does not fit. */
export function compileDocument(name: string): (schema: string) => (value: unknown) => string | undefined {
  const ajv = new Ajv2020({ strict: false, validateSchema: false, validateFormats: false })
  ajv.addSchema(readAdyenDocument(name), 'document')
  const compiled = new Map<string, ValidateFunction>()
  return schema => value => {
    const validate = compiled.get(schema) ?? ajv.compile({ $ref: `document#/components/schemas/${schema}` })
    compiled.set(schema, validate)
    if (validate(value)) return undefined
    return ajv.errorsText(validate.errors)
  }
}
