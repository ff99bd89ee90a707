/** The document and the page, made from a small table that has nothing to do with payments. */

import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Access, Dialect } from '#http/endpoint.ts'
import type { OpenApiDocument, OperationObject } from '#http/reference/document.ts'
import { about } from '#http/reference/document.ts'
import { buildOpenApi, type DescribedEndpoint, describeApi } from '#http/reference/openapi.ts'
import { referencePages, renderReference } from '#http/reference/render-reference.ts'
import { finishAtOnce } from '#http/reference/steps.ts'
import { Type } from '#schemas/parts/type.ts'

const Weight = Type.Object(
  {
    grams: Type.Integer({ minimum: 1, description: 'Whole grams, <b>never</b> ounces.' }),
    unit: Type.Optional(Type.Enum(['g'])),
  },
  { title: 'Weight', additionalProperties: false },
)
const Parcel = Type.Object(
  {
    label: Type.String({ maxLength: 20 }),
    weight: Type.Optional(Weight),
    pin: Type.Optional(Type.String({ sensitive: true })),
    notes: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    colour: Type.Optional(Type.Union([Type.Literal('red'), Type.Literal('blue')])),
  },
  { title: 'Parcel', additionalProperties: false },
)
const Stored = Type.Object({ parcelId: Type.String(), weight: Weight }, { title: 'Stored' })

const post: DescribedEndpoint = {
  verb: 'POST',
  path: '/parcels',
  operationId: 'createParcel',
  summary: 'Create a parcel',
  description: 'Takes `weight` & <script>alert(1)</script>.',
  tag: 'Parcels',
  version: '2.1.0',
  access: 'merchant',
  scope: 'payments',
  idempotent: true,
  dialect: 'payment',
  body: Parcel,
  answers: { 201: Stored },
  examples: [
    {
      summary: "It's a parcel",
      body: { label: "Mary's", weight: { grams: 5 } },
      status: 201,
      answer: { parcelId: 'p-1', weight: { grams: 5 } },
    },
  ],
}
const get: DescribedEndpoint = {
  ...post,
  verb: 'GET',
  path: '/parcels/{id}',
  operationId: 'getParcel',
  summary: 'Get a parcel',
  idempotent: false,
  dialect: 'customer',
  params: Type.Object({ id: Type.String({ description: 'The parcelId.' }) }),
  body: undefined,
  answers: { 200: Stored },
  examples: [
    {
      summary: 'Stored',
      params: { id: '{parcelId}' },
      after: ['createParcel'],
      status: 200,
      answer: { parcelId: '{parcelId}', weight: '{weight}' },
    },
  ],
}

const build = (...endpoints: readonly DescribedEndpoint[]): OpenApiDocument =>
  buildOpenApi({
    endpoints,
    baseUrl: 'http://127.0.0.1:8080/api/v2',
    title: 'Parcels',
    version: '2.5.0',
    description: 'Parcels.',
  })

const only = (endpoint: DescribedEndpoint): OperationObject => {
  const operation = build(endpoint).paths[endpoint.path]?.[endpoint.verb.toLowerCase()]
  if (operation === undefined) throw new Error('the operation is missing')
  return operation
}

describe('schemas', () => {
  const { schemas } = build(post, get).components

  test('a PascalCase title becomes one component, even if it is optional somewhere', () => {
    expect(Object.keys(schemas)).toEqual(expect.arrayContaining(['Parcel', 'Stored', 'Weight']))
    expect(schemas.Parcel?.properties?.weight).toEqual({ $ref: '#/components/schemas/Weight' })
    expect(schemas.Stored?.properties?.weight).toEqual({ $ref: '#/components/schemas/Weight' })
  })

  test('keywords of our own become extensions, records and literals plain JSON Schema', () => {
    expect(schemas.Parcel?.properties?.pin).toEqual({ type: 'string', 'x-sensitive': true })
    expect(schemas.Parcel?.properties?.notes).toEqual({ type: 'object', additionalProperties: true })
    expect(schemas.Parcel?.properties?.colour).toEqual({ type: 'string', enum: ['red', 'blue'] })
  })

  test('two different schemas with one title are an error', () => {
    const other = Type.Object({ stones: Type.Integer() }, { title: 'Weight' })
    expect(() => build(post, { ...get, answers: { 200: other } })).toThrow(
      'two different schemas have the title Weight',
    )
  })
})

