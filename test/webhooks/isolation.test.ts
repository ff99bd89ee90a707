/** Hanging receivers do not hold up others; gateways that share a database share the work. */
import { afterEach, expect, test } from 'vitest'
import { startTestGateway } from '#test/support/gateway.ts'
import { startReceiver } from '#test/support/receiver.ts'
import { openShop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

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
