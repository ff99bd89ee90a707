/**
 * 12,000 requests made by chance over every endpoint of the table: fitting, spoilt and hopeless ones. Nothing gives a 5xx,
 * every answer has the shape that is documented for it, and the server is as well afterwards as before.
 */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testBins } from '#connectors/simulator/test-bins.ts'
import { endpoints } from '#endpoints/index.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { findBrokenRules } from '#test/support/invariants.ts'
import { createRandom, type Random } from '#test/support/random.ts'
import { makeValue, spoil, spoilText } from '#test/support/schema-values.ts'

type Endpoint = (typeof endpoints)[number]

const seed = 20_261_115
const count = 12_000
/** 16 open connections, all kept: opening one per request would take most of the time. */
const concurrency = 16

interface Shot {
  readonly endpoint: Endpoint | undefined
  readonly verb: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: Buffer | undefined
}

interface Hit {
  readonly status: number
  readonly text: string
  readonly headers: IncomingHttpHeaders
}

let gateway: TestGateway
let payIds: string[]
let intentIds: string[]
let planIds: string[]
let eventIds: string[]
/** A customer whose card is deleted by chance is soon paid for again. */
let customers: { readonly customerId: string; readonly methodId: string }[]
const agent = new Agent({ keepAlive: true, maxSockets: concurrency })
beforeAll(async () => {
  gateway = await startTestGateway({ requestsPerSecond: 1_000_000, logLevel: 'warn' })
  const manual = cardPayment({
    amount: { value: 999_999_999_999, currency: 'EUR' },
    captureMethod: { type: 'MANUAL' },
  })
  payIds = []
  for (let made = 0; made < 5; made++) {
    const transId = `fuzz-${made}`
    payIds.push((await gateway.call('POST', '/payments', { ...manual, transId })).body.payId)
  }
  intentIds = []
  for (let made = 0; made < 100; made++) {
    const request = made % 10 === 0 ? {} : { amount: { value: 1 + made, currency: 'EUR' } }
    intentIds.push((await gateway.call('POST', '/payment-intents', request)).body.id)
  }
  planIds = []
  for (let made = 0; made < 60; made++) {
    const recurring = {
      frequency: 'MONTHLY',
      ...(made % 3 ? { useCase: 'FIXED' } : {}),
      autoCharge: made % 2 === 0,
    }
    const credentialOnFile = { type: 'RECURRING', initialPayment: true, recurring }
    const { body } = await gateway.call('POST', '/payments', cardPayment({ credentialOnFile }))
    planIds.push(body.paymentPlanId)
  }
  customers = await Promise.all(Array.from({ length: 60 }, (_, index) => makeCustomer(index)))
  eventIds = await makeEvents()
})
afterAll(async () => {
  agent.destroy()
  await gateway.stop()
})

/** A page that its customer turns its back on tells the merchant so. */
async function makeEvents(): Promise<string[]> {
  const urls = { return: 'https://shop.example/', cancel: 'https://shop.example/' }
  const request = { transId: 'fuzz-event', amount: { value: 1, currency: 'EUR' }, urls }
  const { body } = await gateway.call('POST', '/payments/sessions', request)
  await gateway.call('POST', `/test/payments/${body.payId}/customer-action`, { action: 'cancel' })
  const { data } = (await gateway.call('GET', '/events?page=1')).body
  return data.map(({ id }: { id: string }) => id)
}

/** 60 of them: some deletions by chance leave enough for the other requests. */
async function makeCustomer(index: number): Promise<(typeof customers)[number]> {
  const customerInfo = { merchantCustomerId: `fuzz-${index}`, email: 'ada@example.com' }
  const { body } = await gateway.call('POST', '/payments', cardPayment({ customerInfo }))
  const customerId = body.customerInfo.gatewayCustomerId
  const listed = await gateway.call('GET', `/customers/${customerId}/paymentMethods`)
  return { customerId, methodId: listed.body.data[0].id }
}

function fillCustomerPath(path: string, random: Random): string {
  const { customerId, methodId } = random.pick(customers)
  const filled = path.replace('{paymentMethodId}', methodId).replace(/\{\w+\}/, customerId)
  return random.chance(0.7) ? filled : fillPath(path, random)
}

function makeQuery({ query }: Endpoint, random: Random): string {
  if (query === undefined || random.chance(0.1)) {
    return random.chance(0.05)
      ? random.pick(['?', '?a=1', '?id=%00', '?__proto__=1', '?a[b]=c&a[b]=d', `?${'q'.repeat(500)}=`])
      : ''
  }
  const value = makeValue(query as never, random)
  const spoilt = random.chance(0.4) ? spoil(value, random) : value
  return `?${typeof spoilt === 'object' ? toForm(spoilt) : encodeLoosely(String(spoilt))}`
}

