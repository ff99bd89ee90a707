/**
 * Tenancy of customers: every endpoint that names one, with another merchant's id, an unknown one and an invalid one,
 * by each kind of credential, answers the same 404 to the last byte, except the trace. Also which credential opens
 * which endpoint.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let owner: Shop
let stranger: Shop
let customerId: string
let methodId: string
let strangersCustomerId: string
const credentials: Record<string, Record<string, string>> = {}
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock() })
  owner = await openShop(gateway)
  stranger = await openShop(gateway)
  customerId = await bear(owner)
  strangersCustomerId = await bear(stranger)
  const { body } = await owner.call('GET', `/customers/${customerId}/paymentMethods`)
  methodId = body.data[0].id
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const fields = {
    grant_type: 'client_credentials',
    client_id: stranger.merchantId,
    client_secret: stranger.apiKey,
  }
  const issued = await gateway.call(
    'POST',
    '/authorization/oauth/token',
    new URLSearchParams(fields).toString(),
    form,
  )
  credentials.Basic = { authorization: stranger.authorization }
  credentials.Bearer = { authorization: `Bearer ${issued.body.access_token}` }
  credentials['X-API-Key'] = { 'x-api-key': stranger.apiKey }
})
afterAll(() => gateway.stop())

async function bear(shop: Shop): Promise<string> {
  const customerInfo = { merchantCustomerId: 'same at both', email: 'ada@example.com' }
  return (await shop.create('CARD', { customerInfo })).body.customerInfo.gatewayCustomerId
}

/** Sends the request without the header that the test gateway adds. */
async function callAs(name: string, verb: string, path: string): Promise<TestAnswer> {
  const response = await fetch(`${gateway.url}/api/v2${path}`, {
    method: verb,
    headers: { ...credentials[name], ...(verb === 'PATCH' ? { 'content-type': 'application/json' } : {}) },
    ...(verb === 'PATCH' ? { body: '{"firstName":"Eve"}' } : {}),
  })
  const text = await response.text()
  return { status: response.status, text, body: JSON.parse(text), headers: response.headers }
}

const never = '0123456789abcdef0123456789abcdef'

const routes: [verb: string, path: (customer: string, method: string) => string][] = [
  ['GET', customer => `/customers/${customer}`],
  ['PATCH', customer => `/customers/${customer}`],
  ['DELETE', customer => `/customers/${customer}`],
  ['GET', customer => `/customers/${customer}/paymentMethods`],
  ['GET', (customer, method) => `/customers/${customer}/paymentMethods/${method}`],
  ['DELETE', (customer, method) => `/customers/${customer}/paymentMethods/${method}`],
]

describe.each(['Basic', 'Bearer', 'X-API-Key'])('%s', scheme => {
  test.each(routes.map(([verb, path]) => ({ verb, path, title: path('{customer}', '{method}') })))(
    '404 $verb $title, the same for all ids that are not the merchant’s',
    async ({ verb, path }) => {
      const strange = [
        path(never, never),
        path(customerId, methodId),
        path(customerId, never),
        path(never, methodId),
        path(customerId.toUpperCase(), methodId),
        path('x', 'y'),
        ...(path('', '1') === path('', '2') ? [] : [path(strangersCustomerId, methodId)]),
      ]
      const answers = await Promise.all(strange.map(each => callAs(scheme, verb, each)))
      const shown = answers.map(({ status, text, headers }) => ({
        status,
        text: text.replace(/"traceId":"[0-9a-f]{32}"/, ''),
        type: headers.get('content-type'),
      }))
      expect(new Set(shown.map(answer => JSON.stringify(answer))).size).toBe(1)
      expect(shown[0]).toMatchObject({ status: 404, type: 'application/problem+json' })
    },
  )

  test('200 the list and the merchant’s own customer, nobody else’s', async () => {
    const { status, body } = await callAs(scheme, 'GET', '/customers?page=1')
    expect(status).toBe(200)
    expect(body.data.map((customer: { id: string }) => customer.id)).toEqual([strangersCustomerId])
    expect((await callAs(scheme, 'GET', `/customers/${strangersCustomerId}`)).status).toBe(200)
    const found = await callAs(scheme, 'GET', '/customers?page=1&merchantCustomerId=same%20at%20both')
    expect(found.body.totalNumberOfItems).toBe(1)
  })
})

test('the owner’s customer is untouched by all of this', async () => {
  const { body } = await owner.call('GET', `/customers/${customerId}`)
  expect(body).toMatchObject({ id: customerId, email: 'ada@example.com' })
  expect(body.firstName).toBeUndefined()
  expect((await owner.call('GET', `/customers/${customerId}/paymentMethods/${methodId}`)).status).toBe(200)
})

test('401 an API key alone opens only customers; a wrong key and none open nothing', async () => {
  expect((await callAs('X-API-Key', 'GET', '/payments/getByTransId/x')).status).toBe(401)
  for (const headers of [{}, { 'x-api-key': 'wrong' }, { 'x-api-key': '' }] as Record<string, string>[]) {
    const response = await fetch(`${gateway.url}/api/v2/customers?page=1`, { headers })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(/Basic.+Bearer/)
  }
})

test('405 with what is allowed', async () => {
  const answer = await callAs('Basic', 'POST', `/customers/${strangersCustomerId}`)
  expect(answer.status).toBe(405)
  expect(answer.headers.get('allow')).toMatch(/GET/)
})

/** The last test, because nothing works afterwards. */
test('500 a fault of ours, as a problem without details', async () => {
  await queryRows(gateway.databaseUrl, 'ALTER TABLE customer RENAME COLUMN email TO elsewhere')
  for (const path of ['/customers?page=1', `/customers/${strangersCustomerId}`]) {
    const answer = await callAs('Basic', 'GET', path)
    expect(answer).toMatchObject({ status: 500, body: { status: 500, title: expect.any(String) } })
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.text).not.toMatch(/email|column|customer/i)
  }
})
