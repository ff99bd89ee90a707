/**
 * Random requests to every endpoint of the table: valid, slightly wrong and hopeless ones. In the long run 10,000 of
 * the bodies are for intents, customers, plans and services. Nothing gives a 5xx, every answer has the shape that is
 * documented for it, and the server is as well afterwards as before.
 */

import { Ajv2020 } from 'ajv/dist/2020.js'
import { Pool } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endpoints } from '#endpoints/index.ts'
import { compiledPlainly } from '#test/support/docs/check-schema.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { aim, type Endpoint, type Shot } from '#test/support/simulation/fuzz-requests.ts'
import { makeWorld, type World } from '#test/support/simulation/fuzz-world.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'
import { createRandom, type Random } from '#test/support/simulation/random.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

const seed = 20_261_115
/** 16 open connections, all kept: opening one per request would take most of the time. */
const concurrency = 16
/** The number of requests for endpoints beyond the single payment. */
const bodiesMin = inLongRun(800, 10_000)
/** For each endpoint with a body, which nineteen in twenty requests reach: a few more than required. */
const shotsWithBody = inLongRun(100, 960)
/** For any other endpoint: enough to get every answer it has. */
const shotsElsewhere = inLongRun(66, 110)

interface Hit {
  readonly status: number
  readonly text: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

let gateway: TestGateway
let world: World
let pool: Pool
beforeAll(async () => {
  gateway = await startTestGateway({ requestsPerSecond: 1_000_000, logLevel: 'warn' })
  world = await makeWorld(gateway, basic(gateway.merchantId, gateway.apiKey))
  pool = new Pool(gateway.url, { connections: concurrency, pipelining: 1 })
})
afterAll(async () => {
  await pool.destroy()
  await gateway.stop()
})

const isBeyondPayments = ({ path }: Endpoint): boolean =>
  /^\/(payment-intents|customers|payment-plans|services)\b/.test(path)

const isCounted = ({ endpoint, verb, aimed, body }: Shot): boolean =>
  aimed && verb === endpoint.verb && body !== undefined && isBeyondPayments(endpoint)

/** Every endpoint as often as it is to be called, in random order. */
function shuffleTargets(random: Random): Endpoint[] {
  const targets = endpoints.flatMap(endpoint => {
    const often = isBeyondPayments(endpoint) && endpoint.body !== undefined
    return Array.from({ length: often ? shotsWithBody : shotsElsewhere }, () => endpoint)
  })
  return targets
    .map(endpoint => ({ endpoint, place: random.below(2 ** 32) }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ endpoint }) => endpoint)
}

async function shoot({ verb, path, headers, body }: Shot): Promise<Hit> {
  const answer = await pool.request({ method: verb as 'GET', path, headers, body: body ?? null })
  return { status: answer.statusCode, text: await answer.body.text(), headers: answer.headers }
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, ...compiledPlainly })
const shapes = new Map(
  endpoints.flatMap(endpoint =>
    Object.entries(endpoint.answers).map(
      ([status, schema]) => [`${endpoint.operationId} ${status}`, ajv.compile(schema)] as const,
    ),
  ),
)

/** What is wrong with an answer, or undefined. */
function judge({ endpoint, verb, path }: Shot, { status, text, headers }: Hit): string | undefined {
  if (status >= 500) return 'a fault'
  if (!/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(String(headers.traceparent))) return 'no trace'
  if (verb === 'HEAD' || status === 204) return undefined
  const body = JSON.parse(text) as Record<string, unknown>
  const routed = verb === endpoint.verb
  const isProblem = headers['content-type'] === 'application/problem+json'
  if (isProblem)
    return body.status === status && body.title && body.type && body.traceId ? undefined : 'not a problem'
  if (!routed) return undefined
  if (status === 400) return endpoint.dialect === 'token' ? judgeTokenError(body) : judgeField(body)
  const shape = shapes.get(`${endpoint.operationId} ${status}`)
  if (shape && !shape(body)) return `not as documented: ${ajv.errorsText(shape.errors)} at ${path}`
  return shape || endpoint.dialect === 'token' ? undefined : 'a status that is not documented'
}