const strangePaths: readonly string[] = [
  '',
  '%00',
  '%ff',
  '..%2f..',
  'a%20b',
  'x'.repeat(300),
  '%F0%9F%98%80',
  '%',
  "'--",
]

const idsOf = (path: string): readonly string[] => {
  if (path.startsWith('/events')) return eventIds
  if (path.startsWith('/payment-plans')) return planIds
  return path.startsWith('/payment-intents') ? intentIds : payIds
}

function fillPath(path: string, random: Random): string {
  return path.replace(/\{\w+\}/g, () =>
    random.chance(0.7) ? random.pick(idsOf(path)) : random.pick([...strangePaths, '0'.repeat(32), 'fuzz-1']),
  )
}

const strangeHeaders: readonly Record<string, string>[] = [
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-type': '' },
  { 'content-encoding': 'gzip' },
  { 'idempotency-key': '' },
  { 'idempotency-key': 'a b' },
  { 'idempotency-key': 'x'.repeat(300) },
  { authorization: 'Basic' },
  { authorization: `Basic ${'A'.repeat(5000)}` },
  { authorization: 'Bearer a.b.c' },
  { traceparent: '00-zz' },
  { accept: 'text/html' },
  { 'x-http-method-override': 'DELETE' },
  { 'x-long': 'y'.repeat(9000) },
]

function aim(random: Random): Shot {
  const endpoint = random.pick(endpoints)
  const verb = random.chance(0.95)
    ? endpoint.verb
    : random.pick(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'])
  const fill = endpoint.access === 'customer' ? fillCustomerPath : fillPath
  const path = random.chance(0.97) ? fill(endpoint.path, random) : `/${random.pick(strangePaths)}`
  const query = makeQuery(endpoint, random)
  const headers: Record<string, string> = {
    'content-type': endpoint.accepts ?? 'application/json',
    // The token endpoint needs none, and its failures would count against this client.
    authorization: basic(gateway.merchantId, gateway.apiKey),
    ...(random.chance(0.3) ? { 'idempotency-key': `fuzz-${random.below(120)}` } : {}),
    ...(random.chance(0.1) ? random.pick(strangeHeaders) : {}),
  }
  return { endpoint, verb, path: `/api/v2${path}${query}`, headers, body: makeBody(endpoint, random) }
}

function makeBody(endpoint: Endpoint, random: Random): Buffer | undefined {
  if (endpoint.body === undefined) return random.chance(0.9) ? undefined : Buffer.from('{}')
  let value = makeValue(endpoint.body as never, random)
  if (endpoint.operationId === 'createPayment' && random.chance(0.6)) value = withCard(value, random)
  if (endpoint.operationId === 'confirmPaymentIntent' && random.chance(0.6))
    value = cardPayment().paymentMethods
  const known = withKnownNumbers[endpoint.operationId]
  if (known && random.chance(0.6)) value = { ...(value as object), ...known(random) }
  const isForm = endpoint.accepts === 'application/x-www-form-urlencoded'
  for (let spoilt = random.pick([0, 1, 1, 1, 2, 4]); spoilt > 0; spoilt--) value = spoil(value, random)
  const text = isForm ? toForm(value) : (JSON.stringify(value) ?? '')
  return random.chance(0.12) ? spoilText(text, random) : Buffer.from(text)
}

/** Chance alone would never find a bin that is known, or a number with right check digits. */
const withKnownNumbers: Readonly<Record<string, (random: Random) => object>> = {
  creditWithoutReference: random => ({
    transId: `fuzz-credit-${random.below(1_000_000)}`,
    amount: { value: 1 + random.below(5000), currency: 'EUR' },
    paymentMethods: {
      directDebit: { account: { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' } },
    },
  }),
  createSession: random => fittingPage(random),
  createLink: random => fittingPage(random),
  lookUpBin: random => ({ bin: random.pick(testBins).bin }),
  quoteConversion: random => ({ bin: random.pick(testBins).bin }),
  exchangeNumber: random =>
    random.pick([
      { type: 'CARD', number: '4111111111111111', cardholderName: 'Ada Lovelace' },
      { type: 'CARD', number: '4111111111111112', cardholderName: 'Ada Lovelace' },
      { type: 'IBAN', number: 'DE89370400440532013000', expiryDate: undefined, cardholderName: undefined },
    ]),
  chargePaymentPlan: random => ({
    transId: `fuzz-charge-${random.below(1_000_000)}`,
    ...(random.chance(0.5) ? { amount: undefined } : { amount: { value: 1000, currency: 'EUR' } }),
    captureMethod: undefined,
  }),
  createUnscheduledPayment: random => ({
    transId: `fuzz-mit-${random.below(1_000_000)}`,
    amount: { value: 1 + random.below(5000), currency: 'EUR' },
    captureMethod: undefined,
    paymentMethods: undefined,
    gatewayCustomerId: undefined,
    paymentMethodId: undefined,
    ...random.pick([
      { paymentPlanId: random.pick(planIds) },
      { paymentPlanId: undefined, ...onFile(random) },
    ]),
  }),
  updateAccounts: random => ({
    cards: Array.from({ length: 1 + random.below(3) }, () => ({
      number: random.pick(['4111111111111111', '4000000000003220', '4000000000003246', '0123456789012345']),
    })),
  }),
}

/** A page on which something can be paid: random methods, countries and dates hardly ever leave any. */
const fittingPage = (random: Random): object => ({
  // Few, so that some are taken.
  transId: `fuzz-page-${random.below(2)}`,
  amount: { value: 1 + random.below(5000), currency: 'EUR' },
  allowedPaymentMethod: undefined,
  expirationTime: undefined,
  billingAddress: undefined,
  shipping: undefined,
  browserInfo: undefined,
  captureMethod: undefined,
  credentialOnFile: undefined,
  fraudData: undefined,
  metadata: undefined,
  order: undefined,
})

function onFile(random: Random): object {
  const { customerId, methodId } = random.pick(customers)
  return { gatewayCustomerId: customerId, paymentMethodId: methodId }
}

/** Chance alone would hardly ever hit the one type of method that goes with its object. */
function withCard(value: unknown, random: Random): unknown {
  const { captureMethod: _, urls: __, ...rest } = value as Record<string, unknown>
  const { paymentMethods } = cardPayment()
  return { ...rest, paymentMethods, transId: `fuzz-card-${random.below(1_000_000)}` }
}

const toForm = (value: unknown): string =>
  typeof value === 'object' && value !== null
    ? Object.entries(value)
        .map(
          ([name, member]) =>
            `${encodeLoosely(name)}=${encodeLoosely(String(JSON.stringify(member) ?? '').replaceAll('"', ''))}`,
        )
        .join('&')
    : String(value)

/** encodeURIComponent throws at half a surrogate pair. */
const encodeLoosely = (text: string): string => encodeURIComponent(text.toWellFormed())

function shoot({ verb, path, headers, body }: Shot): Promise<Hit> {
  const { promise, resolve, reject } = Promise.withResolvers<Hit>()
  const url = new URL(gateway.url)
  const sent = httpRequest(
    {
      agent,
      host: url.hostname,
      port: url.port,
      method: verb,
      path,
      headers: { ...headers, 'content-length': body?.length ?? 0 },
    },
    response => {
      const chunks: Buffer[] = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(chunks).toString(),
          headers: response.headers,
        }),
      )
    },
  )
  sent.on('error', reject)
  sent.end(body)
  return promise
}

