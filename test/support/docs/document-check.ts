/**
 * Checks every request and answer of a test gateway against the published OpenAPI document, as a validating proxy
 * would: an answer must be described (status, media type, body), and a request that the gateway accepted must be
 * allowed by the document.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { isInstant } from '#domain/time/dates.ts'
import { webhooks } from '#endpoints/events/webhook-examples.ts'
import { endpoints } from '#endpoints/index.ts'
import { describedAs } from '#endpoints/method-union.ts'
import type { OpenApiDocument, OperationObject, ParameterObject } from '#http/reference/document.ts'
import { about } from '#http/reference/document.ts'
import { buildOpenApi } from '#http/reference/openapi.ts'
import { keepServed } from '#http/reference/placeholders.ts'
import { formats } from '#schemas/parts/formats.ts'
import { compiledPlainly } from '#test/support/docs/check-schema.ts'

export interface Exchange {
  readonly verb: string
  /** With its query, below the base address. */
  readonly path: string
  /** The body as sent: text, or any other value as JSON. */
  readonly sent: unknown
  readonly status: number
  readonly mediaType: string
  readonly answer: string
}

interface Described {
  readonly verb: string
  readonly template: string
  readonly pattern: RegExp
  readonly operation: OperationObject
}

export interface DocumentCheck {
  /** The violations of the document by an exchange; empty if there are none. */
  listViolations(exchange: Exchange): string[]
}

const baseUrl = 'http://127.0.0.1/api/v2'

/** As the gateway itself publishes it: live has no endpoints for tests. */
const publish = (environment: 'test' | 'live'): OpenApiDocument => {
  const served = endpoints.filter(({ testOnly }) => environment === 'test' || !testOnly)
  return buildOpenApi({ ...about, endpoints: keepServed(served), webhooks, describedAs, baseUrl })
}

export function createDocumentCheck(environment: 'test' | 'live'): DocumentCheck {
  const document = publish(environment)
  const operations = listDescribed(document)
  const compile = createCompiler(document)

  const checkAnswer = ({ template, verb, operation }: Described, exchange: Exchange): string[] => {
    const found = operation.responses[exchange.status]
    if (found === undefined) return [`status ${exchange.status} is not described`]
    const place =
      '$ref' in found
        ? found.$ref.slice(2).split('/')
        : ['paths', template, verb, 'responses', String(exchange.status)]
    const response = '$ref' in found ? document.components.responses[place.at(-1) ?? ''] : found
    const content = response?.content ?? {}
    if (Object.keys(content).length === 0) return exchange.answer === '' ? [] : ['a body is not described']
    if (content[exchange.mediaType] === undefined) return [`${exchange.mediaType} is not described`]
    if (!exchange.mediaType.endsWith('json')) return []
    return judge(
      compile([...place, 'content', exchange.mediaType, 'schema']),
      JSON.parse(exchange.answer),
      'answer',
    )
  }

  const checkRequest = ({ template, verb, operation }: Described, exchange: Exchange): string[] => {
    const url = new URL(exchange.path, 'http://gateway')
    const described = (operation.parameters ?? []).filter(
      (parameter): parameter is ParameterObject => 'in' in parameter && parameter.in === 'query',
    )
    const unknown = [...url.searchParams.keys()].filter(
      key => !described.some(parameter => parameter.name === key),
    )
    const media = Object.keys(operation.requestBody?.content ?? {})[0]
    if (media === undefined && exchange.sent !== undefined) return ['a body of the request is not described']
    if (media !== 'application/json' || exchange.sent === undefined || exchange.sent instanceof Uint8Array)
      return unknown.map(key => `query ${key} is not described`)
    const body = typeof exchange.sent === 'string' ? JSON.parse(exchange.sent) : exchange.sent
    return [
      ...unknown.map(key => `query ${key} is not described`),
      ...judge(
        compile(['paths', template, verb, 'requestBody', 'content', media, 'schema']),
        // Members that JSON omits were not sent.
        JSON.parse(JSON.stringify(body)),
        'request',
      ),
    ]
  }

  return {
    listViolations(exchange) {
      const path = exchange.path.split('?')[0] ?? ''
      const verb = exchange.verb.toLowerCase()
      const described = operations.find(each => each.verb === verb && each.pattern.test(path))
      if (described === undefined) return []
      const found = [
        ...checkAnswer(described, exchange),
        ...(exchange.status < 400 ? checkRequest(described, exchange) : []),
      ]
      return found.map(text => `${exchange.verb} ${described.template} (${exchange.status}): ${text}`)
    },
  }
}

/** Paths without parameters come first: /payments/links is not a payment. */
function listDescribed(document: OpenApiDocument): Described[] {
  return Object.entries(document.paths)
    .sort(([a], [b]) => a.split('{').length - b.split('{').length)
    .flatMap(([template, item]) =>
      Object.entries(item).map(([verb, operation]) => ({
        verb,
        template,
        pattern: new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`),
        operation,
      })),
    )
}

const toPointer = (step: string): string =>
  encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))

function createCompiler(document: OpenApiDocument): (place: readonly string[]) => ValidateFunction {
  // The document as a whole is no JSON schema, hence not strict.
  const ajv = new Ajv2020({ strict: false, ...compiledPlainly })
  for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format.check)
  // An answer may name a moment after the last one that a request may name: the end of a page opened on the last day.
  ajv.addFormat('date-time', text => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) || isInstant(text))
  // By RFC 3986, which allows only ASCII letters, because other programs that read the document use it.
  ajv.addFormat('uri', /^[a-z][a-z0-9+.-]*:[!#-;=?-[\]_a-z~%]+$/i)
  ajv.addSchema(document, 'openapi.json')
  const compiled = new Map<string, ValidateFunction>()
  return place => {
    const pointer = place.map(toPointer).join('/')
    const known = compiled.get(pointer) ?? ajv.compile({ $ref: `openapi.json#/${pointer}` })
    compiled.set(pointer, known)
    return known
  }
}

function judge(validate: ValidateFunction, value: unknown, what: string): string[] {
  validate(value)
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${what}${instancePath} ${message ?? 'is wrong'} ${JSON.stringify(params)}`,
  )
}
