/** Adyen's own documents, from the folder beside the project. Where that is absent, tests say so and leave the comparison out. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import type { HttpRequest } from '#connectors/contract.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { compiledPlainly } from '#test/support/docs/check-schema.ts'

const folder = new URL('../../../../shared/providers/adyen/', import.meta.url)

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
  const ajv = new Ajv2020({
    strict: false,
    validateSchema: false,
    validateFormats: false,
    ...compiledPlainly,
  })
  ajv.addSchema(readAdyenDocument(name), 'document')
  const compiled = new Map<string, ValidateFunction>()
  return schema => value => {
    const validate = compiled.get(schema) ?? ajv.compile({ $ref: `document#/components/schemas/${schema}` })
    compiled.set(schema, validate)
    if (validate(value)) return undefined
    return ajv.errorsText(validate.errors)
  }
}

/** Finds the call in a document by verb and path and holds its body or query against it; a text says what does not fit. */
export function openCalls(name: string): (request: HttpRequest) => string | undefined {
  const { paths, servers } = readAdyenDocument(name)
  const compile = compileDocument(name)
  const base = new URL(servers[0].url).pathname
  return ({ verb, url, body }) => {
    const { pathname, searchParams } = new URL(url)
    const path = Object.keys(paths).find(
      pattern => paths[pattern][verb.toLowerCase()] && fitsPath(pathname, `${base}${pattern}`),
    )
    const call = path === undefined ? undefined : paths[path][verb.toLowerCase()]
    if (call === undefined) return `no ${verb} ${pathname}`
    const { $ref } = call.requestBody?.content['application/json'].schema ?? {}
    if ($ref !== undefined) return compile($ref.split('/').at(-1))(JSON.parse(String(body)))
    const known = call.parameters.filter((parameter: AnyJson) => parameter.in === 'query')
    const names: string[] = known.map((parameter: AnyJson) => parameter.name)
    return [...searchParams.keys()].find(given => !names.includes(given))
  }
}

const fitsPath = (path: string, pattern: string): boolean =>
  new RegExp(`^${pattern.replaceAll(/\{[^}]+\}/g, '(?!details$)[^/]+')}$`).test(path)
