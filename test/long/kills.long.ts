/**
 * kill -9 under load, again and again: of one worker, and of all processes with their database at once, as when a machine dies.
 * Callers repeat what was not answered under its key. Every payment exists once, and nothing that was acknowledged is lost.
 */
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import {
  type Banner,
  killRest,
  login,
  makeDataFolder,
  readPids,
  startServer,
  tollgateHere,
} from '#test/support/command-line.ts'
import { afterwards, cleanUpAll, open, query } from '#test/support/embedded.ts'
import { cardPayment } from '#test/support/gateway.ts'

afterEach(cleanUpAll)

const killsOfEach = 50

/** 8: enough that some request is always under way. */
const callers = 8

/** 1 s of load between two kills. */
const pauseMs = 1_000

/** 120 s: a machine that is busy with all of this may take long to start a gateway. */
const patienceMs = 120_000

class Shop {
  readonly acknowledged = new Map<string, string>()
  banner: Banner | undefined
  isOpen = true
  #orders = 0

  async #send(transId: string): Promise<string | undefined> {
    const { banner } = this
    if (banner === undefined) return undefined
    const answer = await fetch(`${banner.baseUrl}/payments`, {
      method: 'POST',
      headers: {
        authorization: login(banner),
        'content-type': 'application/json',
        'idempotency-key': transId,
      },
      body: JSON.stringify(cardPayment({ transId })),
    })
    const body = (await answer.json()) as { payId: string }
    // 503: come again. 409: the first request with this key is not settled yet.
    if (answer.status === 503 || answer.status === 409) return undefined
    expect(answer.status).toBe(200)
    return body.payId
  }

  /** Orders one thing after the other, each until it is acknowledged. */
  async order(): Promise<void> {
    while (this.isOpen) {
      this.#orders += 1
      const transId = `order-${this.#orders}`
      let payId: string | undefined
      while (payId === undefined) {
        // A connection that breaks tells nothing about the payment.
        payId = await this.#send(transId).catch(error => {
          if (error instanceof TypeError) return undefined
          throw error
        })
        if (payId === undefined) await delay(200)
      }
      this.acknowledged.set(transId, payId)
    }
  }
}

test('nothing is lost or doubled', async () => {
  const folder = makeDataFolder()
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  afterwards(() => killRest(folder))
  const shop = new Shop()
  const start = async () => {
    const server = startServer('node', { TOLLGATE_DATA: folder, PORT: '0', TOLLGATE_WORKERS: '2' })
    const banner = await server.ready()
    shop.banner = banner
    return server
  }
  let server = await start()
  const workers = () =>
    [...server.stderr().matchAll(/worker \d+ runs as (\d+)/g)].map(([, pid]) => Number(pid))
  const orders = Array.from({ length: callers }, () => shop.order())
  for (let kill = 0; kill < killsOfEach; kill += 1) {
    await delay(pauseMs)
    const known = workers()
    const victim = known.at(-1) ?? 0
    process.kill(victim, 'SIGKILL')
    await vi.waitFor(() => expect(workers().length).toBeGreaterThan(known.length), patienceMs)

    await delay(pauseMs)
    shop.banner = undefined
    const living = workers().filter(pid => pid !== victim)
    for (const pid of [...living, server.child.pid ?? 0, readPids(folder).database])
      process.kill(pid, 'SIGKILL')
    await server.exited
    server = await start()
  }
  shop.isOpen = false
  await Promise.all(orders)
  const { url } = await open(folder, { purpose: 'command' })
  const rows = await query(url, 'SELECT trans_id, pay_id FROM payment')
  const stored = new Map(rows.map(row => [row.trans_id, String(row.pay_id).replaceAll('-', '')]))
  expect(stored.size).toBe(rows.length)
  expect(stored).toEqual(shop.acknowledged)
  const doctor = await tollgateHere(['doctor', '--json'], { TOLLGATE_DATA: folder })
  expect(JSON.parse(doctor.stdout)).toMatchObject({ healthy: true })
})
