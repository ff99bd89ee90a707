/**
 * Events of five merchants, receivers that fail three times in ten, and gateways that are killed with kill -9 one after
 * the other (in the long run: 5,000 events, twenty gateways). In the end every event has arrived at its own merchant,
 * in the order of its payment.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Webhook } from 'standardwebhooks'
import { afterAll, expect, test } from 'vitest'
import type { MerchantId, PayId } from '#domain/ids.ts'
import { raiseEvent } from '#lifecycle/event.ts'
import { approvingOperation, type Payment } from '#lifecycle/payment.ts'
import { createClockStore } from '#storage/clock.ts'
import { type EventRow, writesBetween } from '#storage/commit/change.ts'
import { createGroupCommit } from '#storage/commit/group-commit.ts'
import { openDatabase } from '#storage/database.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { triesThatHoldBack } from '#storage/events/deliveries.ts'
import { createPaymentReader } from '#storage/payments/payments.ts'
import { createTestDatabase } from '#test/support/database/database.ts'
import type { FromChild, ToChild } from '#test/support/database/delivery-child.ts'
import { basic, cardPayment, masterKeyOf, startTestGateway } from '#test/support/gateway.ts'
import { type Heard, startReceiver } from '#test/support/receiver.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { createRandom } from '#test/support/simulation/random.ts'
import { inLongRun } from '#test/support/simulation/size.ts'

const kills = inLongRun(3, 20)
const eventsInAll = inLongRun(600, 5_000)
const merchantsInAll = 5
const paymentsInAll = inLongRun(30, 250)
const eventsPerPayment = eventsInAll / paymentsInAll
const failing = 0.3

/**
 * 8: after so many failures an event is accepted, before its tenth and last attempt, so that chance cannot fail the
 * test.
 */
const failuresMax = 8

const seed = 20_261_115
const random = createRandom(seed)

interface Shop {
  readonly merchantId: MerchantId
  readonly verifier: Webhook
  readonly payIds: Set<string>
}

const compileCache = mkdtempSync(join(tmpdir(), 'tollgate-chaos-'))
const children = new Set<ChildProcess>()
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  rmSync(compileCache, { recursive: true, force: true })
})

async function hear(child: ChildProcess, word: FromChild): Promise<void> {
  const waiting = new AbortController()
  const { signal } = waiting
  const [said] = await Promise.race([
    once(child, 'message', { signal }),
    once(child, 'exit', { signal }).then(() => ['ended instead']),
  ])
  waiting.abort()
  if (said !== word) throw new Error(`the gateway was to say ${word}, but ${said}`)
}

function load(): { child: ChildProcess; loaded: Promise<void> } {
  // A shared compile cache for all gateways.
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache }
  const child = fork(fileURLToPath(import.meta.resolve('#test/support/database/delivery-child.ts')), { env })
  children.add(child)
  return { child, loaded: hear(child, 'loaded') }
}

async function emitEvent(child: ChildProcess, message: ToChild, answer: FromChild): Promise<void> {
  const heard = hear(child, answer)
  child.send(message)
  await heard
}

/** Writes twenty events per payment with the storage's own commit, independently of the workers. */
async function writeEvents(databaseUrl: string, payments: readonly [MerchantId, PayId][]): Promise<void> {
  const database = openDatabase(databaseUrl, () => undefined)
  const { commit } = createGroupCommit(database.writers)
  const reader = createPaymentReader(database)
  let made = 0
  await Promise.all(
    payments.map(async ([merchantId, payId]) => {
      const stored = await reader.byPayId(merchantId, payId)
      if (!stored) throw new Error('the payment is not there')
      let payment: Payment = stored
      const events: EventRow[] = []
      const urls = stored.details.urls as { webhook?: string } | undefined
      for (let count = 0; count < eventsPerPayment; count += 1) {
        const raised = raiseEvent(payment, { type: 'payment.captured', xId: approvingOperation(payment).xId })
        payment = raised.payment
        made += 1
        const eventId = made.toString(16).padStart(32, '0')
        events.push({
          ...raised.event,
          merchantId,
          payId,
          eventId,
          url: urls?.webhook,
          owed: true,
          createdAt: new Date(),
        })
      }
      const next = { ...payment, version: stored.version + 1 }
      expect(await commit({ ...writesBetween(stored, next), events })).toEqual({ committed: true })
    }),
  )
  await database.close()
}

