/** GET /customers: pages, their order and counts, filters, and errors. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { blockStatement } from '#storage/customers/customer-pages.ts'
import { openDatabase } from '#storage/database.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { createRandom } from '#test/support/simulation/random.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ clock: createTestClock() })
})
afterAll(() => gateway.stop())

async function bear(shop: Shop, merchantCustomerId: string, more: object = {}): Promise<string> {
  const customerInfo = { merchantCustomerId, email: 'ada@example.com', ...more }
  const { body, text } = await shop.create('CARD', { customerInfo })
  expect(body.customerInfo, text).toBeDefined()
  return body.customerInfo.gatewayCustomerId
}

const list = (shop: Shop, query: string) => shop.call('GET', `/customers?${query}`)

const idsOf = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id)

describe('pages', () => {
  test('200 an empty list before the first customer', async () => {
    const shop = await openShop(gateway)
    expect(await list(shop, 'page=1')).toMatchObject({
      status: 200,
      body: { totalNumberOfPages: 0, totalNumberOfItems: 0, page: 1, pageSize: 20, data: [] },
    })
  })

  test('200 the newest first, twenty on a page, none beyond the end', async () => {
    const shop = await openShop(gateway)
    const born: string[] = []
    for (let count = 1; count <= 41; count += 1) {
      born.unshift(await bear(shop, `c-${count}`))
      if (count % 10 === 0) await shop.advance('PT1S')
    }
    const pages = await Promise.all([1, 2, 3, 4, 2_147_483_647].map(page => list(shop, `page=${page}`)))
    expect(pages.map(({ body }) => body.data.length)).toEqual([20, 20, 1, 0, 0])
    for (const { body } of pages) {
      expect(body).toMatchObject({ totalNumberOfPages: 3, totalNumberOfItems: 41, pageSize: 20 })
    }
    const moments = pages.flatMap(({ body }) =>
      body.data.map((item: { createdAt: string }) => item.createdAt),
    )
    expect(moments).toEqual(moments.toSorted().toReversed())
    expect(pages.flatMap(({ body }) => idsOf(body)).toSorted()).toEqual(born.toSorted())
    expect(pages[0]?.body.data[0]).not.toHaveProperty('billingAddress')
    expect(pages[0]?.body.data[0]).not.toHaveProperty('lastUsedAt')
  })

  test.each([
    ['page', ''],
    ['page', 'page='],
    ['page', 'page=0'],
    ['page', 'page=-1'],
    ['page', 'page=1.5'],
    ['page', 'page=01'],
    ['page', 'page=one'],
    ['page', 'page=2147483648'],
    ['page', 'page=9999999999'],
    ['page', 'page=1&page=2'],
    ['pageSize', 'page=1&pageSize=50'],
    ['limit', 'page=1&limit=5'],
    ['createdFrom', 'page=1&createdFrom=2026-02-30'],
    ['createdTo', 'page=1&createdTo=2026-02-01T00:00:00'],
    ['phoneCountry', 'page=1&phoneCountry=abc'],
    ['phoneNumber', 'page=1&phoneNumber=12-34'],
    ['phoneNumber', 'page=1&phoneNumber='],
    ['merchantCustomerId', 'page=1&merchantCustomerId='],
    ['email', 'page=1&email='],
    ['email', 'page=1&email=ada'],
    ['email', 'page=1&email=%ff@example.com'],
    ['merchantCustomerId', 'page=1&merchantCustomerId=100%'],
  ])('400 %s in ?%s, as a problem', async (field, query) => {
    const shop = await openShop(gateway)
    const answer = await list(shop, query)
    expect(answer).toMatchObject({ status: 400, body: { status: 400, traceId: expect.any(String) } })
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(Object.keys(answer.body.errors)).toEqual([field])
  })

  test.each([
    [['createdFrom', 'createdTo'], 'page=1&createdFrom=2027-03-11&createdTo=2027-03-10'],
    [['createdFrom', 'createdTo', 'page'], 'page=0&createdFrom=2027-03-11&createdTo=2027-03-10'],
    [['createdFrom', 'createdTo', 'page'], 'page=2147483648&createdFrom=2027-03-11&createdTo=2027-03-10'],
    [['email', 'page', 'phoneNumber'], 'page=2147483648&email=&phoneNumber=x'],
  ])('400 %j in ?%s', async (fields, query) => {
    const answer = await list(await openShop(gateway), query)
    expect(answer.status).toBe(400)
    expect(Object.keys(answer.body.errors).toSorted()).toEqual(fields)
  })
})

describe('filters', () => {
  let shop: Shop
  let ids: Record<string, string>
  let days: string[]
  beforeAll(async () => {
    shop = await openShop(gateway)
    const { body } = await shop.call('GET', '/test/clock')
    // Moves the clock to the start of a day, so that the days of the customers are known.
    const noon = `${body.now.slice(0, 10)}T00:00:00.000Z`
    const next = new Date(Date.parse(noon) + 86_400_000).toISOString()
    await shop.call('POST', '/test/clock', { now: next })
    days = [0, 1, 2].map(day => new Date(Date.parse(next) + day * 86_400_000).toISOString().slice(0, 10))
    ids = { first: await bear(shop, 'first', { phone: { countryCode: '+49', number: '30123456' } }) }
    await shop.advance('P1D')
    ids.second = await bear(shop, 'second', {
      email: 'Grace.Hopper@Example.com',
      phone: { countryCode: '49', number: '40123456' },
    })
    ids.third = await bear(shop, 'third', { phone: { countryCode: '+44', number: '30123456' } })
    await shop.advance('P1D')
    ids.fourth = await bear(shop, 'odd & id=?', { email: 'grace.hopper@example.com' })
  })

  const cases: [query: () => string, expected: string[]][] = [
    [() => 'merchantCustomerId=first', ['first']],
    [() => 'merchantCustomerId=First', []],
    [() => `merchantCustomerId=${encodeURIComponent('odd & id=?')}`, ['fourth']],
    [() => 'email=grace.hopper@example.com', ['fourth', 'second']],
    [() => 'email=GRACE.HOPPER@example.com', ['fourth', 'second']],
    [() => 'email=grace@example.com', []],
    [() => 'email=%25@example.com', []],
    [() => 'phoneNumber=30123456', ['third', 'first']],
    [() => 'phoneCountry=%2B49', ['second', 'first']],
    [() => 'phoneCountry=+49', ['second', 'first']],
    [() => 'phoneCountry=49&phoneNumber=30123456', ['first']],
    [() => `createdFrom=${days[1]}`, ['fourth', 'third', 'second']],
    [() => `createdTo=${days[0]}`, ['first']],
    [() => `createdFrom=${days[1]}&createdTo=${days[1]}`, ['third', 'second']],
    [() => `createdFrom=${days[0]}&createdTo=${days[2]}`, ['fourth', 'third', 'second', 'first']],
    [() => `createdFrom=${days[1]}&email=grace.hopper@example.com`, ['fourth', 'second']],
  ]
  test.each(cases.map(([query, expected]) => ({ query, expected, title: String(query).slice(6) })))(
    '200 $title finds $expected',
    async ({ query, expected }) => {
      const { status, body } = await list(shop, `page=1&${query()}`)
      expect(status).toBe(200)
      // The order of two customers of the same moment is undefined.
      expect(idsOf(body).toSorted()).toEqual(expected.map(name => ids[name]).toSorted())
      expect(body.totalNumberOfItems).toBe(expected.length)
      expect(body.totalNumberOfPages).toBe(expected.length === 0 ? 0 : 1)
    },
  )

  test('200 a second page of a filtered list', async () => {
    const { body } = await list(shop, 'page=2&phoneCountry=49')
    expect(body).toMatchObject({ data: [], totalNumberOfItems: 2, totalNumberOfPages: 1, page: 2 })
  })
})

/** Thousands of customers, written directly into the database, into the open block. */
const populate = (merchantId: string, count: number, startAt: string) =>
  queryRows(
    gateway.databaseUrl,
    `WITH block AS (INSERT INTO customer_block (merchant_id, first_at, older) VALUES ($1, to_timestamp(0), 0) ON CONFLICT DO NOTHING),
       opened AS (INSERT INTO customer_order VALUES ($1, to_timestamp(0)) ON CONFLICT DO NOTHING)
     INSERT INTO customer (merchant_id, customer_id, merchant_customer_id, email, last_used_at, created_at, updated_at, version)
     SELECT $1, gen_random_uuid(), 'bulk-' || n, 'bulk@example.com', at, at, at, 1
     FROM generate_series(1, $2::integer) n, LATERAL (SELECT $3::timestamptz + (n / 3) * interval '1 millisecond' AS at) t`,
    [merchantId, count, startAt],
  )

