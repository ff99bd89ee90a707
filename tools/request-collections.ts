/**
 * Renders the requests of the API for the programs that people try APIs with: one collection for Postman and Bruno, and one
 * file for the HTTP clients of editors. Both are made from the OpenAPI document and its examples; ids go from one answer
 * to the next request by variables.
 */
import type { OpenApiDocument } from './client-types.ts'

interface Example {
  readonly summary: string
  readonly value: unknown
}

interface DocumentedOperation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly 'x-access': string
  readonly 'x-examples'?: readonly { readonly query?: Readonly<Record<string, string>> }[]
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly examples?: Readonly<Record<string, Example>> }>>
  }
}

export interface SampleRequest {
  readonly operationId: string
  /** The operation's id; a number follows for its second example and those after it. */
  readonly name: string
  readonly title: string
  readonly tag: string
  readonly verb: string
  /** With variables: /payments/{{payId}}/captures. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Undefined: none. Text with variables. */
  readonly json?: string
  readonly form?: Readonly<Record<string, string>>
  readonly authorization: 'merchant' | 'intent' | 'none'
  /** The members of the answer to save, by the variable that gets them. */
  readonly saves: Readonly<Record<string, string>>
}

/** An `id` in a path has a specific name everywhere else. */
const idNames: readonly (readonly [start: string, variable: string])[] = [
  ['/payments/getByTransId/', 'transId'],
  ['/payments/links/', 'linkId'],
  ['/payments/', 'payId'],
  ['/payment-intents/', 'intentId'],
  ['/customers/', 'customerId'],
  ['/events/', 'eventId'],
  ['/disputes/', 'disputeId'],
]

const saved: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  createPayment: { payId: 'payId', transId: 'transId' },
  createLink: { linkId: 'id' },
  createPaymentIntent: { intentId: 'id' },
  listCustomers: { customerId: 'data.0.id' },
  listStoredMethods: { paymentMethodId: 'data.0.id' },
  listPaymentPlans: { paymentPlanId: 'data.0.paymentPlanId' },
  listEvents: { eventId: 'data.0.id' },
  listDisputes: { disputeId: 'data.0.disputeId' },
}

/** The variables that the reader fills in; answers fill the others. */
export const givenVariables = ['baseUrl', 'merchantId', 'apiKey', 'clientToken'] as const

export const savedVariables: readonly string[] = [
  ...new Set(Object.values(saved).flatMap(variables => Object.keys(variables))),
]

const use = (name: string): string => `{{${name}}}`

const nameOf = (path: string, parameter: string): string =>
  parameter === 'id' ? (idNames.find(([start]) => path.startsWith(start))?.[1] ?? parameter) : parameter

const fillPath = (path: string): string =>
  path.replace(/\{(\w+)\}/g, (_, parameter: string) => use(nameOf(path, parameter)))

/** Examples of queries name the member of an answer, such as {payId}. */
const fillQuery = (query: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [name, value.replace(/^\{([\w.]+)\}$/, (_, of) => use(of))]),
  )

/** An order is paid once: its transId carries the time, so that a request can be sent again. Ids of ours are variables. */
function fillBody(value: unknown): string {
  const filled = Object.entries(value as Record<string, unknown>).map(([name, member]) => {
    if (name === 'transId' && typeof member === 'string') return [name, `${member}-${use('$timestamp')}`]
    return savedVariables.includes(name) && typeof member === 'string' ? [name, use(name)] : [name, member]
  })
  return JSON.stringify(Object.fromEntries(filled), null, 2)
}

function renderBody(type: string, { value }: Example): Pick<SampleRequest, 'json' | 'form'> {
  if (type !== 'application/x-www-form-urlencoded') return { json: fillBody(value) }
  const form = { ...(value as Record<string, string>) }
  return { form: { ...form, client_id: use('merchantId'), client_secret: use('apiKey') } }
}

type Variant = Pick<SampleRequest, 'name' | 'title' | 'json' | 'form' | 'saves'>

/** One for each example of the body. Only the first one's ids are saved, because the requests after it are about that one. */
function listVariants({ operationId, summary, requestBody }: DocumentedOperation): readonly Variant[] {
  const first = { name: operationId, title: summary, saves: saved[operationId] ?? {} }
  const [type = '', content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const examples = Object.values(content?.examples ?? {})
  if (examples.length === 0) return [first]
  return examples.map((example, index) => ({
    ...(index === 0
      ? first
      : { name: `${operationId}${index + 1}`, title: `${summary}: ${example.summary}`, saves: {} }),
    ...renderBody(type, example),
  }))
}

/** Intents are confirmed by a customer's device, with the token of the intent. */
const authorizationOf = ({ operationId, 'x-access': access }: DocumentedOperation) =>
  access === 'open' ? 'none' : operationId === 'confirmPaymentIntent' ? 'intent' : 'merchant'

export function listRequests({ paths }: OpenApiDocument): readonly SampleRequest[] {
  return Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).flatMap(([verb, found]) => {
      const operation = found as unknown as DocumentedOperation
      return listVariants(operation).map(variant => ({
        operationId: operation.operationId,
        tag: operation.tags[0] ?? 'Others',
        verb: verb.toUpperCase(),
        path: fillPath(path),
        query: fillQuery(operation['x-examples']?.[0]?.query),
        authorization: authorizationOf(operation),
        ...variant,
      }))
    }),
  )
}

