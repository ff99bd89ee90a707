/** Hanging receivers do not hold up others; gateways that share a database share the work. */
import { afterEach, expect, test, vi } from 'vitest'
import { openDatabase } from '#storage/database.ts'
import { createDeliveryStore, type Delivery } from '#storage/events/deliveries.ts'
import { createTestDatabase } from '#test/support/database/database.ts'
import { startTestGateway } from '#test/support/gateway.ts'
import { startReceiver } from '#test/support/receiver.ts'
import { openShop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { createDeliveryWorker } from '#workers/deliver.ts'

const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function openReceiver(...behaviour: Parameters<typeof startReceiver>) {
  const receiver = await startReceiver(...behaviour)
  open.push(() => receiver.close())
  return receiver
}

async function openGateway(...options: Parameters<typeof startTestGateway>) {
  const gateway = await startTestGateway(...options)
  open.push(() => gateway.stop())
  return gateway
}

const makeDue = (databaseUrl: string) =>
  queryRows(databaseUrl, `UPDATE timer SET run_at = now() WHERE kind = 'INQUIRY'`)
const lost = (webhook: string) => ({ card: { number: '4000000000000101' }, urls: { webhook } })

test('a hanging receiver holds up only its own lane, not even other lanes of its merchant', async () => {
  const hanging = await openReceiver(() => undefined)
  const healthy = await openReceiver()
  // Longer than the test, so that no attempt at the hanging receiver ends and frees its slot.
  const gateway = await openGateway({ webhookAttemptMs: 120_000 })
  const slow = await openShop(gateway)
  const quick = await openShop(gateway)
  const each = (count: number, make: () => Promise<unknown>) =>
    Promise.all(Array.from({ length: count }, make))
  await each(20, () => slow.create('CARD', lost(hanging.url)))
  await makeDue(gateway.databaseUrl)
  // As many as a new lane sends at once.
  await hanging.reached(8)
  await slow.create('CARD', lost(`${healthy.url}/slow`))
  await quick.create('CARD', lost(`${healthy.url}/quick`))
  await makeDue(gateway.databaseUrl)
  await healthy.reached(2)
  expect(healthy.heard.map(({ path }) => path).sort()).toEqual(['/quick', '/slow'])
  expect(hanging.heard).toHaveLength(8)
})

test('events without an answer when a gateway stops are released and sent by the next one', async () => {
  const receiver = await openReceiver(() => (receiver.heard.length === 1 ? undefined : 204))
  const first = await startTestGateway()
  // The second gateway uses the same database and merchant.
  const shop = await openShop(first)
  const { body } = await shop.create('CARD', lost(receiver.url))
  await makeDue(first.databaseUrl)
  await receiver.reached(1)
  await first.gateway.close()
  const read = () =>
    queryRows(
      first.databaseUrl,
      'SELECT status, attempts, leased_until AS leased FROM event WHERE pay_id = $1',
      [body.payId],
    )
  expect(await read()).toEqual([{ status: 'PENDING', attempts: 0, leased: null }])
  const second = await openGateway({ beside: first })
  await receiver.reached(2)
  await second.gateway.deliveryWorker.runDue()
  expect(receiver.heard[1]?.headers['webhook-id']).toBe(receiver.heard[0]?.headers['webhook-id'])
})

test('two gateways on one database send each event once', async () => {
  const receiver = await openReceiver()
  const one = await openGateway()
  await openGateway({ beside: one })
  const shop = await openShop(one)
  const count = 200
  await Promise.all(Array.from({ length: count }, () => shop.create('CARD', lost(receiver.url))))
  await makeDue(one.databaseUrl)
  await receiver.reached(count)
  const ids = receiver.heard.map(({ headers }) => headers['webhook-id'])
  expect(new Set(ids).size).toBe(count)
  expect(ids).toHaveLength(count)
})

/** Messages of a merchant that are due now, each to a receiver of its own. */
const insertDue = (databaseUrl: string, merchantId: string, count: number) =>
  queryRows(
    databaseUrl,
    `WITH m AS (INSERT INTO merchant (merchant_id, name) VALUES ($1, $1))
     INSERT INTO event (merchant_id, pay_id, sequence, event_id, x_id, body, created_at, due_at, url)
     SELECT $1, gen_random_uuid(), 1, gen_random_uuid(), gen_random_uuid(), '{}', now(), now(), 'https://' || n || '.' || $1 || '.example'
     FROM generate_series(1, $2::integer) n`,
    [merchantId, count],
  )

test('a merchant with more hanging receivers than there are places does not hold up other merchants', async () => {
  const file = await createTestDatabase()
  const database = openDatabase(file.url, () => undefined)
  open.push(async () => {
    await database.close()
    await file.drop()
  })
  const ended = Promise.withResolvers<void>()
  const sent: string[] = []
  const never = { status: undefined, answer: 'no answer', retryAfter: undefined, durationMs: 1 }
  const worker = createDeliveryWorker({
    store: createDeliveryStore(database),
    sender: {
      async send({ url }) {
        sent.push(url)
        await ended.promise
        return never
      },
      close: async () => ended.resolve(),
    },
    openSecret: () => new Uint8Array(32),
    mayHaveDeliveries: () => true,
    onFailed: (_: Delivery) => undefined,
    clock: { nowMs: Date.now, waitMs: async () => undefined },
    chance: () => 0.5,
    onError: error => expect.fail(String(error)),
  })
  open.push(() => worker.stop())
  await insertDue(file.url, 'mer_hanging', 1_100)
  worker.wake()
  await vi.waitFor(() => expect(sent.length).toBeGreaterThan(500), 30_000)
  await insertDue(file.url, 'mer_second', 1_100)
  worker.wake()
  await insertDue(file.url, 'mer_quick', 3)
  worker.wake()
  const quick = () => sent.filter(url => url.includes('mer_quick'))
  await vi.waitFor(() => expect(quick()).toHaveLength(3), 30_000)
  expect(sent.length).toBeLessThan(1_024)
})
