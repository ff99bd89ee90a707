/**
 * Tenant isolation: every endpoint that takes an id × every kind of id of another merchant × every credential.
 * Another merchant's id is answered like one that does not exist, byte by byte except for the trace id.
 */
import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endpoints } from '#endpoints/index.ts'
import { basic, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { askToken, confirmation, openIntents } from '#test/support/intents.ts'
import { beginPlan, readPlan } from '#test/support/plans.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let owner: Shop
let stranger: Shop
let planId: string
/** The owner's ids by kind, each with one that does not exist. */
let ids: Record<string, readonly [owned: string, unknown: string]>
let credentials: Record<string, Record<string, string>>

beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await openShop(gateway)
  stranger = await openShop(gateway)
  const intents = openIntents(owner, gateway)
  const { body } = await intents.confirm(await intents.intent(), confirmation('CARD'))
  planId = (await beginPlan(owner)).body.paymentPlanId
  const plan = await readPlan(owner, planId)
  ids = {
    payId: [body.payId, '0'.repeat(32)],
    xId: [body.xId, '0'.repeat(32)],
    transId: [body.transId, 'nobody has this'],
    'open intent': [await intents.intent(), `pi_${'0'.repeat(32)}`],
    'paid intent': [body.paymentIntentId, `pi_${'0'.repeat(32)}`],
    plan: [planId, '0'.repeat(32)],
    customer: [plan.gatewayCustomerId, '0'.repeat(32)],
    'stored method': [plan.paymentMethodId, '0'.repeat(32)],
  }
  credentials = await signInAs(stranger)
})
afterAll(() => gateway.stop())

async function signInAs(shop: Shop): Promise<typeof credentials> {
  const { merchantId, apiKey } = shop
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: merchantId,
    client_secret: apiKey,
  })
  const { body: issued } = await gateway.call('POST', '/authorization/oauth/token', form.toString(), {
    'content-type': 'application/x-www-form-urlencoded',
  })
  const id = await openIntents(shop, gateway).intent()
  const { body: forIntent } = await askToken(gateway, { merchantId, apiKey, id })
  return {
    basic: { authorization: basic(merchantId, apiKey) },
    client_credentials: { authorization: `Bearer ${issued.access_token}` },
    payment_intents: { authorization: `Bearer ${forIntent.access_token}` },
    'API key': { 'x-api-key': apiKey },
    nothing: {},
  }
}

const places = endpoints
  .filter(({ path, access }) => path.includes('{') && access !== 'open')
  .map(endpoint => ({ endpoint, id: endpoint.operationId }))

async function ask(
  path: string,
  { verb, examples }: (typeof endpoints)[number],
  headers: Record<string, string>,
) {
  const body = verb === 'GET' ? undefined : JSON.stringify(examples[0]?.body ?? {})
  const query = new URLSearchParams(examples[0]?.query).toString()
  // Thousands of requests: fetch takes several times as much of a processor for each.
  const response = await request(`${gateway.url}/api/v2${path}${query && `?${query}`}`, {
    method: verb,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body }),
  })
  const { traceId: _, ...rest } = (await response.body.json()) as Record<string, unknown>
  return { status: response.statusCode, rest }
}

const countRows = async () =>
  queryRows(
    gateway.databaseUrl,
    `SELECT (SELECT count(*) FROM payment) AS payments, (SELECT count(*) FROM operation) AS operations,
       (SELECT count(*) FROM payment_intent WHERE pay_id IS NOT NULL) AS paid, (SELECT sum(version) FROM payment) AS versions,
       (SELECT sum(version) FROM payment_plan) AS plan_versions`,
  )

describe.each(places)('$id', ({ endpoint }) => {
  const kinds = ['payId', 'xId', 'transId', 'open intent', 'paid intent', 'plan', 'customer', 'stored method']
  const signIns = ['basic', 'client_credentials', 'payment_intents', 'API key', 'nothing']
  const cells = kinds.flatMap(kind => signIns.map(signIn => ({ kind, signIn })))

  // Counted around all cells of a place: each count is a connection of its own.
  let before: unknown
  beforeAll(async () => {
    before = await countRows()
  })
  afterAll(async () => expect(await countRows()).toEqual(before))

  test.each(cells)('$kind of another merchant with $signIn', async ({ kind, signIn }) => {
    const fill = (id: string) => endpoint.path.replace(/\{\w+\}/g, encodeURIComponent(id))
    const [owned, unknown] = ids[kind] ?? ['', '']
    const answer = await ask(fill(owned), endpoint, credentials[signIn] ?? {})
    expect(answer).toEqual(await ask(fill(unknown), endpoint, credentials[signIn] ?? {}))
    const unsigned = signIn === 'nothing' || (signIn === 'API key' && endpoint.access !== 'customer')
    expect(answer.status).toBe(unsigned ? 401 : signIn === 'payment_intents' ? 403 : 404)
    expect(JSON.stringify(answer)).not.toContain(owner.merchantId)
  })
})

test("another merchant's stored method cannot be charged by naming it in a body", async () => {
  const pay = async (named: object) => {
    const body = { transId: 'steal', amount: { value: 1, currency: 'EUR' }, ...named }
    const answer = await stranger.call('POST', '/payment-plans/unscheduled-mit', body)
    const { traceId: _, ...rest } = answer.body
    return { status: answer.status, rest }
  }
  const { gatewayCustomerId, paymentMethodId } = await readPlan(owner, planId)
  const before = await countRows()
  const nobody = '0'.repeat(32)
  const unknown = await pay({ paymentPlanId: nobody })
  expect(unknown.status).toBe(404)
  expect(await pay({ paymentPlanId: planId })).toEqual(unknown)
  expect(await pay({ gatewayCustomerId: nobody, paymentMethodId: nobody })).toEqual(unknown)
  expect(await pay({ gatewayCustomerId, paymentMethodId })).toEqual(unknown)
  const { paymentMethods } = await owner.read((await readPlan(owner, planId)).initialPayId)
  const number = paymentMethods.card.pseudoCardNumber
  expect((await pay({ paymentMethods: { card: { number, expiryDate: '209912' } } })).status).toBe(400)
  const listed = await stranger.call('GET', `/payment-plans?page=1&gatewayCustomerId=${gatewayCustomerId}`)
  expect(listed.body.totalNumberOfItems).toBe(0)
  expect(await countRows()).toEqual(before)
})