const judgeField = ({ field, error, ...rest }: Record<string, unknown>): string | undefined =>
  typeof field === 'string' &&
  field !== '' &&
  typeof error === 'string' &&
  error !== '' &&
  Object.keys(rest).length === 0
    ? undefined
    : 'names no field'

const judgeTokenError = ({ error, ...rest }: Record<string, unknown>): string | undefined =>
  typeof error === 'string' && error !== '' && Object.keys(rest).length === 0 ? undefined : 'says no error'

/** Answers that need a secret or a payment in a special state: random requests cannot get them, other tests do. */
const rarities = [
  'issueToken 200',
  'confirmPayment 200',
  'incrementPayment 200',
  'reversePayment 200',
  'capturePayment 200',
  'refundPayment 200',
  'cancelPayment 200',
  // Random moves of the clock may end all links before a body fits.
  'updateLink 200',
  'updateLink 422',
  // Random requests cannot guess ids of disputes.
  'getDispute 200',
  'acceptDispute 200',
  'acceptDispute 422',
  'submitEvidence 200',
  'submitEvidence 422',
  // Happens only if a key is reused with another body, as in test/api/test-tools/test-levers.test.ts.
  'moveTestClock 422',
  'addTestFault 422',
  'sendSampleEvent 422',
  'takeCustomerAction 422',
]

/**
 * 300 s: a bound for what hangs. It takes about 20 s of one processor, and others may have the machine at that time.
 */
const timeout = 300_000

test(`random requests from seed ${seed}`, { timeout }, async () => {
  const random = createRandom(seed)
  const statuses = new Map<string, number>()
  const wrong: string[] = []
  let bodies = 0
  const targets = shuffleTargets(random).values()
  async function run(): Promise<void> {
    for (const endpoint of targets) {
      if (wrong.length >= 5) return
      const shot = aim(endpoint, random, world)
      if (isCounted(shot)) bodies += 1
      const hit = await shoot(shot)
      const name = `${endpoint.operationId} ${hit.status}`
      statuses.set(name, (statuses.get(name) ?? 0) + 1)
      const verdict = judge(shot, hit)
      if (verdict !== undefined)
        wrong.push(`${verdict}: ${show(shot)} → ${hit.status} ${hit.text.slice(0, 500)}`)
      if (name === 'createPaymentIntent 201') world.intentIds.push(JSON.parse(hit.text).id)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, run))
  expect(wrong, gateway.logged.slice(-3).join('')).toEqual([])
  expect(bodies).toBeGreaterThanOrEqual(bodiesMin)
  // Every endpoint and answer must have been reached, or the test proves nothing.
  const missed = endpoints
    .flatMap(({ operationId, answers }) =>
      [...Object.keys(answers), ...(operationId.startsWith('get') ? [] : ['400'])].map(
        status => `${operationId} ${status}`,
      ),
    )
    .filter(name => !rarities.includes(name) && !statuses.has(name))
  expect(missed, 'answers that never came').toEqual([])
})

const show = ({ verb, path, body }: Shot): string => `${verb} ${path} ${body?.toString().slice(0, 500)}`

test('after all random requests the doctor finds nothing', async () => {
  expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200)
  expect((await gateway.call('POST', '/payments', cardPayment())).status).toBe(200)
  // Events without a receiver fail for good, which is logged.
  const faults = gateway.logged.filter(
    line => line.includes('"level":"error"') && !line.includes('"WEBHOOK_FAILED"'),
  )
  expect(faults).toEqual([])
  expect(({} as Record<string, unknown>).admin).toBeUndefined()
  // Random requests for sample events report the same operations repeatedly.
  const { 'an operation is told of once': _, ...broken } = await findBrokenRules(gateway.databaseUrl)
  expect(broken).toEqual({})
})
