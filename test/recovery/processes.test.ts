/**
 * Several processes on one database: heartbeats, recovery of a dead one's work, one that wakes up too late,
 * announcements.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { withClient } from '#storage/cells/create-cell.ts'
import { hasSessionSettings, isRefusedByPooler, openDatabase } from '#storage/database.ts'
import { migrate } from '#storage/migrate.ts'
import { announce } from '#storage/processes/announcements.ts'
import { openPresence, type Presence } from '#storage/processes/presence.ts'
import { createTestClock } from '#test/support/clock.ts'
import { startDatabaseProxy } from '#test/support/database/database-proxy.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let acquirer: Acquirer
let gateway: TestGateway
beforeAll(async () => {
  acquirer = createAcquirer()
  gateway = await startTestGateway({ connectors: acquirer.connectors })
})
afterAll(() => gateway.stop())

const quiet = { onError: () => undefined, onMerchantChange: () => undefined }

/** The connections of heartbeats. */
const presenceConnections = `FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'tollgate presence'`

/** Opens a second process on the database of the first, for the time of one test. */
async function withPresence(use: (presence: Presence) => Promise<void>): Promise<void> {
  const presence = await openPresence(gateway.databaseUrl, quiet)
  try {
    await use(presence)
  } finally {
    await presence.close()
  }
}

test('a process that ended is found dead until its work is taken over', async () => {
  const ended = await openPresence(gateway.databaseUrl, quiet)
  await withPresence(async presence => {
    expect(await presence.findDead()).not.toContain(ended.process)
    await ended.close()
    expect(await presence.findDead()).toContain(ended.process)
    await presence.forget([ended.process])
    expect(await presence.findDead()).not.toContain(ended.process)
  })
})

test('a process that its parent declares dead counts as dead before its heartbeat is too old', async () => {
  const ended = await openPresence(gateway.databaseUrl, { ...quiet, beatMs: 600_000 })
  await withPresence(presence => presence.declareDead([ended.process]))
  const [row] = await queryRows<{ age: number }>(
    gateway.databaseUrl,
    `SELECT extract(epoch FROM now() - seen_at)::float8 AS age FROM gateway_process WHERE process = ${ended.process}`,
  )
  // Its last statement may run for two more seconds.
  expect(row?.age).toBeGreaterThanOrEqual(5)
  await ended.close()
})

test('a process whose connection breaks sends its next heartbeat on another one', async () => {
  const errors: unknown[] = []
  const presence = await openPresence(gateway.databaseUrl, {
    ...quiet,
    onError: error => errors.push(error),
    beatMs: 20,
  })
  const seenAt = async () =>
    (
      await queryRows<{ seen_at: Date }>(
        gateway.databaseUrl,
        `SELECT seen_at FROM gateway_process WHERE process = ${presence.process}`,
      )
    )[0]?.seen_at
  await queryRows(gateway.databaseUrl, `SELECT pg_terminate_backend(pid) ${presenceConnections}`)
  const before = await seenAt()
  await vi.waitFor(
    async () => expect((await seenAt())?.getTime()).toBeGreaterThan(before?.getTime() ?? 0),
    30_000,
  )
  expect(presence.isAlive()).toBe(true)
  await presence.close()
})

test('simultaneous statements after a break share one new connection', async () => {
  const errors: unknown[] = []
  const presence = await openPresence(gateway.databaseUrl, {
    ...quiet,
    onError: error => errors.push(error),
    beatMs: 600_000,
  })
  const ended = await queryRows<{ pid: number }>(
    gateway.databaseUrl,
    `SELECT pid, pg_terminate_backend(pid) ${presenceConnections}`,
  )
  await vi.waitFor(() => expect(errors).not.toEqual([]), 30_000)
  await Promise.all([presence.refresh(), presence.refresh(), presence.refresh()])
  const listed = await queryRows<{ pid: number }>(gateway.databaseUrl, `SELECT pid ${presenceConnections}`)
  // The server may still list those that it has just ended, and the gateway of this file has a new one too.
  const fresh = listed.filter(({ pid }) => !ended.some(old => old.pid === pid))
  expect(fresh.length).toBeLessThanOrEqual(2)
  await presence.close()
})