describe('operations', () => {
  test.each<[Access, readonly string[]]>([
    ['open', []],
    ['merchant', ['basicAuth', 'bearerAuth']],
    ['customer', ['basicAuth', 'bearerAuth', 'apiKey']],
    ['intent', ['basicAuth', 'bearerAuth']],
  ])('access %s is opened by %j', (access, schemes) => {
    expect(only({ ...post, access }).security.flatMap(Object.keys)).toEqual(schemes)
  })

  test.each<[Dialect, DescribedEndpoint, readonly number[]]>([
    ['payment', post, [201, 400, 401, 403, 409, 413, 415, 429, 500, 503]],
    ['followUp', { ...post, idempotent: false }, [201, 400, 401, 403, 413, 415, 429, 500, 503]],
    ['customer', { ...get, examples: [] }, [200, 400, 401, 403, 404, 429, 500, 503]],
    ['service', post, [201, 400, 401, 403, 409, 413, 415, 422, 429, 500, 503]],
    ['token', { ...post, idempotent: false, access: 'open' }, [201, 400, 401, 403, 413, 415, 429, 500, 503]],
  ])('dialect %s answers with its statuses', (dialect, endpoint, statuses) => {
    expect(Object.keys(only({ ...endpoint, dialect }).responses).map(Number)).toEqual(statuses)
  })

  test('an example is filled from earlier answers, and its path keeps the name of the field', () => {
    const operation = build(post, get).paths['/parcels/{id}']?.get
    expect(operation?.['x-examples']).toMatchObject([{ name: 'stored', path: '/parcels/{parcelId}' }])
    expect(operation?.responses['200']).toMatchObject({
      content: {
        'application/json': { examples: { stored: { value: { parcelId: 'p-1', weight: { grams: 5 } } } } },
      },
    })
  })

  test.each<[string, readonly DescribedEndpoint[], string]>([
    ['an operationId used twice', [post, { ...post, path: '/other' }], 'two endpoints have the operationId'],
    ['a route used twice', [post, { ...post, operationId: 'other' }], 'two endpoints answer POST /parcels'],
    ['an example after nothing', [get], 'which has no example'],
    [
      'a placeholder without a source',
      [{ ...get, examples: [{ summary: 'S', status: 200, answer: {} }] }],
      'has the field id',
    ],
  ])('%s is a mistake', (_, endpoints, message) => {
    expect(() => build(...endpoints)).toThrow(message)
  })
})

test.each(['/openapi.json', '/docs'])(
  '%s is rendered in steps, between which other requests are answered',
  async path => {
    const make = () =>
      describeApi({ ...about, endpoints: [post, get], baseUrl: 'https://pay.example/api/v2' })
    let turns = 0
    let isMade = false
    const page = referencePages(make)
      [path]?.()
      .then(made => {
        isMade = true
        return made
      })
    for (; !isMade; turns++) await nextTurn()
    // At least one for each endpoint.
    expect(turns).toBeGreaterThanOrEqual(2)
    expect((await page)?.body).toContain('createParcel')
  },
)

describe('the reference page', () => {
  const { html, css, js } = finishAtOnce(renderReference(build(post, get)))

  test('escapes every text', () => {
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(html).toContain('&lt;b&gt;never&lt;/b&gt;')
    expect(html).not.toContain('<b>never')
  })

  test('has no inline script, style or handler and makes no request to another origin', () => {
    expect(html).not.toMatch(/<script(?! src="\/docs\/reference\.js")/)
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/)
    expect([...html.matchAll(/(?:src|href)="([^"#]+)/g)].map(([, address]) => address)).toEqual(
      expect.arrayContaining(['/docs/reference.css', '/docs/reference.js', '/openapi.json']),
    )
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
    expect(css).not.toMatch(/@import|url\(/)
    expect(js).not.toMatch(/https?:|innerHTML|eval\(/)
  })

  test('every link leads somewhere and every id is unique', () => {
    const ids = [...html.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
    expect(ids).toEqual([...new Set(ids)])
    for (const [, target] of html.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
  })

  test('writes curl that survives quotes in the body and takes ids from variables', () => {
    const text = html
      .replace(/<[^>]+>/g, '')
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
    expect(text).toContain(`"label": "Mary'\\''s"`)
    expect(text).toContain('curl "$TOLLGATE_API/parcels/$PARCEL_ID"')
    expect(text).toContain('-u "$TOLLGATE_MERCHANT:$TOLLGATE_KEY"')
  })
})