const toQueryText = (query: Readonly<Record<string, string>>): string => {
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${value}`)
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

const toFormText = (form: Readonly<Record<string, string>>): string =>
  Object.entries(form)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')

const headersFor = {
  merchant: [`Authorization: Basic ${use('merchantId')} ${use('apiKey')}`],
  intent: [`Authorization: Bearer ${use('clientToken')}`],
  none: [],
} as const

function renderHttpRequest(request: SampleRequest): string {
  const { name, title, verb, path, query, json, form, authorization, saves } = request
  const type =
    json === undefined
      ? form && 'Content-Type: application/x-www-form-urlencoded'
      : 'Content-Type: application/json'
  const body = json ?? (form && toFormText(form))
  const lines = [
    `### ${title}`,
    `# @name ${name}`,
    `${verb} ${use('baseUrl')}${path}${toQueryText(query)}`,
    ...headersFor[authorization],
    ...(type === undefined ? [] : [type]),
    ...(body === undefined ? [] : ['', body]),
    '',
    ...renderSaved(name, saves),
  ]
  return lines.join('\n').trimEnd()
}

/** In a block of their own, because everything after a request is its body; they read the newest answer. */
function renderSaved(request: string, saves: SampleRequest['saves']): readonly string[] {
  const lines = Object.entries(saves).map(
    ([name, member]) => `@${name} = ${use(`${request}.response.body.$.${toJsonPath(member)}`)}`,
  )
  return lines.length === 0 ? [] : ['###', ...lines]
}

const toJsonPath = (member: string): string => member.replace(/\.(\d+)/g, '[$1]')

/** For the REST client of Visual Studio Code and for editors that read the same form. */
export function renderHttpFile(document: OpenApiDocument, baseUrl: string): string {
  const head = [
    '# Every request of the API. Made by "npm run generate"; change the variables, not the requests.',
    '# "npm start" prints merchant id and API key. Send "Create a payment" first: later requests use its ids.',
    `@baseUrl = ${baseUrl}`,
    '@merchantId = MERCHANT_ID',
    '@apiKey = API_KEY',
    '# Of a payment intent; docs/payment-intents.md tells how an app gets it.',
    '@clientToken = CLIENT_TOKEN',
  ].join('\n')
  return `${[head, ...listRequests(document).map(renderHttpRequest)].join('\n\n')}\n`
}

const scriptOf = (saves: SampleRequest['saves']): readonly string[] =>
  Object.entries(saves).map(([name, member]) => {
    const way = member.replace(/\.(\d+)/g, '?.[$1]').replace(/\]\./g, ']?.')
    return `if (pm.response.json().${way} !== undefined) pm.collectionVariables.set('${name}', pm.response.json().${way})`
  })

const toPairs = (values: Readonly<Record<string, string>>) =>
  Object.entries(values).map(([key, value]) => ({ key, value }))

function toPostmanBody({ json, form }: SampleRequest) {
  if (json !== undefined) return { mode: 'raw', raw: json, options: { raw: { language: 'json' } } }
  return form && { mode: 'urlencoded', urlencoded: toPairs(form) }
}

const toPostmanAuth = (authorization: SampleRequest['authorization']) =>
  authorization === 'merchant'
    ? undefined
    : authorization === 'none'
      ? { type: 'noauth' }
      : { type: 'bearer', bearer: [{ key: 'token', value: use('clientToken') }] }

function toPostmanItem(request: SampleRequest) {
  const { operationId, title, verb, path, query, saves, authorization } = request
  const script = scriptOf(saves)
  return {
    name: title,
    ...(script.length === 0
      ? {}
      : { event: [{ listen: 'test', script: { type: 'text/javascript', exec: script } }] }),
    request: {
      method: verb,
      description: `operationId: ${operationId}`,
      auth: toPostmanAuth(authorization),
      body: toPostmanBody(request),
      url: {
        raw: `${use('baseUrl')}${path}${toQueryText(query)}`,
        host: [use('baseUrl')],
        path: path.slice(1).split('/'),
        ...(Object.keys(query).length === 0 ? {} : { query: toPairs(query) }),
      },
    },
  }
}

/** In the form v2.1, which Postman opens and Bruno imports. */
export function renderCollection(document: OpenApiDocument, baseUrl: string): string {
  const folders = Map.groupBy(listRequests(document), ({ tag }) => tag)
  const collection = {
    info: {
      name: 'Tollgate',
      description:
        'Every request of the API, made by "npm run generate". Fill in merchantId and apiKey, which "npm start" prints; ' +
        'ids go from one answer to the next request by themselves.',
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: {
      type: 'basic',
      basic: [
        { key: 'username', value: use('merchantId') },
        { key: 'password', value: use('apiKey') },
      ],
    },
    variable: [
      { key: 'baseUrl', value: baseUrl },
      ...givenVariables.slice(1).map(key => ({ key, value: '' })),
      ...savedVariables.map(key => ({ key, value: '' })),
    ],
    item: [...folders].map(([name, requests]) => ({ name, item: requests.map(toPostmanItem) })),
  }
  return `${JSON.stringify(collection, null, 2)}\n`
}
