/**
 * Builds the OpenAPI 3.1 document from the table of endpoints, without special cases for single operations. Pure: the
 * same table always gives the same document, so the served, the checked-in and the linted one cannot differ.
 */

import assert from 'node:assert/strict'
import type { TSchema } from 'typebox'
import { isRecord, memberOf } from '#domain/json.ts'
import type { Access, Endpoint, Example } from '#http/endpoint.ts'
import type {
  ExamplePair,
  MediaObject,
  OpenApiDocument,
  OperationObject,
  ParameterObject,
  Reference,
  ResponseObject,
} from '#http/reference/document.ts'
import { everyAnswer, headers, listErrorAnswers } from '#http/reference/error-answers.ts'
import { examplePath, type Fields, fillPlaceholders, findExample } from '#http/reference/placeholders.ts'
import { createSchemaComponents, type SchemaComponents } from '#http/reference/schema-components.ts'
import { finishAtOnce, type Steps } from '#http/reference/steps.ts'

/** The part of an endpoint that the document needs. */
export type DescribedEndpoint = Omit<Endpoint, 'handle'>

/** A webhook message to the merchant: its schema and an example. */
export interface DescribedWebhook {
  readonly name: string
  readonly summary: string
  readonly schema: TSchema
  readonly example: unknown
}

export interface OpenApiOptions {
  readonly endpoints: readonly DescribedEndpoint[]
  readonly baseUrl: string
  readonly title: string
  readonly version: string
  readonly description: string
  /** Messages that the gateway sends to the merchant. */
  readonly webhooks?: readonly DescribedWebhook[]
  /** Schemas that replace those with the same title in the document, by title. */
  readonly describedAs?: ReadonlyMap<string, object>
  /** Order and description of the tags. Other tags of endpoints follow. */
  readonly tags?: readonly { readonly name: string; readonly description: string }[]
}

/**
 * Stand-ins for the reader's own credentials in examples; the reference page turns them into shell variables.
 */
export const exampleCredentials = { merchantId: 'MERCHANT_ID', apiKey: 'API_KEY' } as const

const securitySchemes = {
  basicAuth: {
    type: 'http',
    scheme: 'basic',
    description: 'User name: the merchant id. Password: the API key.',
  },
  bearerAuth: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A short-lived access token from the token endpoint.',
  },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'The bare API key; accepted on customer endpoints only.',
  },
} as const

const merchantSchemes: OperationObject['security'] = [{ basicAuth: [] }, { bearerAuth: [] }]
const securityByAccess: Readonly<Record<Access, OperationObject['security']>> = {
  open: [],
  merchant: merchantSchemes,
  customer: [...merchantSchemes, { apiKey: [] }],
  // The intent's own access token is a bearer token too; the operation describes what it allows.
  intent: merchantSchemes,
}

const idempotencyKey: ParameterObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'A key of your choice that makes the request safe to repeat: the same key with the same body gets the stored answer ' +
    'and nothing is done twice. Kept for 30 days.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
}

const referTo = (kind: 'headers' | 'parameters' | 'responses', name: string): Reference => ({
  $ref: `#/components/${kind}/${name}`,
})

const referToHeaders = (names: readonly string[]): Record<string, Reference> =>
  Object.fromEntries(names.map(name => [name, referTo('headers', name)]))

export const buildOpenApi = (options: OpenApiOptions): OpenApiDocument => finishAtOnce(describeApi(options))

/** Describes one endpoint per step. */
export function* describeApi(options: OpenApiOptions): Steps<OpenApiDocument> {
  const { baseUrl, description, endpoints, title, version } = options
  const components = createSchemaComponents(options.describedAs)
  const responses: Record<string, ResponseObject> = {}
  const paths: Record<string, Record<string, OperationObject>> = {}
  const operationIds = new Set<string>()
  for (const endpoint of endpoints) {
    assert(
      !operationIds.has(endpoint.operationId),
      `two endpoints have the operationId ${endpoint.operationId}`,
    )
    operationIds.add(endpoint.operationId)
    paths[endpoint.path] ??= {}
    const operations = paths[endpoint.path] ?? {}
    const verb = endpoint.verb.toLowerCase()
    assert(!(verb in operations), `two endpoints answer ${endpoint.verb} ${endpoint.path}`)
    operations[verb] = describeOperation(endpoint, { endpoints, components, responses })
    yield
  }
  const webhooks = Object.fromEntries(
    (options.webhooks ?? []).map(webhook => [webhook.name, describeWebhook(webhook, components)]),
  )
  const used = JSON.stringify([paths, responses])
  const usedOnly = <T>(kind: 'headers' | 'parameters', all: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(
      Object.entries(all).filter(([name]) => used.includes(`"#/components/${kind}/${name}"`)),
    )
  return {
    openapi: '3.1.0',
    info: { title, version, description, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: baseUrl, description: 'This gateway' }],
    tags: listTags(endpoints, options.tags ?? []),
    paths,
    ...(options.webhooks ? { webhooks } : {}),
    components: {
      securitySchemes: Object.fromEntries(
        Object.entries(securitySchemes).filter(([name]) => used.includes(`"${name}":[]`)),
      ),
      schemas: sortByName(components.schemas),
      parameters: usedOnly('parameters', { [idempotencyKey.name]: idempotencyKey }),
      headers: usedOnly('headers', headers),
      responses: sortByName(responses),
    },
  }
}

