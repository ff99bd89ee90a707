/**
 * kill -9 under load, again and again: of one worker, of all processes with their database at once, as when a machine dies, and
 * of the database alone. Callers repeat what was not answered under its key. Every payment exists once, nothing that was
 * acknowledged is lost, and nobody waits longer for a payment than a take-over may take.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import {
  type Banner,
  borrowDataFolder,
  isGone,
  login,
  type RunningServer,
  readPids,
  startServer,
  tollgateHere,
} from '#test/support/command-line.ts'
import { cleanUpAll, open, query } from '#test/support/database/embedded.ts'
import { cardPayment } from '#test/support/gateway.ts'

afterEach(cleanUpAll)

const killsOfEach = 50

/** 8: enough that some request is always under way. */
const callers = 8

/** 1 s of load between two kills. */
const pauseMs = 1_000

/** 120 s: a machine that is busy with all of this may take long to start a gateway. */
const patienceMs = 120_000

/** 60 s: a request that is not answered by then hangs, and the report says which. */
const answerMs = 60_000

/** The contract: what a dead process left is taken up within 15 s. Counted from when somebody is there to do it. */
const takeOverMs = 15_000

class Shop {
  readonly acknowledged = new Map<string, string>()
  /** How often each kind of answer was given. */
  readonly answers = new Map<string, number>()
  banner: Banner | undefined
  isOpen = true
  /** What the server logged last, for the report of an answer that should not have been given. */
  explain = (): string => ''
  #orders = 0
  readonly #underWay = new Set<Promise<void>>()

  /** Resolves when all orders that are under way at this moment are acknowledged. */
  acknowledgeAll(): Promise<unknown> {
    return Promise.all(this.#underWay)
  }

  #count(answer: string): string {
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1)
    return answer
  }

  /** The payment if it was acknowledged, else what came instead. */
  async #send(transId: string): Promise<{ payId: string } | { instead: string }> {
    const { banner } = this
    if (banner === undefined) return { instead: 'nobody serves' }
    const answer = await fetch(`${banner.baseUrl}/payments`, {
      method: 'POST',
      headers: {
        authorization: login(banner),
        'content-type': 'application/json',
        'idempotency-key': transId,
      },
      body: JSON.stringify(cardPayment({ transId })),
      signal: AbortSignal.timeout(answerMs),
    })
    const body = (await answer.json()) as { payId: string }
    const status = this.#count(String(answer.status))
    // 503: come again. 409: the first request with this key is not settled yet.
    if (status === '503' || status === '409') return { instead: status }
    expect(status, this.explain()).toBe('200')
    return body
  }

  /** Orders one thing after the other. */
  async order(): Promise<void> {
    while (this.isOpen) {
      this.#orders += 1
      const ordering = this.#orderUntilAcknowledged(`order-${this.#orders}`)
      this.#underWay.add(ordering)
      await ordering
      this.#underWay.delete(ordering)
    }
  }

  async #orderUntilAcknowledged(transId: string): Promise<void> {
    const begunAt = performance.now()
    for (;;) {
      // A connection that breaks tells nothing about the payment.
      const sent = await this.#send(transId).catch(error => {
        if (error instanceof TypeError) return { instead: this.#count('no answer') }
        if (!(error instanceof DOMException)) throw error
        throw new Error(`${transId} was not answered in ${answerMs} ms\n${this.explain()}`, { cause: error })
      })
      if ('payId' in sent) return void this.acknowledged.set(transId, sent.payId)
      if (performance.now() - begunAt > patienceMs)
        throw new Error(`${transId} is not acknowledged, last: ${sent.instead}\n${this.explain()}`)
      await delay(200)
    }
  }
}

interface Stage {
  readonly shop: Shop
  readonly folder: string
  readonly server: () => RunningServer
  /** The process ids of all workers so far, the newest last. */
  readonly workers: () => number[]
  /** Waits until the gateway has ended, and starts it again. Returns since when it serves. */
  restart(): Promise<number>
}

/**
 * Serves a shop under load while `killAgain` does its worst, and looks at the books afterwards. It returns since when somebody
 * has served again; from then on the orders that the kill met may take as long as a take-over.
 */
