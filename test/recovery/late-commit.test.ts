/**
 * A commit that is written, or found, after the database was unavailable. By then its request may have been answered
 * 503, or another process may have taken the operation over. It is settled soon, and never sent after another process
 * took it over.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openPresence } from '#storage/processes/presence.ts'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { startDatabaseProxy } from '#test/support/database/database-proxy.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type Acquirer, createAcquirer } from '#test/support/providers/acquirer.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let acquirer: Acquirer
let direct: TestGateway
beforeEach(async () => {
  acquirer = createAcquirer()
  direct = await startTestGateway({ connectors: acquirer.connectors })
})
afterEach(() => direct.stop())

const countSent = async () =>
  (await queryRows(direct.databaseUrl, "SELECT 1 FROM operation WHERE state = 'SENT'")).length

/** A gateway with a proxied connection to the database, and a clock that only this test moves. */
async function startBehindProxy() {
  const proxy = await startDatabaseProxy(direct.databaseUrl)
  const clock = createTestClock()
  const gateway = await startTestGateway({
    connectors: acquirer.connectors,
    beside: direct,
    throughUrl: proxy.url,
    databaseSilenceMs: 2_000,
    clock,
  })
  const stop = async () => {
    proxy.thaw()
    await gateway.stop()
    await proxy.close()
  }
  return { proxy, clock, gateway, stop }
}

test('a payment that a frozen database writes after its request got 503 is ended by its own process, and never sent', async () => {
  const { proxy, clock, gateway, stop } = await startBehindProxy()
  const request = cardPayment()
  const key = { 'idempotency-key': 'frozen' }
  proxy.freezeWithCommit()
  expect((await gateway.call('POST', '/payments', request, key)).status).toBe(503)
  expect(await countSent()).toBe(0)
  proxy.wake()
  await vi.waitFor(async () => expect(await countSent()).toBe(1), 30_000)
  clock.move(15 * secondMs)
  await vi.waitFor(async () => {
    const again = await gateway.call('POST', '/payments', request, key)
    expect(again, again.text).toMatchObject({ status: 422, body: { status: 'FAILED' } })
  }, 30_000)
  expect(acquirer.ledger).toEqual([])
  await stop()
})

test('a capture that is written late is ended and never sent, and its amount may be captured again', async () => {
  const { proxy, clock, gateway, stop } = await startBehindProxy()
  const { body } = await gateway.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  const capture = { transId: 'late', amount: { value: 1000, currency: 'EUR' } }
  const path = `/payments/${body.payId}/captures`
  proxy.freezeWithCommit()
  expect((await gateway.call('POST', path, capture)).status).toBe(503)
  proxy.wake()
  await vi.waitFor(async () => expect(await countSent()).toBe(1), 30_000)
  clock.move(15 * secondMs)
  await vi.waitFor(async () => expect(await countSent()).toBe(0), 30_000)
  await vi.waitFor(async () => {
    const again = await gateway.call('POST', path, capture)
    expect(again, again.text).toMatchObject({ status: 200, body: { status: 'OK' } })
  }, 30_000)
  expect(acquirer.ledger.filter(({ operation }) => operation === 'CAPTURE')).toHaveLength(1)
  await stop()
})

test('an operation that another process took over while this one was cut off is not sent when it is back', async () => {
  let interruptions = 0
  const cutOff = await startTestGateway({
    connectors: acquirer.connectors,
    beside: direct,
    countInterruptions: () => interruptions,
    async testCrash(point) {
      if (point !== 'afterRecord') return
      const [sent] = await queryRows<{ process: number }>(
        direct.databaseUrl,
        "SELECT process FROM operation WHERE state = 'SENT'",
      )
      const { takeOver, finish } = direct.gateway.settleWorker
      expect(await takeOver([sent?.process ?? 0])).toBe(false)
      await finish()
      expect(await takeOver([sent?.process ?? 0])).toBe(true)
      interruptions += 1
    },
  })
  const answer = await cutOff.call('POST', '/payments', cardPayment())
  expect(answer, answer.text).toMatchObject({ status: 422, body: { status: 'FAILED' } })
  expect(acquirer.ledger).toEqual([])
  expect(cutOff.logged.join('')).toContain('PROCESS_CUT_OFF')
  const after = await cutOff.call('POST', '/payments', cardPayment())
  expect(after, after.text).toMatchObject({ status: 422, body: { status: 'FAILED' } })
  await cutOff.stop()
})

test('a late heartbeat, or one of a process whose row was deleted, counts as an interruption', async () => {
  const quiet = { onError: () => undefined, onMerchantChange: () => undefined, beatMs: 600_000 }
  const late = await openPresence(direct.databaseUrl, { ...quiet, aliveForMs: 0 })
  await late.refresh()
  expect(late.countInterruptions()).toBe(1)
  await late.close()
  const punctual = await openPresence(direct.databaseUrl, { ...quiet, aliveForMs: 600_000 })
  await punctual.refresh()
  expect(punctual.countInterruptions()).toBe(0)
  await queryRows(direct.databaseUrl, `DELETE FROM gateway_process WHERE process = ${punctual.process}`)
  await punctual.refresh()
  expect(punctual.countInterruptions()).toBe(1)
  await punctual.close()
})
