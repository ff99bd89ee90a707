/**
 * kill -9 under load, again and again: of one worker, of all processes with their database at once, as when a machine dies, and
 * of the database alone. Callers repeat what was not answered under its key. Every payment exists once, nothing that was
 * acknowledged is lost, and nobody waits longer for a payment than a take-over may take.
 */
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import {
  type Banner,
  killRest,
  login,
  makeDataFolder,
  type RunningServer,
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

/** The contract: what a dead process left is taken up within 15 s. Counted from when somebody is there to do it. */
const takeOverMs = 15_000

class Shop {
  readonly acknowledged = new Map<string, string>()
  banner: Banner | undefined
  isOpen = true
  /** What the server logged last, for the report of an answer that should not have been given. */
  explain = (): string => ''
  /** The longest that a caller had to wait for an answer while somebody served. */
  longestMs = 0
  #orders = 0
  #servedMs = 0
  #servedSince: number | undefined

  /** From now on nobody serves. */
  onDown(): void {
    this.#servedMs = this.#timeServed()
    this.#servedSince = undefined
    this.banner = undefined
  }

  onUp(banner: Banner): void {
    this.#servedSince = performance.now()
    this.banner = banner
  }

  /** A clock that stands still while nobody serves: a payment that several kills delay has waited for all of them. */
  #timeServed(): number {
    return this.#servedMs + (this.#servedSince === undefined ? 0 : performance.now() - this.#servedSince)
  }

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
    expect(answer.status, this.explain()).toBe(200)
    return body.payId
  }

  /** Orders one thing after the other, each until it is acknowledged. */
  async order(): Promise<void> {
    while (this.isOpen) {
      this.#orders += 1
      const transId = `order-${this.#orders}`
      const begunMs = this.#timeServed()
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
      this.longestMs = Math.max(this.longestMs, this.#timeServed() - begunMs)
    }
  }
}

interface Stage {
  readonly shop: Shop
  readonly folder: string
  readonly server: () => RunningServer
  /** The process ids of all workers so far, the newest last. */
  readonly workers: () => number[]
  /** Waits until the gateway has ended, and starts it again. */
  restart(): Promise<void>
}

/** Serves a shop under load while `killAgain` does its worst, and looks at the books afterwards. */
async function survive(killAgain: (stage: Stage) => Promise<void>): Promise<void> {
  const folder = makeDataFolder()
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  afterwards(() => killRest(folder))
  const shop = new Shop()
  const start = async () => {
    const server = startServer('node', { TOLLGATE_DATA: folder, PORT: '0', TOLLGATE_WORKERS: '2' })
    shop.onUp(await server.ready())
    return server
  }
  let server = await start()
  shop.explain = () => server.stdout().split('\n').filter(isFault).slice(-20).join('\n')
  const stage: Stage = {
    ...{ shop, folder, server: () => server },
    workers: () => [...server.stderr().matchAll(/worker \d+ runs as (\d+)/g)].map(([, pid]) => Number(pid)),
    async restart() {
      await server.exited
      server = await start()
    },
  }
  const orders = Array.from({ length: callers }, () => shop.order())
  for (let kill = 0; kill < killsOfEach; kill += 1) {
    await delay(pauseMs)
    await killAgain(stage)
  }
  shop.isOpen = false
  await Promise.all(orders)
  await checkBooks(folder, shop)
}

const isFault = (line: string): boolean => line.includes('"level":"error"') || line.includes('"status":5')

async function checkBooks(folder: string, shop: Shop): Promise<void> {
  const { url } = await open(folder, { purpose: 'command' })
  const rows = await query(url, 'SELECT trans_id, pay_id FROM payment')
  const stored = new Map(rows.map(row => [row.trans_id, String(row.pay_id).replaceAll('-', '')]))
  expect(stored.size).toBe(rows.length)
  expect(stored).toEqual(shop.acknowledged)
  const doctor = await tollgateHere(['doctor', '--json'], { TOLLGATE_DATA: folder })
  expect(JSON.parse(doctor.stdout)).toMatchObject({ healthy: true })
  process.stdout.write(`${stored.size} payments; the longest wait was ${Math.round(shop.longestMs)} ms\n`)
  expect(shop.longestMs).toBeLessThan(takeOverMs)
}

test('workers that are killed are replaced: nothing is lost or doubled', () =>
  survive(async ({ workers }) => {
    const known = workers()
    process.kill(known.at(-1) ?? 0, 'SIGKILL')
    await vi.waitFor(() => expect(workers().length).toBeGreaterThan(known.length), patienceMs)
  }))

test('all processes and their database are killed at once: nothing is lost or doubled', () =>
  survive(async ({ shop, folder, server, workers, restart }) => {
    shop.onDown()
    for (const pid of [...workers(), server().child.pid ?? 0, readPids(folder).database])
      process.kill(pid, 'SIGKILL')
    await restart()
  }))

test('the database is killed: nothing is lost or doubled', () =>
  survive(async ({ shop, folder, restart }) => {
    shop.onDown()
    process.kill(readPids(folder).database, 'SIGKILL')
    await restart()
  }))