async function survive(killAgain: (stage: Stage) => Promise<number>): Promise<void> {
  const folder = borrowDataFolder()
  const shop = new Shop()
  const start = async () => {
    const server = startServer('node', { TOLLGATE_DATA: folder, PORT: '0', TOLLGATE_WORKERS: '2' })
    shop.banner = await server.ready()
    return server
  }
  let server = await start()
  shop.explain = () => server.stdout().split('\n').filter(isFault).slice(-20).join('\n')
  const stage: Stage = {
    ...{ shop, folder, server: () => server },
    workers: () =>
      [...server.stderr().matchAll(/worker \d+ runs as process (\d+)/g)].map(([, pid]) => Number(pid)),
    async restart() {
      await within(server.exited, 'the end of the gateway')
      server = await start()
      return performance.now()
    },
  }
  const orders = Array.from({ length: callers }, () => shop.order())
  let longestMs = 0
  for (let kill = 0; kill < killsOfEach; kill += 1) {
    await delay(pauseMs)
    const met = shop.acknowledgeAll()
    const servedSince = await killAgain(stage)
    await within(met, 'what was under way when it was killed')
    longestMs = Math.max(longestMs, performance.now() - servedSince)
  }
  shop.isOpen = false
  await within(Promise.all(orders), 'the last orders')
  const payments = await checkBooks(folder, shop)
  const answers = [...shop.answers].map(([answer, count]) => `${count} × ${answer}`).join(', ')
  const longest = `the longest take-over was ${Math.round(longestMs)} ms`
  process.stdout.write(`${payments} payments; ${longest}; answers: ${answers}\n`)
  expect(longestMs).toBeLessThan(takeOverMs)
}

/** Fails with the name of what is waited for instead of hanging until the runner gives up. */
async function within<T>(wanted: Promise<T>, name: string): Promise<T> {
  const timer = new AbortController()
  const late = delay(patienceMs, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`waited ${patienceMs} ms for ${name}`)
  })
  late.catch(() => undefined)
  return Promise.race([wanted, late]).finally(() => timer.abort())
}

const isFault = (line: string): boolean => line.includes('"level":"error"') || line.includes('"status":5')

async function checkBooks(folder: string, shop: Shop): Promise<number> {
  const { url } = await open(folder, { purpose: 'command' })
  const rows = await query(url, 'SELECT trans_id, pay_id FROM payment')
  const stored = new Map(rows.map(row => [row.trans_id, String(row.pay_id).replaceAll('-', '')]))
  expect(stored.size).toBe(rows.length)
  expect(stored).toEqual(shop.acknowledged)
  const doctor = await tollgateHere(['doctor', '--json'], { TOLLGATE_DATA: folder })
  expect(JSON.parse(doctor.stdout)).toMatchObject({ healthy: true })
  return stored.size
}

test('workers that are killed are replaced: nothing is lost or doubled', () =>
  survive(async ({ server, workers }) => {
    // The one before has been replaced: a worker's first lines come when it listens.
    const isReplaced = () => server().stdout().includes(`"worker":${workers().length},`)
    await vi.waitFor(() => expect(isReplaced()).toBe(true), patienceMs)
    const known = workers()
    // The oldest: callers keep their connections, so the newest has none of them yet.
    process.kill(known.find(pid => !isGone(pid)) ?? 0, 'SIGKILL')
    const killedAt = performance.now()
    await vi.waitFor(() => expect(workers().length).toBeGreaterThan(known.length), patienceMs)
    return killedAt
  }))

test('all processes and their database are killed at once: nothing is lost or doubled', () =>
  survive(async ({ shop, folder, server, workers, restart }) => {
    shop.banner = undefined
    for (const pid of [...workers(), server().child.pid ?? 0, readPids(folder).database])
      process.kill(pid, 'SIGKILL')
    return restart()
  }))

test('the database is killed: nothing is lost or doubled', () =>
  survive(async ({ shop, folder, restart }) => {
    shop.banner = undefined
    process.kill(readPids(folder).database, 'SIGKILL')
    return restart()
  }))
