/**
 * Every example of the reference is sent to a real gateway over HTTP, after the examples it builds on. What
 * the reader is shown must be what the reader gets: the status, each field with its type, and the words that
 * have one meaning.
 */
import { randomUUID } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endpoints } from '#endpoints/index.ts'
import type { Example } from '#http/endpoint.ts'
import { examplePath, type Fields, fillPlaceholders, findExample } from '#http/reference/placeholders.ts'
import { startTestGateway } from '#test/support/gateway.ts'

type Table = (typeof endpoints)[number]
type Gateway = Awaited<ReturnType<typeof startTestGateway>>

let gateway: Gateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.stop())

interface Sent {
  readonly status: number
  readonly body: Fields
}

/**
 * Two runs of one example must not meet the same payment, so a transId that is written out gets an ending of
 * its own.
 */
function makeUnique(body: unknown): unknown {
  const transId = (body as Fields | undefined)?.transId
  if (typeof transId !== 'string' || transId.includes('{')) return body
  // 8 characters of a UUID: 32 bits, far more than the runs of one test; the limit of transId is 64.
  return { ...(body as Fields), transId: `${transId.slice(0, 55)}-${randomUUID().slice(0, 8)}` }
}

async function send(endpoint: Table, example: Example): Promise<Sent> {
  let fields: Fields = { merchantId: gateway.merchantId, apiKey: gateway.apiKey }
  for (const operationId of example.after ?? []) {
    const earlier = findExample(endpoints, operationId)
    const answered = await send(earlier.endpoint, earlier.example)
    expect(answered.status, `the example of ${operationId}, on which this one builds`).toBe(
      earlier.example.status,
    )
    fields = { ...fields, ...answered.body }
  }
  const body = fillPlaceholders(makeUnique(example.body), fields)
  const query = example.query
    ? `?${new URLSearchParams(fillPlaceholders(example.query, fields) as never)}`
    : ''
  const path = fillPlaceholders(examplePath(endpoint, example), fields)
  const response = await fetch(`${gateway.url}/api/v2${path}${query}`, {
    method: endpoint.verb,
    headers: writeHeaders(endpoint, body),
    ...(body === undefined ? {} : { body: writeBody(endpoint, body) }),
  })
  return { status: response.status, body: (await response.json()) as Fields }
}

function writeHeaders(endpoint: Table, body: unknown): Record<string, string> {
  const credentials = Buffer.from(`${gateway.merchantId}:${gateway.apiKey}`).toString('base64')
  return {
    ...(endpoint.access === 'open' ? {} : { authorization: `Basic ${credentials}` }),
    ...(endpoint.idempotent ? { 'idempotency-key': randomUUID() } : {}),
    ...(body === undefined ? {} : { 'content-type': endpoint.accepts ?? 'application/json' }),
  }
}

const writeBody = (endpoint: Table, body: unknown): string =>
  endpoint.accepts === 'application/x-www-form-urlencoded'
    ? new URLSearchParams(body as Record<string, string>).toString()
    : JSON.stringify(body)

/** Fields whose value, not only whose type, is part of what an example promises. */
const exactFields = new Set([
  'status',
  'responseCode',
  'type',
  'currency',
  'field',
  'error',
  'token_type',
  'deleted',
])

const typeOf = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

/** Lists what the real answer lacks or says otherwise; it may hold more than the example. */
function compare(shown: unknown, real: unknown, path: string): string[] {
  if (typeOf(shown) !== typeOf(real))
    return [`${path} is ${typeOf(real)}, the example shows ${typeOf(shown)}`]
  if (Array.isArray(shown)) {
    return shown.flatMap((item, index) => compare(item, (real as unknown[])[index], `${path}[${index}]`))
  }
  if (typeof shown === 'object' && shown !== null) {
    return Object.entries(shown).flatMap(([name, value]) =>
      compare(value, (real as Fields)[name], path === '' ? name : `${path}.${name}`),
    )
  }
  const name = path.slice(path.lastIndexOf('.') + 1)
  return exactFields.has(name) && shown !== real ? [`${path} is ${real}, the example shows ${shown}`] : []
}

// Formats of our own and keywords for people do not matter here; the shape does.
// The optimiser takes longer than the few checks it would speed up.
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true, code: { optimize: false } })

describe.each(endpoints.map(endpoint => ({ endpoint, id: endpoint.operationId })))('$id', ({ endpoint }) => {
  test.each(endpoint.examples)('$status $summary', async example => {
    const sent = await send(endpoint, example)
    expect(sent).toMatchObject({ status: example.status })
    expect(compare(example.answer, sent.body, '')).toEqual([])
    const schema = endpoint.answers[sent.status]
    if (schema === undefined) return
    const validate = ajv.compile(schema)
    validate(sent.body)
    expect(validate.errors ?? []).toEqual([])
  })
})