const ajv = new Ajv2020({ strict: false, validateFormats: false })
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
  const routed = endpoint !== undefined && verb === endpoint.verb
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

/** Needs a secret, or a payment in just the right state: chance cannot find it, and other tests do. */
const rarities = [
  'issueToken 200',
  'confirmPayment 200',
  'incrementPayment 200',
  'reversePayment 200',
  'capturePayment 200',
  'refundPayment 200',
  'cancelPaymentPlan 422',
  // Intents live for a day, and chance moves the clock.
  'confirmPaymentIntent 200',
]

test(`${count} requests from seed ${seed}`, { timeout: 120_000 }, async () => {
  const random = createRandom(seed)
  const statuses = new Map<string, number>()
  const wrong: string[] = []
  let shots = 0
  async function run(): Promise<void> {
    while (shots < count && wrong.length < 5) {
      const number = ++shots
      const shot = aim(random)
      const hit = await shoot(shot)
      const name = `${shot.endpoint?.operationId} ${hit.status}`
      statuses.set(name, (statuses.get(name) ?? 0) + 1)
      const verdict = judge(shot, hit)
      if (verdict !== undefined) {
        wrong.push(
          `#${number} ${verdict}: ${shot.verb} ${shot.path} ${shot.body?.toString().slice(0, 500)} → ${hit.status} ${hit.text.slice(0, 500)}`,
        )
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, run))
  expect(wrong, gateway.logged.slice(-3).join('')).toEqual([])
  // Chance must have come everywhere, or it proves nothing.
  for (const { operationId, answers } of endpoints) {
    for (const status of [...Object.keys(answers), ...(operationId.startsWith('get') ? [] : ['400'])]) {
      if (rarities.includes(`${operationId} ${status}`)) continue
      expect([...statuses.keys()], `${operationId} was never answered ${status}`).toContain(
        `${operationId} ${status}`,
      )
    }
  }
})

test('afterwards all is well', async () => {
  expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200)
  expect((await gateway.call('POST', '/payments', cardPayment())).status).toBe(200)
  expect(gateway.logged.filter(line => line.includes('"level":"error"'))).toEqual([])
  expect(({} as Record<string, unknown>).admin).toBeUndefined()
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
})
