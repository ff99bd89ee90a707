/**
 * Memory of the database's connections under mixed traffic. Every prepared statement stays in each connection for as long as
 * it lives; with too many forms of them a connection grows for ever.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Line } from '#bench/figures.ts'
import type { GatewayProcess } from '#bench/gateway-process.ts'
import type { Stage } from '#bench/stage.ts'

/** The target. */
const connectionMbMax = 60

/** Flat: what a connection holds in the end is at most a fifth more than after the first fifth of the time. */
const growthMax = 1.2

/** 16 callers with a mix each, so that parts of all kinds meet in one batch. */
const callers = 16

export interface DatabaseBench {
  readonly stage: Stage
  readonly gateway: GatewayProcess
  readonly minutes: number
  readonly say: (line: string) => void
}

export async function measureDatabaseMemory({
  stage,
  gateway,
  minutes,
  say,
}: DatabaseBench): Promise<Line[]> {
  const begun = performance.now()
  const share = () => (performance.now() - begun) / (minutes * 60_000)
  let requests = 0
  let early: number | undefined
  const call = createCall(gateway.port, stage)
  const work = async (caller: number): Promise<void> => {
    for (let turn = caller; share() < 1; turn += 1) {
      await scenarios[turn % scenarios.length]?.(call, `mix-${caller}-${turn}`)
      requests += 1
      if (early === undefined && share() > 0.2) early = readLargest(stage.cluster)
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => work(caller)))
  const late = readLargest(stage.cluster)
  if (early === undefined) throw new Error('nothing was measured')
  say(
    `database: ${requests} scenarios; largest connection ${early.toFixed(1)} MB early, ${late.toFixed(1)} MB in the end`,
  )
  return [
    {
      what: `memory of the database, largest connection, ${minutes} min mixed traffic`,
      measured: `${late.toFixed(0)} MB`,
      target: `≤ ${connectionMbMax} MB`,
      met: late <= connectionMbMax,
    },
    {
      what: '   in the end / after a fifth of the time',
      measured: `${(late / early).toFixed(2)}×`,
      target: `≤ ${growthMax}×`,
      met: late <= early * growthMax,
    },
  ]
}

type Call = (verb: string, path: string, body: object, key?: string) => Promise<{ readonly payId?: string }>

function createCall(port: number, { authorization }: Stage): Call {
  return async (verb, path, body, key) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v2${path}`, {
      method: verb,
      headers: {
        authorization,
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      body: JSON.stringify(body),
    })
    const told = (await answer.json()) as { payId?: string }
    if (!answer.ok) throw new Error(`${verb} ${path} was answered with ${answer.status}`)
    return told
  }
}

const eur = (value: number) => ({ value, currency: 'EUR' })
const urls = { return: 'https://shop.example/done', cancel: 'https://shop.example/stop' }

const payment = (transId: string, type: string, more: object = {}) => ({
  transId,
  amount: eur(1000),
  captureMethod: { type },
  ...more,
  paymentMethods: {
    integrationType: 'DIRECT',
    type: 'CARD',
    card: {
      number: '4111111111111111',
      expiryDate: '203012',
      cardholderName: 'Ada Lovelace',
      securityCode: '123',
    },
  },
})

const scenarios: readonly ((call: Call, name: string) => Promise<unknown>)[] = [
  (call, name) => call('POST', '/payments', payment(name, 'AUTOMATIC')),
  (call, name) => call('POST', '/payments', payment(name, 'AUTOMATIC'), name),
  async (call, name) => {
    const { payId } = await call('POST', '/payments', payment(name, 'MANUAL'), name)
    await call('PATCH', `/payments/${payId}`, { refNr: name })
    await call('POST', `/payments/${payId}/captures`, { transId: name, amount: eur(400) }, `${name}-c`)
    await call('POST', `/payments/${payId}/refunds`, { transId: name, amount: eur(100) })
  },
  async (call, name) => {
    const more = { refNr: name, metadata: { shop: name } }
    const { payId } = await call('POST', '/payments', payment(name, 'MANUAL', more))
    await call('POST', `/payments/${payId}/reversals`, { transId: name, amount: eur(600) })
  },
  (call, name) => call('POST', '/payments/links', { transId: name, amount: eur(400), urls }),
  (call, name) => call('POST', '/payment-intents', { transId: name, amount: eur(400), urls }),
]

/** The most that one connection holds of its own, in megabytes; shared buffers do not count. */
function readLargest(cluster: string): number {
  const postmaster = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]
  const sizes = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(pid => readOwnMb(pid, postmaster))
  return Math.max(...sizes)
}

function readOwnMb(pid: string, postmaster: string | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    if (/^PPid:\s+(\d+)/m.exec(status)?.[1] !== postmaster) return 0
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024
  } catch (error) {
    // It has ended since the folder was read.
    if (['ENOENT', 'ESRCH'].includes(String((error as NodeJS.ErrnoException).code))) return 0
    throw error
  }
}