test('a new connection that falls silent before it listens is closed', async () => {
  const proxy = await startDatabaseProxy(gateway.databaseUrl)
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const presence = await openPresence(proxy.url, { ...quiet, onError, beatMs: 600_000 })
  proxy.freezeAt('LISTEN')
  await queryRows(gateway.databaseUrl, `SELECT pg_terminate_backend(pid) ${presenceConnections}`)
  await vi.waitFor(() => expect(errors).not.toEqual([]), 30_000)
  await expect(presence.refresh()).rejects.toThrow('Query read timeout')
  // The connection of this file's gateway is left.
  await vi.waitFor(
    async () =>
      expect(await queryRows(gateway.databaseUrl, `SELECT pid ${presenceConnections}`)).toHaveLength(1),
    30_000,
  )
  proxy.thaw()
  await presence.close()
  await proxy.close()
})

test('an acknowledgement that could not be written is written with a later heartbeat', async () => {
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const presence = await openPresence(gateway.databaseUrl, { ...quiet, onError, beatMs: 20 })
  const tell = (text: string) => queryRows<{ heard: number }>(gateway.databaseUrl, text)
  await tell(
    `CREATE FUNCTION refuse_heard() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not heard'; END $$`,
  )
  await tell(`CREATE TRIGGER refuse_heard BEFORE UPDATE OF heard ON gateway_process FOR EACH ROW
    WHEN (OLD.process = ${presence.process}) EXECUTE FUNCTION refuse_heard()`)
  const number = await announce(async (text, values = []) =>
    withClient(gateway.databaseUrl, async client => (await client.query(text, values)).rows),
  )
  await vi.waitFor(() => expect(errors.map(String)).toContain('error: not heard'), 30_000)
  await tell('DROP FUNCTION refuse_heard CASCADE')
  await vi.waitFor(async () => {
    const [row] = await tell(`SELECT heard FROM gateway_process WHERE process = ${presence.process}`)
    expect(Number(row?.heard)).toBe(number)
  }, 10_000)
  await presence.close()
})

test('a process whose machine was suspended does not count as alive before its next heartbeat', async () => {
  const presence = await openPresence(gateway.databaseUrl, { ...quiet, beatMs: 600_000 })
  expect(presence.isAlive()).toBe(true)
  // The monotonic clock stands still while the machine is suspended, and the time of day does not.
  const wokeUpAt = Date.now() + 6_000
  const clock = vi.spyOn(Date, 'now').mockReturnValue(wokeUpAt)
  expect(presence.isAlive()).toBe(false)
  const before = presence.countInterruptions()
  await presence.refresh()
  expect([presence.isAlive(), presence.countInterruptions()]).toEqual([true, before + 1])
  clock.mockRestore()
  await presence.close()
})

test('an operation that a dead process had sent is settled by another one, and its key answers', async () => {
  let died = () => {}
  const dead = new Promise<void>(resolve => {
    died = resolve
  })
  const first = await startTestGateway({
    connectors: acquirer.connectors,
    beside: gateway,
    testCrash: point => {
      if (point !== 'afterCall') return undefined
      died()
      return new Promise<void>(() => {})
    },
  })
  const request = cardPayment()
  const key = { 'idempotency-key': 'left-behind' }
  void first.call('POST', '/payments', request, key).catch(() => undefined)
  await dead
  const [sent] = await queryRows<{ process: number }>(
    gateway.databaseUrl,
    `SELECT process FROM operation WHERE trans_id = '${request.transId}' AND state = 'SENT'`,
  )
  expect(sent?.process).toBeGreaterThan(0)
  const { takeOver, finish } = gateway.gateway.settleWorker
  expect(await takeOver([sent?.process ?? 0])).toBe(false)
  await finish()
  expect(await takeOver([sent?.process ?? 0])).toBe(true)
  const again = await gateway.call('POST', '/payments', request, key)
  expect(again, again.text).toMatchObject({ status: 200, body: { status: 'OK' } })
  const references = acquirer.ledger.filter(({ reference }) => reference === again.body.xId)
  expect(references).toHaveLength(1)
  await first.stop()
})

test('a process that may have been declared dead records no operation: 503, and 200 after its next heartbeat', async () => {
  let isAlive = false
  const frozen = await startTestGateway({
    connectors: acquirer.connectors,
    beside: gateway,
    clock: createTestClock(),
    isAlive: () => isAlive,
  })
  const request = cardPayment()
  const answer = await frozen.call('POST', '/payments', request)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
  const stored = `SELECT 1 FROM payment WHERE trans_id = '${request.transId}'`
  expect(await queryRows(gateway.databaseUrl, stored)).toEqual([])
  isAlive = true
  const again = await frozen.call('POST', '/payments', request)
  expect(again, again.text).toMatchObject({ status: 200, body: { status: 'OK' } })
  await frozen.stop()
})

