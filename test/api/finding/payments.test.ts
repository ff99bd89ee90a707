/**
 * GET /payments: every filter alone and together, pages without gaps or repetitions, and errors that name the
 * parameter.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeCursor } from '#operations/finding/cursor.ts'
import { openDatabase } from '#storage/database.ts'
import { foundByJson } from '#storage/payments/found-by.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { expectWaiting } from '#test/support/database/database.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Change, openShop, type Shop, urls } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
const made: Record<string, string> = {}
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
  const keep = async (name: string, change: Change, type: 'CARD' | 'DIRECTDEBIT' = 'CARD') => {
    made[name] = (await shop.create(type, change)).body.payId
    await shop.advance('PT1M')
  }
  await keep('plain', { transId: 'plain', amount: { value: 700, currency: 'EUR' } })
  await keep('dollars', { transId: 'dollars', amount: { value: 900, currency: 'USD' }, refNr: 'ref-1' })
  await keep('declined', { card: { number: '4000000000009995' } })
  await keep('manual', { captureMethod: { type: 'MANUAL' } })
  await keep('debit', {}, 'DIRECTDEBIT')
  await keep('customer', {
    customerInfo: { merchantCustomerId: 'c-1', email: 'Ada@Example.com', firstName: 'Ada' },
    credentialOnFile: {
      type: 'RECURRING',
      initialPayment: true,
      recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
    },
    card: { number: '5555555555554444' },
  })
  await keep('hosted', { urls, paymentMethods: { integrationType: 'HOSTED', type: 'CARD' } })
})
afterAll(() => gateway.stop())

const list = async (query: string, caller: Shop = shop) => caller.call('GET', `/payments${query}`)

async function namesFor(query: string): Promise<string[]> {
  const { status, body, text } = await list(query)
  expect(status, text).toBe(200)
  const byId = new Map(Object.entries(made).map(([name, payId]) => [payId, name]))
  return body.data.map(({ payId }: AnyJson) => byId.get(payId) ?? payId)
}

const newestFirst = ['hosted', 'customer', 'debit', 'manual', 'declined', 'dollars', 'plain']

test.each<[query: string, names: string[]]>([
  ['', newestFirst],
  ['?status=FAILED', ['declined']],
  ['?status=AUTHORIZED,AUTHORIZE_REQUEST', ['hosted', 'manual']],
  ['?status=OK', ['customer', 'debit', 'dollars', 'plain']],
  ['?status=OK,FAILED', ['customer', 'debit', 'declined', 'dollars', 'plain']],
  ['?status=PENDING', []],
  ['?type=DIRECTDEBIT', ['debit']],
  ['?type=CARD,DIRECTDEBIT', newestFirst],
  ['?currency=USD', ['dollars']],
  ['?amountFrom=700&amountTo=700', ['plain']],
  ['?amountFrom=701&amountTo=999', ['dollars']],
  ['?transId=plain', ['plain']],
  ['?refNr=ref-1', ['dollars']],
  ['?responseCode=00000000', ['customer', 'debit', 'manual', 'dollars', 'plain']],
  ['?responseCode=21000351', ['declined']],
  ['?email=ada@example.COM', ['customer']],
  ['?merchantCustomerId=c-1', ['customer']],
  ['?last4Digits=4444', ['customer']],
  ['?last4Digits=3000', ['debit']],
  ['?currency=EUR&status=OK&type=CARD', ['customer', 'plain']],
  ['?email=nobody@example.com', []],
  ['?gatewayCustomerId=00000000000000000000000000000000', []],
])('200 %s', async (query, names) => {
  expect(await namesFor(query)).toEqual(names)
})

test('200 by our own ids of the customer and of the plan', async () => {
  const { customerInfo, paymentPlanId } = await shop.read(made.customer ?? '')
  expect(await namesFor(`?gatewayCustomerId=${customerInfo.gatewayCustomerId}`)).toEqual(['customer'])
  expect(await namesFor(`?paymentPlanId=${paymentPlanId}`)).toEqual(['customer'])
})

test.each(['', '?erase=payments'])(
  '200 by the merchant’s own id of a customer: also the charges of their plans; deleted%s',
  async query => {
    const other = await openShop(gateway)
    const customerInfo = { merchantCustomerId: 'c-1', email: 'ada@example.com' }
    const recurring = { frequency: 'MONTHLY', useCase: 'FIXED', autoCharge: true }
    const credentialOnFile = { type: 'RECURRING', initialPayment: true, recurring }
    const { body } = await other.create('CARD', { customerInfo, credentialOnFile })
    await other.create('CARD', { customerInfo: { ...customerInfo, merchantCustomerId: 'c-2' } })
    await other.advance('P40D')
    const charges = await other.call('GET', `/payment-plans/${body.paymentPlanId}/payments?page=1`)
    const ofPlan = charges.body.data.map((one: AnyJson) => one.payId)
    expect(ofPlan).toHaveLength(2)
    const found = async () =>
      (await list('?merchantCustomerId=c-1', other)).body.data.map((one: AnyJson) => one.payId)
    expect(await found()).toEqual(ofPlan)
    const id = body.customerInfo.gatewayCustomerId
    expect((await other.call('DELETE', `/customers/${id}${query}`)).status).toBe(200)
    expect(await found()).toEqual(ofPlan)
  },
)

test.each(['', '?erase=payments'])('200 by the id of a customer who was deleted%s', async query => {
  const other = await openShop(gateway)
  const customerInfo = { merchantCustomerId: 'c-1', email: 'ada@example.com' }
  const [first, second] = [
    await other.create('CARD', { customerInfo }),
    await other.create('CARD', { customerInfo, transId: 'second' }),
  ]
  const customerId = first.body.customerInfo.gatewayCustomerId
  const found = async (id: string) =>
    (await list(`?gatewayCustomerId=${id}`, other)).body.data.map((one: AnyJson) => one.payId)
  expect((await other.call('DELETE', `/customers/${customerId}${query}`)).status).toBe(200)
  expect(await found(customerId)).toEqual([second.body.payId, first.body.payId])
  // Another customer by the same name of the merchant's is not that one.
  const third = await other.create('CARD', { customerInfo, transId: 'third' })
  expect(await found(customerId)).toEqual([second.body.payId, first.body.payId])
  expect(await found(third.body.customerInfo.gatewayCustomerId)).toEqual([third.body.payId])
})

test('200 from is inclusive, to is exclusive', async () => {
  const { creationDate } = await shop.read(made.manual ?? '')
  const { creationDate: later } = await shop.read(made.customer ?? '')
  expect(await namesFor(`?from=${creationDate}&to=${later}`)).toEqual(['debit', 'manual'])
  // A shop's last moment of a day may be written with microseconds; the payment of that millisecond is before it.
  const justAfter = (text: string) => text.replace('Z', '001Z')
  expect(await namesFor(`?from=${justAfter(creationDate)}&to=${justAfter(later)}`)).toEqual([
    'customer',
    'debit',
  ])
})

test('200 the record is the one that a look-up shows', async () => {
  const { body } = await list('?transId=plain')
  expect(body).toEqual({ data: [await shop.read(made.plain ?? '')] })
})

test('a payment that leaves a status is found under the new one only', async () => {
  const other = await openShop(gateway)
  const payId = await other.authorize('CARD')
  const under = async (status: string) =>
    (await list(`?status=${status}`, other)).body.data.map((one: AnyJson) => one.payId)
  expect([await under('AUTHORIZED'), await under('OK')]).toEqual([[payId], []])
  await other.act(payId, 'captures', 1000)
  expect([await under('AUTHORIZED'), await under('OK')]).toEqual([[], [payId]])
  expect((await list('?responseCode=21000305', other)).body.data).toEqual([])
})

test('a payment that a process of an earlier release writes, which knows no marks, is found', async () => {
  const other = await openShop(gateway)
  const { body } = await other.create('CARD', { card: { number: '4000000000009995' } })
  const found = async () =>
    (await list('?responseCode=21000351', other)).body.data.map((one: AnyJson) => one.payId)
  const of = `merchant_id = '${other.merchantId}' AND pay_id = '${body.payId}'`
  await queryRows(gateway.databaseUrl, `DELETE FROM payment_mark WHERE ${of}`)
  expect(await found()).toEqual([])
  const write = (setting: string) =>
    queryRows(
      gateway.databaseUrl,
      `BEGIN; SET LOCAL application_name = 'tollgate'; ${setting};
        UPDATE payment SET version = version + 1 WHERE ${of}; COMMIT`,
    )
  await write("SET LOCAL tollgate.process = '1'")
  expect(await found()).toEqual([])
  await write("SET LOCAL tollgate.process = ''")
  expect(await found()).toEqual([body.payId])
})

test('walking all pages while payments arrive shows each of the first ones exactly once', async () => {
  const other = await openShop(gateway)
  const first = await Promise.all(
    Array.from({ length: 23 }, async () => (await other.create('CARD')).body.payId),
  )
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const { body } = await list(`?limit=5${cursor === undefined ? '' : `&cursor=${cursor}`}`, other)
    seen.push(...body.data.map(({ payId }: AnyJson) => payId))
    cursor = body.nextCursor
    await other.create('CARD')
  } while (cursor !== undefined)
  expect(seen.toSorted()).toEqual(first.toSorted())
})

describe('400 names the parameter', () => {
  test('every wrong parameter is named', async () => {
    const { status, body } = await list('?status=PAID&type=CRAD&amountFrom=5&amountTo=4')
    expect(status).toBe(400)
    expect(Object.keys(body.errors).sort()).toEqual(['amountFrom', 'amountTo', 'status', 'type'])
  })

  test('those that only the endpoint can check beside those of the schema', async () => {
    const { body } = await list(
      '?colour=red&limit=0&cursor=x&currency=EURO&status=PAID&amountFrom=5&amountTo=4',
    )
    expect(Object.keys(body.errors).sort()).toEqual(
      ['amountFrom', 'amountTo', 'colour', 'currency', 'cursor', 'limit', 'status'].sort(),
    )
    const twice = await list('?status=OK&status=FAILED&from=2026-01-02T00:00:00Z&to=2026-01-02T00:00:00Z')
    expect(Object.keys(twice.body.errors).sort()).toEqual(['from', 'status', 'to'])
  })

  test.each([
    ['?colour=red', 'colour'],
    ['?status=PAID', 'status'],
    ['?type=CRAD', 'type'],
    ['?currency=EURO', 'currency'],
    ['?amountFrom=-1', 'amountFrom'],
    ['?amountFrom=5&amountTo=4', 'amountFrom'],
    ['?from=yesterday', 'from'],
    ['?to=2200-01-01T00:00:00Z', 'to'],
    ['?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z', 'from'],
    ['?limit=101', 'limit'],
    ['?limit=0', 'limit'],
    ['?responseCode=51', 'responseCode'],
    ['?last4Digits=12345', 'last4Digits'],
    ['?cursor=made-up', 'cursor'],
    ['?gatewayCustomerId=nobody', 'gatewayCustomerId'],
    ['?paymentPlanId=019A3F6B2C4D7E8F9012A3B4C5D6E7F8', 'paymentPlanId'],
    ['?email=nobody', 'email'],
    ['?transId=%ff', 'transId'],
    ['?refNr=a%20b%c3', 'refNr'],
    ['?merchantCustomerId=100%', 'merchantCustomerId'],
    ['?%ff=1', '%ff'],
    ...[
      ...[
        'from',
        'to',
        'status',
        'type',
        'currency',
        'amountFrom',
        'amountTo',
        'transId',
        'refNr',
        'responseCode',
      ],
      ...[
        'email',
        'merchantCustomerId',
        'gatewayCustomerId',
        'paymentPlanId',
        'last4Digits',
        'limit',
        'cursor',
      ],
    ].map(field => [`?${field}=`, field]),
  ] as [string, string][])('%s', async (query, field) => {
    const { status, body, headers } = await list(query)
    expect(status).toBe(400)
    expect(headers.get('content-type')).toContain('application/problem+json')
    expect(Object.keys(body.errors)).toContain(field)
  })

  test.each([['x', 'y'], [Number.MAX_SAFE_INTEGER, '0'.repeat(32)], [1, 'y'], [1], {}, null, 'x'])(
    'a cursor with a right check that somebody made of %j',
    async place => {
      for (const path of ['payments', 'operations', 'payments/links']) {
        const scope = { list: path.split('/').at(-1) ?? '', merchantId: shop.merchantId, filters: {} }
        const cursor = writeCursor(scope, place as never)
        const { status, body } = await shop.call('GET', `/${path}?cursor=${cursor}`)
        expect([path, status, Object.keys(body.errors)]).toEqual([path, 400, ['cursor']])
      }
    },
  )

  test('no order of a list: a cursor goes on with the same values in another one', async () => {
    const { body } = await list('?limit=1&status=OK,AUTHORIZED&type=CARD')
    const next = (query: string) => list(`?limit=1&cursor=${body.nextCursor}&${query}`)
    expect((await next('type=CARD&status=AUTHORIZED,OK')).status).toBe(200)
    expect((await next('type=CARD&status=AUTHORIZED')).status).toBe(400)
  })

  test('a cursor of other filters, and one of another merchant', async () => {
    const { body } = await list('?limit=1')
    expect((await list(`?limit=1&cursor=${body.nextCursor}&currency=EUR`)).status).toBe(400)
    const other = await openShop(gateway)
    expect((await list(`?limit=1&cursor=${body.nextCursor}`, other)).status).toBe(400)
    expect((await list(`?limit=2&cursor=${body.nextCursor}`)).status).toBe(200)
  })
})

test('200 with an empty list for a payment of another merchant', async () => {
  const other = await openShop(gateway)
  expect((await list('?transId=plain', other)).body).toEqual({ data: [] })
})

test('200 rows of the previous release are found by fields that only their JSON has', async () => {
  const link = await shop.call('POST', '/payments/links', {
    transId: 'link',
    amount: { value: 100, currency: 'EUR' },
  })
  const { customerInfo } = await shop.read(made.customer ?? '')
  const queries = [
    'email=ADA@example.com',
    'merchantCustomerId=c-1',
    'last4Digits=4444',
    `gatewayCustomerId=${customerInfo.gatewayCustomerId}`,
  ]
  for (const store of ['columns', 'JSON']) {
    if (store === 'JSON') await queryRows(gateway.databaseUrl, `UPDATE payment SET ${foundByJson}`)
    for (const query of queries)
      expect(await namesFor(`?${query}`), `${query} by ${store}`).toEqual(['customer'])
    expect(await namesFor('?last4Digits=3000'), store).toEqual(['debit'])
    expect((await shop.call('GET', `/payments/links/${link.body.id}`)).status, store).toBe(200)
  }
})

test('200 lists of a merchant that take long leave connections for the reads of others', async () => {
  const other = await openShop(gateway)
  const client = new pg.Client({ connectionString: gateway.databaseUrl })
  await client.connect()
  await client.query('BEGIN')
  await client.query('LOCK TABLE settlement_line IN ACCESS EXCLUSIVE MODE')
  const slow = Array.from({ length: 6 }, () => shop.call('GET', '/settlements'))
  await expectWaiting(gateway.databaseUrl, 2)
  const quick = other.call('GET', '/customers?page=1').then(({ status }) => `another merchant: ${status}`)
  expect(await Promise.race([quick, ...slow])).toBe('another merchant: 200')
  await client.query('ROLLBACK')
  await client.end()
  const statuses = (await Promise.all(slow)).map(({ status }) => status)
  expect(statuses.filter(status => status === 200).length).toBeGreaterThanOrEqual(2)
})

test('a list that takes too long is cancelled before the database counts as silent for all merchants', async () => {
  const database = openDatabase(gateway.databaseUrl, () => undefined)
  const { rows } = await database.readers.query('SHOW statement_timeout')
  expect(rows).toEqual([{ statement_timeout: '5s' }])
  await database.close()
})
