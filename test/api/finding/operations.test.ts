/** GET /operations: the book of movements as pages and as CSV. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AnyJson } from '#test/support/any-json.ts'
import { questionerOf } from '#test/support/database/database.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop, urls } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
let payId: string
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
  payId = await shop.authorize('CARD', { refNr: '=1+1', transId: '"quoted", and long' })
  await shop.advance('PT1M')
  await shop.act(payId, 'captures', 600)
  await shop.advance('PT1M')
  await shop.act(payId, 'refunds', 100)
  await shop.create('CARD', { card: { number: '4000000000009995' } })
})
afterAll(() => gateway.stop())

const read = async (query = '') => (await shop.call('GET', `/operations${query}`)).body
const typesOf = async (query: string) =>
  (await read(query)).data.map(({ type, status }: AnyJson) => `${type} ${status}`)

test('200 the oldest first, with the fields that an accountant needs', async () => {
  const { data } = await read()
  expect(data.map(({ type, status }: AnyJson) => `${type} ${status}`)).toEqual([
    'AUTHORIZATION AUTHORIZED',
    'CAPTURE OK',
    'REFUND OK',
    'AUTHORIZATION FAILED',
  ])
  expect(data[1]).toEqual({
    xId: expect.stringMatching(/^[0-9a-f]{32}$/),
    payId,
    transId: 'step',
    type: 'CAPTURE',
    status: 'OK',
    amount: { value: 600, currency: 'EUR' },
    paymentMethodType: 'CARD',
    responseCode: '00000000',
    creationDate: expect.any(String),
    settledDate: expect.any(String),
    provider: { account: 'simulator', transactionId: expect.stringMatching(/^sim/) },
  })
})

test('200 by type, status, payment and time', async () => {
  expect(await typesOf('?type=CAPTURE,REFUND')).toEqual(['CAPTURE OK', 'REFUND OK'])
  expect(await typesOf('?status=FAILED')).toEqual(['AUTHORIZATION FAILED'])
  expect(await typesOf(`?payId=${payId}&status=OK`)).toEqual(['CAPTURE OK', 'REFUND OK'])
  expect(await typesOf('?payId=00000000000000000000000000000000')).toEqual([])
  const { data } = await read()
  expect(await typesOf(`?from=${data[1].settledDate}&to=${data[2].settledDate}`)).toEqual(['CAPTURE OK'])
})

test('200 UNDECIDED where the customer never chose a method', async () => {
  const other = await openShop(gateway)
  const session = { transId: 's-1', amount: { value: 500, currency: 'EUR' }, urls }
  const { body } = await other.call('POST', '/payments/sessions', session)
  await other.call('POST', `/payments/${body.payId}/cancellations`, {})
  const { data } = (await other.call('GET', '/operations')).body
  expect(data).toEqual([expect.objectContaining({ status: 'FAILED', paymentMethodType: 'UNDECIDED' })])
})

test('200 each page links to the next one', async () => {
  const { data, nextCursor } = await read('?limit=3')
  expect(data).toHaveLength(3)
  const next = await read(`?limit=3&cursor=${nextCursor}`)
  expect(next).toEqual({ data: [expect.objectContaining({ status: 'FAILED' })] })
  expect((await shop.call('GET', `/operations?cursor=${nextCursor}&type=CAPTURE`)).status).toBe(400)
})

test('200 text/csv with a header, both forms of the amount, and nothing that a spreadsheet would run', async () => {
  const response = await fetch(`${gateway.url}/api/v2/operations?status=AUTHORIZED`, {
    headers: { authorization: shop.authorization, accept: 'text/csv' },
  })
  expect(response.headers.get('content-type')).toContain('text/csv')
  const rows = (await response.text()).split('\r\n')
  expect(rows[0]).toMatch(/^xId,payId,transId,refNr,type,status,value,amount,currency,/)
  expect(rows[1]).toContain(
    `,${payId},"""quoted"", and long",'=1+1,AUTHORIZATION,AUTHORIZED,1000,10.00,EUR,CARD,`,
  )
  expect(rows.slice(2)).toEqual([''])
})

test.each(['=1+1', '+1', '-1', '@SUM(A1)', '＝1+1', '＋1', '－1', '＠SUM(A1)'])(
  'the cell %s begins with an apostrophe in the CSV',
  async refNr => {
    const other = await openShop(gateway)
    await other.authorize('CARD', { refNr })
    const response = await fetch(`${gateway.url}/api/v2/operations`, {
      headers: { authorization: other.authorization, accept: 'text/csv' },
    })
    expect(await response.text()).toContain(`,'${refNr},AUTHORIZATION,`)
  },
)

test('the CSV of all shows what the pages show, whatever the time zone of the database', async () => {
  const name = new URL(gateway.databaseUrl).pathname.slice(1)
  await queryRows(gateway.databaseUrl, `ALTER DATABASE ${name} SET timezone = 'Asia/Kolkata'`)
  const other = await startTestGateway({ beside: gateway })
  try {
    const response = await fetch(`${other.url}/api/v2/operations`, {
      headers: { authorization: shop.authorization, accept: 'text/csv' },
    })
    const rows = (await response.text()).trim().split('\r\n').slice(1)
    const { data } = await read()
    const times = data.map((one: AnyJson) => `${one.creationDate},${one.settledDate}`)
    expect(rows.map(row => row.split(',').slice(-4, -2).join(','))).toEqual(times)
    expect(rows.map(row => row.slice(0, 65))).toEqual(data.map((one: AnyJson) => `${one.xId},${one.payId}`))
  } finally {
    await other.stop()
  }
})

test.each([
  ['?type=PAYMENT', 'type'],
  ['?status=PENDING', 'status'],
  ['?limit=1001', 'limit'],
  ['?cursor=x', 'cursor'],
  ['?since=1', 'since'],
  ['?payId=nothing', 'payId'],
  ...['from', 'to', 'type', 'status', 'payId', 'limit', 'cursor'].map(field => [`?${field}=`, field]),
  ['?limit=0&type=PAYMENT', 'type'],
  ['?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'from'],
] as [string, string][])('400 %s names %s', async (query, field) => {
  const { status, body } = await shop.call('GET', `/operations${query}`)
  expect(status).toBe(400)
  expect(Object.keys(body.errors)).toContain(field)
})

test.each([
  ['text/csv', 'text/csv'],
  ['TEXT/CSV;q=0.9, application/json;q=0.1', 'text/csv'],
  ['text/csv;q=0', 'application/json'],
  ['text/csv; q=0.0, application/json', 'application/json'],
  ['application/json, text/csv', 'application/json'],
  ['text/csv;q=0.5, application/json', 'application/json'],
  ['application/json;q=0.1, text/csv', 'text/csv'],
  ['text/csv, */*;q=0.1', 'text/csv'],
  ['text/html, text/csv;q=0.9, */*;q=0.8', 'text/csv'],
])('Accept: %s is answered as %s', async (accept, expected) => {
  const response = await fetch(`${gateway.url}/api/v2/operations`, {
    headers: { authorization: shop.authorization, accept },
  })
  expect(response.headers.get('content-type')).toContain(expected)
  await response.text()
})

test('429 beyond ten exports at once of a merchant; nobody else waits for them, and each comes whole', async () => {
  const other = await openShop(gateway)
  /** Resolves with the beginning of the answer. */
  const beginExport = ({ authorization }: Shop) =>
    fetch(`${gateway.url}/api/v2/operations`, { headers: { authorization, accept: 'text/csv' } })
  const holder = await questionerOf(gateway.databaseUrl).connect()
  await holder.query('BEGIN; LOCK TABLE operation IN ACCESS EXCLUSIVE MODE')
  const asked = Array.from({ length: 11 }, () => beginExport(shop))
  // The table is locked, so only the excess request is answered.
  const refused = await Promise.race(asked)
  const beside = beginExport(other)
  const customers = await shop.call('GET', '/customers?page=1')
  await holder.query('ROLLBACK')
  holder.release()
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
  expect([(await beside).status, customers.status]).toEqual([200, 200])
  const whole = (await Promise.all(asked)).filter(response => response !== refused)
  const texts = new Set(await Promise.all(whole.map(response => response.text())))
  expect([...texts].map(text => text.trim().split('\r\n').length)).toEqual([(await read()).data.length + 1])
  expect((await beginExport(shop)).status).toBe(200)
})