test('a process that may have been declared dead sends nothing', async () => {
  let isAlive = true
  const frozen = await startTestGateway({
    connectors: acquirer.connectors,
    beside: gateway,
    isAlive: () => isAlive,
    testCrash(point) {
      if (point === 'afterRecord') isAlive = false
    },
  })
  const before = acquirer.ledger.length
  const answer = await frozen.call('POST', '/payments', cardPayment())
  expect(answer, answer.text).toMatchObject({ status: 200, body: { status: 'PENDING' } })
  expect(acquirer.ledger.length).toBe(before)
  expect(frozen.logged.join('')).toContain('PROCESS_CUT_OFF')
  await frozen.stop()
})

test('a merchant that one process disables is refused by the other processes at once', async () => {
  // Its clock stands still, so that a cached login never expires: only the notification can end it.
  const clock = createTestClock()
  const other = await startTestGateway({ connectors: acquirer.connectors, beside: gateway, clock })
  const { merchantId, apiKey } = await gateway.gateway.merchants.create('Closing shop')
  const authorization = `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`
  const ask = async () => (await other.call('GET', '/events', undefined, { authorization })).status
  expect(await ask()).toBe(200)
  await gateway.gateway.merchants.set(merchantId, { disabled: true })
  await vi.waitFor(async () => expect(await ask()).toBe(403), 30_000)
  await other.stop()
})

test('a connection without our session settings is detected: a pooler in transaction mode drops them', async () => {
  const pooled = openDatabase(gateway.databaseUrl, () => undefined)
  const direct = openDatabase(gateway.databaseUrl, () => undefined, { process: 7 })
  expect(await hasSessionSettings(pooled, 7)).toBe(false)
  expect(await hasSessionSettings(direct, 7)).toBe(true)
  expect(await hasSessionSettings(direct, 8)).toBe(false)
  expect(isRefusedByPooler(new Error('unsupported startup parameter in options: enable_seqscan'))).toBe(true)
  await Promise.all([pooled.close(), direct.close()])
})

test('a start through a pooler in transaction mode is refused, and leaves no lock that would block a later start', async () => {
  const pooler = await startDatabaseProxy(gateway.databaseUrl, { pools: true })
  await expect(migrate(pooler.url)).rejects.toThrow(
    /^a pooler stands before the database and does not pass on the settings/,
  )
  const said: string[] = []
  await migrate(gateway.databaseUrl, { onProgress: line => said.push(line) })
  expect(said).toEqual([])
  await pooler.close()
})

test('failed logins are counted across all processes', async () => {
  const other = await startTestGateway({ connectors: acquirer.connectors, beside: gateway })
  const wrong = `Basic ${Buffer.from('mer_guessed:not-a-key').toString('base64')}`
  const guess = async (at: TestGateway) =>
    (await at.call('GET', '/events', undefined, { authorization: wrong })).status
  for (let tried = 0; tried < 10; tried += 1) expect(await guess(gateway)).toBe(401)
  // The other process has seen none of them, and reads the counts within a second or two.
  await vi.waitFor(async () => expect(await guess(other)).toBe(429), 30_000)
  await other.stop()
})

test('a fault requested at one process takes effect at another, for as many operations as requested', async () => {
  const [one, other] = [
    await startTestGateway({ beside: gateway }),
    await startTestGateway({ beside: gateway }),
  ]
  const rule = { operation: 'AUTHORIZATION', fault: 'decline', code: '51', times: 3 }
  expect((await one.call('POST', '/test/faults', rule)).status).toBe(200)
  const pay = async (at: TestGateway) => (await at.call('POST', '/payments', cardPayment())).body.status
  expect(await pay(other)).toBe('FAILED')
  const found = await Promise.all([one, other, one, other, one, other].map(pay))
  expect(found.filter(status => status === 'FAILED')).toHaveLength(2)
  expect((await other.call('GET', '/test/faults')).body.faults).toEqual([])
  await one.call('POST', '/test/faults', rule)
  await other.call('DELETE', '/test/faults')
  expect(await pay(one)).toBe('OK')
  await Promise.all([one.stop(), other.stop()])
})