test(`${eventsInAll} events, ${failing * 100} % failures, ${kills} times kill -9 (seed ${seed})`, async () => {
  const database = await createTestDatabase()
  const shops = new Map<string, Shop>()
  const taken = new Map<string, Set<number>>()
  const attempts = new Map<string, number>()
  const wrong: string[] = []

  function receive({ path, headers, raw, body }: Heard, cut: () => void): number | undefined {
    const shop = shops.get(path)
    const id = String(headers['webhook-id'])
    const tries = (attempts.get(id) ?? 0) + 1
    attempts.set(id, tries)
    if (!shop?.payIds.has(body.payId)) wrong.push(`${body.payId} came to ${path}`)
    const signed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    // Throws if the signature is not this merchant's.
    shop?.verifier.verify(raw, signed)
    if (tries <= failuresMax && random.chance(failing)) {
      // A third of the failures are broken connections.
      if (!random.chance(1 / 3)) return 500
      cut()
      return undefined
    }
    const known = taken.get(body.payId) ?? new Set()
    taken.set(body.payId, known.add(body.sequence))
    for (let earlier = 1; earlier < body.sequence; earlier += 1) {
      const given = attempts.get(idOf.get(`${body.payId} ${earlier}`) ?? '') ?? 0
      if (!known.has(earlier) && given < triesThatHoldBack)
        wrong.push(`${body.payId}: ${body.sequence} before ${earlier}`)
    }
    return 204
  }
  const idOf = new Map<string, string>()
  const receiver = await startReceiver((heard, response) => receive(heard, () => response.destroy()))

  const gateway = await startTestGateway({ databaseUrl: database.url })
  const payments: [MerchantId, PayId][] = []
  for (let index = 0; index < merchantsInAll; index += 1) {
    const { merchantId, apiKey, webhookSecret } = await gateway.gateway.merchants.create(`Shop ${index}`)
    const path = `/shop-${index}`
    // Every second merchant has its address in its settings, the others in each payment.
    const own = index % 2 === 0 ? { webhookUrl: `${receiver.url}${path}` } : {}
    await gateway.gateway.merchants.set(merchantId, { requestsPerSecond: 1_000_000, ...own })
    const urls = index % 2 === 0 ? {} : { urls: { webhook: `${receiver.url}${path}` } }
    const payIds = new Set<string>()
    shops.set(path, { merchantId, verifier: new Webhook(webhookSecret), payIds })
    await Promise.all(
      Array.from({ length: paymentsInAll / merchantsInAll }, async () => {
        const headers = { authorization: basic(merchantId, apiKey) }
        const { body } = await gateway.call('POST', '/payments', cardPayment(urls), headers)
        payIds.add(body.payId)
        payments.push([merchantId, body.payId])
      }),
    )
  }
  const masterKey = masterKeyOf(database.url)
  await gateway.stop()
  await writeEvents(database.url, payments)
  for (const row of await queryRows<{ id: string; name: string }>(
    database.url,
    `SELECT replace(event_id::text, '-', '') AS id, replace(pay_id::text, '-', '') || ' ' || sequence AS name FROM event`,
  ))
    idOf.set(row.name, row.id)
  expect(idOf.size).toBe(eventsInAll)

  const mover = openDatabase(database.url, () => undefined)
  const clocks = createClockStore(mover)
  const advance = async (byMs: number) => {
    for (const { merchantId } of shops.values()) await clocks.advance(merchantId, byMs)
  }
  const hourMs = 3_600_000
  let next = load()
  for (let killed = 0; killed < kills; killed += 1) {
    const { child, loaded } = next
    next = load()
    await loaded
    // Failed deliveries become due again.
    await advance(hourMs)
    await emitEvent(child, { databaseUrl: database.url, masterKey }, 'started')
    await receiver.reached(receiver.heard.length + 30 + random.below(100))
    const exited = once(child, 'exit')
    child.kill('SIGKILL')
    await exited
    children.delete(child)
  }
  const pending = async () =>
    (await queryRows(database.url, `SELECT 1 FROM event WHERE status = 'PENDING'`)).length
  expect(await pending()).toBeGreaterThan(0)
  const { child, loaded } = next
  await loaded
  await emitEvent(child, { databaseUrl: database.url, masterKey }, 'started')
  while ((await pending()) > 0) {
    await advance(25 * hourMs)
    await emitEvent(child, 'settle', 'settled')
  }
  const exited = once(child, 'exit')
  child.disconnect()
  await exited
  await mover.close()

  expect(wrong).toEqual([])
  const statuses = await queryRows(database.url, `SELECT status, count(*)::int FROM event GROUP BY status`)
  expect(statuses).toEqual([{ status: 'DELIVERED', count: eventsInAll }])
  // Checks what the receiver got, not what the gateway believes.
  const missing = payments.filter(([, payId]) => taken.get(payId)?.size !== eventsPerPayment)
  expect(missing).toEqual([])
  expect((await examine(database.url)).filter(({ found }) => found > 0)).toEqual([])
  const failed = await queryRows(
    database.url,
    `SELECT 1 FROM event_attempt WHERE status IS DISTINCT FROM 204`,
  )
  // About three in ten deliveries failed, apart from those lost by kills.
  expect(failed.length).toBeGreaterThan(eventsInAll * failing)
  await receiver.close()
  await database.drop()
}, 180_000)
