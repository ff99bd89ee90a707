/**
 * The database is unavailable or silent: every endpoint, page and readiness check answers 503 with Retry-After, never
 * 500, and recovers without intervention. A provider's answer that arrives in the meantime is written once the database
 * is back.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { PayId } from '#domain/ids.ts'
import type { Engine } from '#operations/engine.ts'
import { capture } from '#operations/payments/follow-up-kinds.ts'
import { CommitUnknown } from '#storage/commit/change.ts'
import { minuteMs } from '#test/support/clock.ts'
import { type DatabaseProxy, startDatabaseProxy } from '#test/support/database/database-proxy.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { findMerchant } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let acquirer: Acquirer
let direct: TestGateway
let proxy: DatabaseProxy
let gateway: TestGateway
let duringCall: () => void = () => undefined

beforeEach(async () => {
  acquirer = createAcquirer()
  direct = await startTestGateway({ connectors: acquirer.connectors })
  proxy = await startDatabaseProxy(direct.databaseUrl)
  gateway = await startTestGateway({
    connectors: acquirer.connectors,
    beside: direct,
    throughUrl: proxy.url,
    databaseSilenceMs: 2_000,
    testCrash: point => (point === 'afterCall' ? duringCall() : undefined),
  })
})
afterEach(async () => {
  duringCall = () => undefined
  proxy.thaw()
  await gateway.stop()
  await proxy.close()
  await direct.stop()
})

const requests: [string, string, unknown?][] = [
  ['POST', '/payments', cardPayment()],
  ['GET', '/payments/getByPayId/01a1de26000070008000000000000000'],
  [
    'POST',
    '/payments/01a1de26000070008000000000000000/captures',
    { transId: 'c', amount: { value: 1, currency: 'EUR' } },
  ],
  ['GET', '/customers?page=1'],
  ['GET', '/payment-plans/01a1de26000070008000000000000000'],
  ['GET', '/events'],
  ['GET', '/payment-methods'],
]

test('503 with Retry-After everywhere while the database is silent, and 200 again when it is back', async () => {
  proxy.freeze()
  for (const [verb, path, body] of requests) {
    // A merchant that is not cached yet, so that authentication itself has to read.
    const unknown = basic('mer_never_seen', 'x'.repeat(40))
    const answer = await gateway.call(verb, path, body, { authorization: unknown })
    expect([path, answer.status, answer.headers.get('retry-after')]).toEqual([path, 503, '2'])
  }
  const token = await gateway.call(
    'POST',
    '/authorization/oauth/token',
    `grant_type=client_credentials&client_id=${gateway.merchantId}&client_secret=${gateway.apiKey}`,
    { 'content-type': 'application/x-www-form-urlencoded' },
  )
  expect([token.status, token.headers.get('retry-after')]).toEqual([503, '2'])
  const ready = await fetch(`${gateway.url}/health/ready`)
  expect([ready.status, ready.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await ready.json()).toMatchObject({
    reasons: ['the database cannot be reached, or does not answer'],
  })
  const live = await fetch(`${gateway.url}/health/live`)
  expect(live.status).toBe(200)
  proxy.thaw()
  await vi.waitFor(async () => expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200), 30_000)
  await vi.waitFor(async () => {
    const paid = await gateway.call('POST', '/payments', cardPayment())
    expect(paid, paid.text).toMatchObject({ status: 200, body: { status: 'OK' } })
  }, 30_000)
})

test('503 for cached credentials too, on reads, writes and pages', async () => {
  const link = await gateway.call('POST', '/payments/links', {
    transId: 'away',
    amount: { value: 400, currency: 'EUR' },
    urls: { return: 'https://shop.example/done', cancel: 'https://shop.example/stop' },
  })
  const page = link.body._links?.redirect?.href ?? link.body.link ?? link.body.url
  proxy.freeze()
  for (const [verb, path, body] of requests.filter(([verb]) => verb === 'GET')) {
    const answer = await gateway.call(verb, path, body)
    // The catalogue of methods does not need the database.
    if (path !== '/payment-methods') expect([path, answer.status]).toEqual([path, 503])
  }
  const shown = await fetch(page)
  expect([shown.status, shown.headers.get('retry-after')]).toEqual([503, '2'])
})

test('503 for an export too, instead of a file that breaks off after its header; failed exports do not count as running', async () => {
  await gateway.call('POST', '/payments', cardPayment())
  proxy.freeze()
  const authorization = `Basic ${btoa(`${gateway.merchantId}:${gateway.apiKey}`)}`
  const take = () =>
    fetch(`${gateway.url}/api/v2/operations`, { headers: { authorization, accept: 'text/csv' } })
  // Ten exports may run at a time.
  const answers = await Promise.all(Array.from({ length: 10 }, take))
  expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual(
    Array.from({ length: 10 }, () => [503, '2']),
  )
  proxy.thaw()
  await vi.waitFor(async () => expect((await take()).status).toBe(200), 30_000)
})

test('an outcome that the provider gave while the database was unavailable is written when it is back', async () => {
  duringCall = () => proxy.freeze()
  const request = cardPayment()
  const answer = await gateway.call('POST', '/payments', request, { 'idempotency-key': 'away-1' })
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
  duringCall = () => undefined
  const asked = acquirer.ledger.length
  proxy.thaw()
  await vi.waitFor(async () => {
    const { body } = await direct.call('GET', `/payments/getByTransId/${request.transId}`)
    expect(body).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  }, 30_000)
  // No inquiry was needed.
  expect(acquirer.ledger.length).toBe(asked)
  // The gateway itself notices the database with its next probe.
  await vi.waitFor(async () => {
    const again = await gateway.call('POST', '/payments', request, { 'idempotency-key': 'away-1' })
    expect(again).toMatchObject({ status: 200, body: { status: 'OK' } })
  }, 30_000)
})

test('an outcome that is written after its request was answered 503 is sent as an event', async () => {
  const request = cardPayment({
    captureMethod: { type: 'MANUAL' },
    urls: { webhook: 'http://127.0.0.1:9/away' },
  })
  const payId: PayId = (await direct.call('POST', '/payments', request)).body.payId
  const { engine } = direct.gateway
  let updates = 0
  const away: Engine = {
    ...engine,
    clock: { ...engine.clock, waitMs: async () => undefined },
    queue: {
      // The first update records the capture, the second one is its outcome.
      update: (target, step) =>
        ++updates === 2
          ? Promise.reject(new CommitUnknown(new Error('the database is away')))
          : engine.queue.update(target, step),
    },
  }
  const merchant = await findMerchant(direct, direct)
  const command = { transId: 'away', amount: { value: 1000, currency: 'EUR' }, details: {} }
  await expect(capture({ merchant, payId, command }, away)).rejects.toThrow(CommitUnknown)
  await vi.waitFor(async () => {
    const { body } = await direct.call('GET', `/payments/getByPayId/${payId}`)
    expect(body).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  }, 30_000)
  const { body } = await direct.call('GET', `/events?page=1&payId=${payId}`)
  expect(body.data).toMatchObject([{ payId, url: 'http://127.0.0.1:9/away' }])
})

test('an outcome that was not written within five minutes raises an alarm, because only an inquiry finds it out', async () => {
  const manual = cardPayment({ captureMethod: { type: 'MANUAL' } })
  const payId: PayId = (await direct.call('POST', '/payments', manual)).body.payId
  const { engine } = direct.gateway
  const alarms: unknown[] = []
  let [updates, waitedMs] = [0, 0]
  const away: Engine = {
    ...engine,
    onAlarm: ({ code, payId }) => alarms.push([code, payId]),
    clock: {
      ...engine.clock,
      async waitMs(milliseconds) {
        waitedMs += milliseconds
      },
    },
    queue: {
      // The first update records the capture; no later one is written.
      update: (target, step) =>
        ++updates === 1
          ? engine.queue.update(target, step)
          : Promise.reject(new CommitUnknown(new Error('the database is away'))),
    },
  }
  const merchant = await findMerchant(direct, direct)
  const command = { transId: 'away-long', amount: { value: 1000, currency: 'EUR' }, details: {} }
  await expect(capture({ merchant, payId, command }, away)).rejects.toThrow(CommitUnknown)
  await expect.poll(() => alarms).toEqual([['OUTCOME_NOT_WRITTEN', payId]])
  expect(waitedMs).toBe(5 * minuteMs)
})

/** PostgreSQL's error for a full disk, raised by a trigger. */
const fillDisk = (table: string, act: string) =>
  queryRows(
    direct.databaseUrl,
    `CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
     CREATE TRIGGER full_disk BEFORE ${act} ON ${table} FOR EACH ROW EXECUTE FUNCTION full_disk()`,
  )
const makeRoom = (table: string) => queryRows(direct.databaseUrl, `DROP TRIGGER full_disk ON ${table}`)

test('503 with Retry-After while the disk of the database is full: no provider is called, and the same key pays once there is room', async () => {
  const [request, key] = [cardPayment(), { 'idempotency-key': 'full-disk' }]
  await fillDisk('payment', 'INSERT')
  const refused = await gateway.call('POST', '/payments', request, key)
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
  expect(acquirer.ledger).toEqual([])
  await makeRoom('payment')
  const paid = await gateway.call('POST', '/payments', request, key)
  expect(paid, paid.text).toMatchObject({ status: 200, body: { status: 'OK' } })
})

test('an outcome that cannot be written because the disk is full is written once there is room', async () => {
  const request = cardPayment()
  await fillDisk('operation', 'UPDATE')
  const unwritten = await gateway.call('POST', '/payments', request)
  expect([unwritten.status, unwritten.headers.get('retry-after')]).toEqual([503, '2'])
  await makeRoom('operation')
  await vi.waitFor(async () => {
    const { body } = await gateway.call('GET', `/payments/getByTransId/${request.transId}`)
    expect(body).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  }, 20_000)
})