const countOpen = async (merchantId: string) =>
  (
    await queryRows<{ count: string }>(
      gateway.databaseUrl,
      `SELECT count(*) FROM customer c JOIN customer_order o USING (merchant_id)
       WHERE merchant_id = $1 AND c.created_at >= o.open_at`,
      [merchantId],
    )
  ).map(({ count }) => Number(count))

describe('many customers', () => {
  /** Compares all pages with the rows. */
  async function expectAllPages(shop: Shop): Promise<void> {
    const truth = (
      await queryRows<{ id: string }>(
        gateway.databaseUrl,
        `SELECT replace(customer_id::text, '-', '') AS id FROM customer WHERE merchant_id = $1
         ORDER BY created_at DESC, customer_id DESC`,
        [shop.merchantId],
      )
    ).map(({ id }) => id)
    const pages = Math.ceil(truth.length / 20)
    const seen: string[] = []
    for (let page = 1; page <= pages; page += 1) {
      const { body } = await list(shop, `page=${page}`)
      expect(body).toMatchObject({ totalNumberOfItems: truth.length, totalNumberOfPages: pages })
      seen.push(...idsOf(body))
    }
    expect(seen).toEqual(truth)
    expect((await list(shop, `page=${pages + 1}`)).body.data).toEqual([])
  }

  test('every page is right before and after blocks are split, and with deleted customers', async () => {
    const shop = await openShop(gateway)
    await populate(shop.merchantId, inLongRun(1_345, 2_345), '2020-01-01T00:00:00Z')
    await list(shop, 'page=1')
    const [open = 0] = await countOpen(shop.merchantId)
    expect(open).toBeGreaterThan(0)
    expect(open).toBeLessThanOrEqual(500)
    await expectAllPages(shop)
    const random = createRandom(7)
    const { rows: chosen } = { rows: await idsIn(shop.merchantId) }
    const deleted = chosen.filter(() => random.chance(0.1))
    for (const id of deleted) expect((await shop.call('DELETE', `/customers/${id}`)).status).toBe(200)
    expect(deleted.length).toBeGreaterThan(100)
    await expectAllPages(shop)
    const fresh = await bear(shop, 'fresh')
    expect(idsOf((await list(shop, 'page=1')).body)[0]).toBe(fresh)
    await expectAllPages(shop)
  })

  test('creating, deleting and counting customers at the same moment leaves the counts right', async () => {
    const shop = await openShop(gateway)
    const { body } = await shop.call('GET', '/test/clock')
    await populate(shop.merchantId, 1_100, body.now)
    const victims = (await idsIn(shop.merchantId)).filter((_, index) => index % 20 === 0)
    const births = Array.from({ length: 150 }, (_, index) => bear(shop, `racing-${index}`))
    const deletions = victims.map(id => shop.call('DELETE', `/customers/${id}`))
    const lists = Array.from({ length: 30 }, (_, index) => list(shop, `page=${index + 1}`))
    await Promise.all(births)
    for (const { status } of await Promise.all([...deletions, ...lists])) expect(status).toBe(200)
    await expectAllPages(shop)
    expect((await list(shop, 'page=1')).body.totalNumberOfItems).toBe(1_100 + 150 - victims.length)
  })

  test('a new customer is dated after those whose dates lie ahead, so that counted pages stay right', async () => {
    const shop = await openShop(gateway)
    // All of them are dated in the merchant's future, as if another process's clock ran ahead.
    const ahead = new Date(Date.now() + 10 * 365 * 86_400_000).toISOString()
    await populate(shop.merchantId, 1_500, ahead)
    await list(shop, 'page=1')
    const id = await bear(shop, 'late')
    const { body } = await shop.call('GET', `/customers/${id}`)
    expect(body.createdAt.slice(0, 10)).toBe(ahead.slice(0, 10))
    await expectAllPages(shop)
  })
})