const signedHeaders: readonly ParameterObject[] = [
  ['webhook-id', 'The id of the event, the same at every attempt and at every endpoint.'],
  ['webhook-timestamp', 'When this attempt was made, in seconds.'],
  ['webhook-signature', 'One signature for each secret that is valid, separated by spaces.'],
].map(([name = '', description = '']) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
}))

function describeWebhook(
  { name, summary, schema, example }: DescribedWebhook,
  components: SchemaComponents,
): NonNullable<OpenApiDocument['webhooks']>[string] {
  const media = {
    schema: components.render(schema),
    examples: { example: { summary, value: example } },
  }
  const operationId = `on${name.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}`
  return {
    post: {
      operationId,
      summary,
      description: 'Sent to the addresses that want it, until one attempt is answered with 2xx.',
      tags: ['Events'],
      security: [],
      parameters: signedHeaders,
      requestBody: { required: true, content: { 'application/json': media } },
      responses: { 204: { description: 'Taken. Any other 2xx means the same; the body is not read.' } },
    },
  }
}

interface Parts {
  readonly endpoints: readonly DescribedEndpoint[]
  readonly components: SchemaComponents
  readonly responses: Record<string, ResponseObject>
}

function describeOperation(endpoint: DescribedEndpoint, parts: Parts): OperationObject {
  const { operationId, summary, description, tag, version, access } = endpoint
  const examples = nameExamples(endpoint, parts.endpoints)
  const parameters = [
    ...listParameters(endpoint.params, 'path', parts.components),
    ...listParameters(endpoint.query, 'query', parts.components),
    ...(endpoint.idempotent ? [referTo('parameters', idempotencyKey.name)] : []),
  ]
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    'x-version': version,
    'x-access': access,
    security: securityByAccess[access],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(endpoint.body ? { requestBody: describeBody(endpoint, endpoint.body, { examples, parts }) } : {}),
    responses: {
      ...describeAnswers(endpoint, examples, parts),
      ...describeErrors(endpoint, examples, parts),
    },
    'x-examples': examples.map(({ pair }) => pair),
  }
}

interface NamedExample {
  readonly pair: ExamplePair
  readonly body: unknown
  readonly answer: unknown
}

/** Names each example after its summary and fills its placeholders from the answers of earlier examples. */
function nameExamples(endpoint: DescribedEndpoint, endpoints: readonly DescribedEndpoint[]): NamedExample[] {
  const names = new Set<string>()
  return endpoint.examples.map(example => {
    const { summary, status, query, after } = example
    const name = summary
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
    assert(!names.has(name), `${endpoint.operationId} has two examples with the summary "${summary}"`)
    names.add(name)
    const fields = collectFields(example, endpoints)
    const path = examplePath(endpoint, example)
    // Throws if the path needs a field that no earlier answer has.
    fillPlaceholders(path, fields)
    return {
      pair: { name, summary, status, path, ...(query ? { query } : {}), ...(after ? { after } : {}) },
      body: fillPlaceholders(example.body, fields),
      answer: fillPlaceholders(example.answer, fields),
    }
  })
}

function collectFields(example: Example, endpoints: readonly DescribedEndpoint[]): Fields {
  let fields: Fields = exampleCredentials
  for (const operationId of example.after ?? []) {
    const earlier = findExample(endpoints, operationId).example
    const known = { ...fields, ...collectFields(earlier, endpoints) }
    const answer = fillPlaceholders(earlier.answer, known)
    fields = { ...known, ...(isRecord(answer) ? answer : {}) }
  }
  return fields
}

