/** Payment links after they were made: listed, read, changed. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { AnyJson } from '#test/support/any-json.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, refused, type Shop } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
})
beforeEach(async () => {
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

const make = async (transId: string, more: object = {}): Promise<AnyJson> =>
  (await shop.call('POST', '/payments/links', { transId, amount: { value: 500, currency: 'EUR' }, ...more }))
    .body
const stateOf = async (id: string) => (await shop.call('GET', `/payments/links/${id}`)).body.status

test('200 the four states, listed and alone', async () => {
  const paid = await make('paid')
  await shop.customer(paid.payId, 'approve')
  const ended = await make('ended')
  await shop.call('POST', `/payments/${ended.payId}/cancellations`)
  const old = await make('old')
  await shop.advance('P2D')
  const active = await make('active')
  const states = {
    [paid.id]: 'COMPLETED',
    [ended.id]: 'CANCELLED',
    [old.id]: 'EXPIRED',
    [active.id]: 'ACTIVE',
  }
  for (const [id, state] of Object.entries(states)) expect(await stateOf(id)).toBe(state)
  const { body } = await shop.call('GET', '/payments/links')
  expect(body.data.map(({ id }: AnyJson) => id)).toEqual([active.id, old.id, ended.id, paid.id])
  for (const [id, state] of Object.entries(states)) {
    const { data } = (await shop.call('GET', `/payments/links?status=${state}`)).body
    expect(data.map((link: AnyJson) => link.id)).toEqual([id])
  }
  const page = (await shop.call('GET', '/payments/links?limit=3')).body
  const next = (await shop.call('GET', `/payments/links?limit=3&cursor=${page.nextCursor}`)).body
  expect([page.data.length, next]).toEqual([3, { data: [expect.objectContaining({ id: paid.id })] }])
})

test('200 a state is found among many others, page after page', async () => {
  const wanted: string[] = []
  for (const index of Array.from({ length: 9 }).keys()) {
    const { id, payId } = await make(`many-${index}`)
    if (index % 3 > 0) continue
    await shop.call('POST', `/payments/${payId}/cancellations`)
    wanted.unshift(id)
  }
  const seen: string[] = []
  let cursor: string | undefined
  do {
    const query = `?status=CANCELLED&limit=1${cursor === undefined ? '' : `&cursor=${cursor}`}`
    const { body } = await shop.call('GET', `/payments/links${query}`)
    seen.push(...body.data.map(({ id }: AnyJson) => id))
    cursor = body.nextCursor
  } while (cursor !== undefined)
  expect(seen).toEqual(wanted)
})

test('200 another end and description, which then apply', async () => {
  const { id, payId } = await make('changed')
  const { now } = (await shop.call('GET', '/test/clock')).body
  const expirationTime = new Date(Date.parse(now) + 3 * 86_400_000).toISOString()
  const changed = await shop.call('PATCH', `/payments/links/${id}`, {
    expirationTime,
    description: 'for you',
  })
  expect(changed).toMatchObject({ status: 200, body: { id, expirationTime, description: 'for you' } })
  await shop.advance('P2D')
  expect(await stateOf(id)).toBe('ACTIVE')
  await shop.advance('P2D')
  expect([await stateOf(id), (await shop.read(payId)).status]).toEqual(['EXPIRED', 'FAILED'])
})

test('422 20200011 a link that is not active, 404 and 400', async () => {
  const { id, payId } = await make('over')
  await shop.customer(payId, 'approve')
  const change = { description: 'late' }
  expect(await shop.call('PATCH', `/payments/links/${id}`, change)).toMatchObject(refused('20200011'))
  expect((await shop.call('PATCH', '/payments/links/pl_none', change)).status).toBe(404)
  expect((await shop.call('PATCH', `/payments/links/${id}`, {})).status).toBe(400)
  const wrong = await shop.call('GET', '/payments/links?status=PAID&limit=0&cursor=')
  expect(wrong.status).toBe(400)
  expect(Object.keys(wrong.body.errors).toSorted()).toEqual(['cursor', 'limit', 'status'])
  const other = await openShop(gateway)
  expect((await other.call('GET', `/payments/links/${id}`)).status).toBe(404)
})