const idsIn = async (merchantId: string) =>
  (
    await queryRows<{ id: string }>(
      gateway.databaseUrl,
      `SELECT replace(customer_id::text, '-', '') AS id FROM customer WHERE merchant_id = $1 ORDER BY customer_id`,
      [merchantId],
    )
  ).map(({ id }) => id)

test('a page of very many customers reads only a few rows, also with fresh statistics of the planner', async () => {
  const shop = await openShop(gateway)
  await bear(shop, 'the first')
  await queryRows(
    gateway.databaseUrl,
    `INSERT INTO customer (merchant_id, customer_id, merchant_customer_id, email, last_used_at, created_at, updated_at, version)
     SELECT '${shop.merchantId}', gen_random_uuid(), 'many-' || n, 'ada@example.com', at, at, at, 1
     FROM generate_series(1, 20000) n, LATERAL (SELECT now() + n * interval '1 second' AS at) t`,
  )
  await queryRows(gateway.databaseUrl, 'ANALYZE customer')
  expect((await list(shop, 'page=1')).body.totalNumberOfItems).toBe(20_001)
  const database = openDatabase(gateway.databaseUrl, error => expect(error).toBeUndefined())
  const text = blockStatement.text.replaceAll('$1', `'${shop.merchantId}'`).replaceAll('$2', '0')
  const { rows } = await database.readers.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`)
  await database.close()
  const plan = rows.map(row => row['QUERY PLAN']).join('\n')
  expect(plan).toContain('customer_by_age')
  expect(plan).not.toMatch(/Seq Scan on customer\b/)
})