function listParameters(
  schema: TSchema | undefined,
  place: 'path' | 'query',
  components: SchemaComponents,
): ParameterObject[] {
  if (schema === undefined) return []
  const properties = memberOf(schema, 'properties')
  const required = requiredOf(schema)
  return Object.entries(isRecord(properties) ? properties : {}).map(([name, property]) => {
    const { description, ...rendered } = components.render(isRecord(property) ? property : {})
    return {
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rendered,
    }
  })
}

function requiredOf(schema: TSchema): readonly unknown[] {
  const names = memberOf(schema, 'required')
  return Array.isArray(names) ? names : []
}

function describeBody(
  endpoint: DescribedEndpoint,
  body: TSchema,
  { examples, parts }: { examples: readonly NamedExample[]; parts: Parts },
): NonNullable<OperationObject['requestBody']> {
  const sent = examples.filter(example => example.body !== undefined)
  const media: MediaObject = {
    schema: parts.components.render(body),
    ...gatherExamples(sent, example => example.body),
  }
  // If an empty object is valid, the body may be omitted.
  const required = requiredOf(body).length > 0
  return { required, content: { [endpoint.accepts ?? 'application/json']: media } }
}

function gatherExamples(
  examples: readonly NamedExample[],
  pick: (example: NamedExample) => unknown,
): Pick<MediaObject, 'examples'> {
  if (examples.length === 0) return {}
  return {
    examples: Object.fromEntries(
      examples.map(example => [example.pair.name, { summary: example.pair.summary, value: pick(example) }]),
    ),
  }
}

const answered = (examples: readonly NamedExample[], status: number): Pick<MediaObject, 'examples'> =>
  gatherExamples(
    examples.filter(example => example.pair.status === status),
    example => example.answer,
  )

function describeAnswers(
  endpoint: DescribedEndpoint,
  examples: readonly NamedExample[],
  parts: Parts,
): Record<string, ResponseObject> {
  const names = [
    ...everyAnswer,
    // A request without credentials counts against no merchant's limit.
    ...(endpoint.access === 'open' ? [] : ['RateLimit', 'RateLimit-Policy']),
    ...(endpoint.idempotent ? ['Idempotent-Replayed'] : []),
  ]
  return Object.fromEntries(
    Object.entries(endpoint.answers).map(([status, schema]) => [
      status,
      {
        description:
          Number(status) < 400 ? 'Done.' : 'Understood, but declined or refused; `responseCode` says why.',
        headers: referToHeaders(names),
        content: {
          'application/json': {
            schema: parts.components.render(schema),
            ...answered(examples, Number(status)),
          },
          ...(Number(status) < 300 ? describeOthers(endpoint) : {}),
        },
      },
    ]),
  )
}

/** Other media types, requested by Accept, are described in words. */
const describeOthers = ({ alsoAnswers = {} }: DescribedEndpoint): Record<string, MediaObject> =>
  Object.fromEntries(
    Object.entries(alsoAnswers).map(([type, description]) => [
      type,
      { schema: { type: 'string', description } },
    ]),
  )

function describeErrors(
  endpoint: DescribedEndpoint,
  examples: readonly NamedExample[],
  parts: Parts,
): Record<string, ResponseObject | Reference> {
  return Object.fromEntries(
    listErrorAnswers(endpoint).map(error => {
      const media = { schema: parts.components.render(error.schema), ...answered(examples, error.status) }
      const response: ResponseObject = {
        description: error.description,
        headers: referToHeaders(error.headers),
        content: { [error.mediaType]: media },
      }
      // An error with its own example is described in place, the others are shared components.
      if (media.examples !== undefined) return [error.status, response]
      parts.responses[error.name] ??= response
      return [error.status, referTo('responses', error.name)]
    }),
  )
}

function listTags(
  endpoints: readonly DescribedEndpoint[],
  described: NonNullable<OpenApiOptions['tags']>,
): OpenApiDocument['tags'] {
  const names = new Set(endpoints.map(endpoint => endpoint.tag))
  const known = described.filter(tag => names.has(tag.name))
  const rest = [...names].filter(name => !known.some(tag => tag.name === name))
  return [...known, ...rest.map(name => ({ name, description: `Operations on ${name.toLowerCase()}.` }))]
}

const sortByName = <T>(record: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)))
