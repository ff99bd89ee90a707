/** Events in the API: the list, one event with its attempts, and replays. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Receiver, startReceiver } from '#test/support/receiver.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { findBrokenRules } from '#test/support/simulation/invariants.ts'
import { eventsOf, lostAnswer, raiseEvent, tellingOf } from '#test/support/webhooks.ts'

let gateway: TestGateway
let shop: Shop
let receiver: Receiver
beforeAll(async () => {
  gateway = await startTestGateway()
})
beforeEach(async () => {
  shop = await openShop(gateway)
  receiver = await startReceiver()
})
afterEach(() => receiver.close())
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const hook = () => tellingOf(receiver)
const raise = (more: object = hook()) => raiseEvent(shop, more)
const eventOf = async (payId: string) => (await eventsOf(shop, payId))[0]

describe('GET /events', () => {
  test('200 the newest first, by twenties, by payment and by status', async () => {
    const delivered = await raise()
    const many = await Promise.all(
      Array.from({ length: 21 }, async () => (await shop.create('CARD', lostAnswer)).body.payId),
    )
    await shop.advance('PT11S')
    const list = async (query: string) => (await shop.call('GET', `/events${query}`)).body
    const first = await list('')
    expect(first).toMatchObject({ totalNumberOfPages: 2, totalNumberOfItems: 22, page: 1, pageSize: 20 })
    expect(first.data).toHaveLength(20)
    const second = await list('?page=2')
    expect(second.data).toHaveLength(2)
    expect(second.data[1]).toMatchObject({ payId: delivered, status: 'DELIVERED' })
    const ids = [...first.data, ...second.data].map(({ id }: { id: string }) => id)
    expect(ids).toEqual(ids.toSorted().reverse())
    expect((await list('?page=3')).data).toEqual([])
    expect((await list(`?status=DELIVERED`)).data).toMatchObject([{ payId: delivered }])
    expect((await list(`?status=FAILED&payId=${many[3]}`)).data).toMatchObject([{ payId: many[3] }])
    expect((await list(`?status=PENDING`)).totalNumberOfItems).toBe(0)
  })

  test.each([
    'page=0',
    'page=x',
    'page=-1',
    'status=LOST',
    'payId=1',
    'since=yesterday',
    'page=1&pageSize=5',
  ])('400 %s', async query => {
    const { status, body, headers } = await shop.call('GET', `/events?${query}`)
    expect([status, headers.get('content-type')]).toEqual([400, 'application/problem+json'])
    expect(Object.keys(body.errors)).toHaveLength(1)
  })

  test('401 without credentials', async () => {
    const answer = await shop.call('GET', '/events', undefined, { authorization: 'Basic eDp5' })
    expect(answer.status).toBe(401)
  })
})

describe('GET /events/{id}', () => {
  test('200 with every attempt, and nothing more than the contract names', async () => {
    const payId = await raise()
    const { id } = await eventOf(payId)
    const { status, body } = await shop.call('GET', `/events/${id}`)
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual([
      'id',
      'payId',
      'sequence',
      'type',
      'status',
      'url',
      'creationDate',
      'body',
      'attempts',
    ])
    expect(body.body).toEqual(receiver.heard[0]?.body)
    expect(body.attempts).toEqual([
      { at: expect.any(String), status: 204, durationMs: expect.any(Number), answer: '' },
    ])
  })

  test('404 another merchant’s, and the same for an unknown one', async () => {
    const { id } = await eventOf(await raise())
    const neighbour = await openShop(gateway)
    for (const path of [`/events/${id}`, `/events/${id}/replays`]) {
      const verb = path.endsWith('replays') ? 'POST' : 'GET'
      const foreign = await neighbour.call(verb, path)
      const unknown = await neighbour.call(verb, path.replace(id, '0'.repeat(32)))
      const odd = await neighbour.call(verb, path.replace(id, 'no-id'))
      expect([foreign.status, unknown.status, odd.status]).toEqual([404, 404, 404])
      const bare = ({ traceId: _, ...rest }: Record<string, unknown>) => rest
      expect(bare(foreign.body)).toEqual(bare(unknown.body))
    }
    expect(receiver.heard).toHaveLength(1)
  })
})

describe('POST /events/{id}/replays', () => {
  test('200 sends a delivered one again, under the same id', async () => {
    const { id } = await eventOf(await raise())
    const { status, body } = await shop.call('POST', `/events/${id}/replays`)
    expect([status, body.id, body.status]).toEqual([200, id, 'PENDING'])
    await shop.advance('PT0S')
    expect(receiver.heard.map(({ headers }) => headers['webhook-id'])).toEqual([id, id])
    expect((await shop.call('GET', `/events/${id}`)).body).toMatchObject({
      status: 'DELIVERED',
      attempts: [{ status: 204 }, { status: 204 }],
    })
  })

  test('200 revives a failed one, with a schedule of its own', async () => {
    receiver.behave(() => 410)
    const { id } = await eventOf(await raise())
    receiver.behave(() => 500)
    await shop.call('POST', `/events/${id}/replays`)
    await shop.advance('PT0S')
    await shop.advance('PT6S')
    expect(receiver.heard).toHaveLength(3)
    receiver.behave(() => 204)
    await shop.advance('PT6M')
    expect((await shop.call('GET', `/events/${id}`)).body).toMatchObject({
      status: 'DELIVERED',
      attempts: [410, 500, 500, 204].map(status => ({ status })),
    })
  })

  test('200 uses the address that was set meanwhile', async () => {
    const { id } = await eventOf(await raise({}))
    await gateway.gateway.merchants.set(shop.merchantId, { webhookUrl: receiver.url })
    await shop.call('POST', `/events/${id}/replays`)
    await receiver.reached(1)
    expect(receiver.heard[0]?.headers['webhook-id']).toBe(id)
  })

  test('200 once for one Idempotency-Key', async () => {
    const { id } = await eventOf(await raise())
    const key = { 'idempotency-key': 'again' }
    const first = await shop.call('POST', `/events/${id}/replays`, undefined, key)
    const second = await shop.call('POST', `/events/${id}/replays`, undefined, key)
    expect([second.text, second.headers.get('idempotent-replayed')]).toEqual([first.text, 'true'])
    await shop.advance('PT0S')
    expect(receiver.heard).toHaveLength(2)
  })

  test('400 for a body, because none is expected', async () => {
    const { id } = await eventOf(await raise())
    expect((await shop.call('POST', `/events/${id}/replays`, { force: true })).status).toBe(400)
  })

  test('a replay is sent even while an earlier attempt hangs', async () => {
    let held: (() => void) | undefined
    receiver.behave((_, response) => {
      if (held) return 204
      held = () => response.writeHead(500).end()
      return undefined
    })
    const { body } = await shop.create('CARD', { ...lostAnswer, ...hook() })
    const moving = shop.advance('PT11S')
    await receiver.reached(1)
    const { id } = await eventOf(body.payId)
    await shop.call('POST', `/events/${id}/replays`)
    held?.()
    await moving
    await receiver.reached(2)
    await shop.advance('PT0S')
    const event = (await shop.call('GET', `/events/${id}`)).body
    expect(event.status).toBe('DELIVERED')
    expect(event.attempts.map(({ status }: { status: number }) => status).sort()).toEqual([204, 500])
  })
})
