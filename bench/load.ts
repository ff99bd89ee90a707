/**
 * The load generator, a process of its own. Closed loop: each caller sends its next request when the last is answered.
 * Open loop: requests start at fixed times whether or not earlier ones are answered, and latency counts from the time at
 * which a request should have started. Every answer is checked; one that is not as expected ends the run.
 */
import { type Arrivals, makeArrivals } from '#bench/arrivals.ts'
import { binCount, firstBin } from '#bench/bins.ts'
import { type Answer, type Caller, openCaller } from '#bench/caller.ts'
import { percentileOf } from '#bench/figures.ts'
import { answerJobs, meterOwnCores } from '#bench/peer.ts'
import {
  amountOf,
  makeBinRequest,
  makeFollowUpRequest,
  makeGetRequest,
  makePaymentRequest,
  makeReadRequest,
  makeSmallCapture,
  type Target,
} from '#bench/requests.ts'
import type { Measured } from '#bench/watch.ts'

export interface LoadJob extends Target {
  /** prepare: MANUAL payments, which captures, refunds, race and reads then use. */
  readonly kind: 'payments' | 'prepare' | 'captures' | 'refunds' | 'race' | 'reads' | 'gets' | 'lookUps'
  /** The paths that `gets` reads in turn. */
  readonly paths?: readonly string[]
  readonly concurrency: number
  /** The number of the first order; every job has a range of its own. */
  readonly firstOrder: number
  readonly warmUpMs: number
  /** How long to measure, unless `count` says how many requests to make. */
  readonly measureMs: number
  readonly count?: number
  /** Requests per second of an open loop; closed when absent. */
  readonly arrivalsPerSecond?: number
}

export interface LoadResult extends Measured {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** The next request of one caller, and the check of its answer. Each caller has its own script with its own buffer. */
interface Script {
  /** Undefined: nothing is left. */
  next(): Buffer | undefined
  /** Checks the answer and returns its amount. */
  accept(answer: Answer): number
}

let prepared: { readonly payId: string; readonly order: number }[] = []

answerJobs<LoadJob, LoadResult>(run)

async function run(job: LoadJob): Promise<LoadResult> {
  const readCores = meterOwnCores()
  if (job.kind === 'prepare') prepared = []
  const issued = { count: 0 }
  const callers = await Promise.all(Array.from({ length: job.concurrency }, () => openCaller(job.port)))
  const tally = createTally(job)
  const arrivals =
    job.arrivalsPerSecond === undefined ? undefined : makeArrivals(job.arrivalsPerSecond, tally.endAtMs)
  await Promise.all(
    callers.map(caller => work({ caller, script: scripts[job.kind](job, issued), tally, arrivals })),
  )
  for (const caller of callers) caller.close()
  return { ...tally.sum(), cores: readCores() }
}

interface Worker {
  readonly caller: Caller
  readonly script: Script
  readonly tally: Tally
  readonly arrivals: Arrivals | undefined
}

async function work({ caller, script, tally, arrivals }: Worker): Promise<void> {
  for (;;) {
    const startedAt = arrivals ? await arrivals.take() : performance.now()
    if (startedAt === undefined || (!arrivals && startedAt >= tally.endAtMs)) return
    const request = script.next()
    if (!request) return
    const answer = await caller.ask(request)
    tally.note(startedAt, script.accept(answer))
  }
}

interface Tally {
  readonly endAtMs: number
  note(startedAt: number, amount: number): void
  sum(): Omit<LoadResult, 'cores'>
}

/**
 * All answers count for the books. The rate counts answers between the warm-up and the end; in an open loop it counts
 * requests that should have started then, or the slowest would be left out.
 */
function createTally({ warmUpMs, measureMs, count, arrivalsPerSecond }: LoadJob): Tally {
  const begin = performance.now() + warmUpMs
  const end = count === undefined ? begin + measureMs : Number.POSITIVE_INFINITY
  const latencies: number[] = []
  let acknowledged = 0
  let amount = 0
  let last = begin
  return {
    endAtMs: end,
    note(startedAt, value) {
      const now = performance.now()
      acknowledged += 1
      amount += value
      const counted = arrivalsPerSecond === undefined ? now : startedAt
      if (counted < begin || counted >= end) return
      latencies.push(now - startedAt)
      last = now
    },
    sum() {
      const sorted = Float64Array.from(latencies).sort()
      const seconds = ((count === undefined ? end : last) - begin) / 1000
      return {
        perSecond: sorted.length / seconds,
        acknowledged,
        amount,
        p50Ms: percentileOf(sorted, 0.5),
        p99Ms: percentileOf(sorted, 0.99),
        maxMs: percentileOf(sorted, 1),
      }
    },
  }
}

type MakeScript = (job: LoadJob, issued: { count: number }) => Script

const scripts: Record<LoadJob['kind'], MakeScript> = {
  payments: (job, issued) => createScript(job, issued, 'AUTOMATIC'),
  prepare: (job, issued) => createScript(job, issued, 'MANUAL'),
  gets: createGets,

  captures: (job, issued) => createFollowUps(job, issued, 'captures'),
  refunds: (job, issued) => createFollowUps(job, issued, 'refunds'),
  race: createRace,

  reads(job, issued) {
    const request = makeReadRequest(job)
    return {
      next() {
        const payment = prepared[issued.count % prepared.length]
        if (!payment) return undefined
        issued.count += 1
        request.write(payment.payId)
        return request.bytes
      },
      accept(answer) {
        expectAnswer(answer, '"operations":[')
        return 0
      },
    }
  },

  lookUps(job, issued) {
    const request = makeBinRequest(job, String(firstBin))
    return {
      next() {
        issued.count += 1
        request.write(firstBin + ((issued.count * binStep) % binCount))
        return request.bytes
      },
      accept(answer) {
        expectAnswer(answer, '"brand":"visa"')
        return 0
      },
    }
  },
}

/** One of each payment that was prepared. */
function createFollowUps(job: LoadJob, issued: { count: number }, operation: 'captures' | 'refunds'): Script {
  const request = makeFollowUpRequest(job, operation)
  let order = 0
  return {
    next() {
      const payment = prepared[issued.count]
      if (!payment) return undefined
      issued.count += 1
      order = payment.order
      request.write(payment.payId, order)
      return request.bytes
    },
    accept(answer) {
      expectAnswer(answer, '"status":"OK"')
      return amountOf(order)
    },
  }
}

/** All on the first payment that was prepared, until it is closed and after that. */
function createRace(job: LoadJob, issued: { count: number }): Script {
  const request = makeSmallCapture(job, prepared[0]?.payId ?? '')
  return {
    next() {
      if (issued.count >= (job.count ?? 0)) return undefined
      issued.count += 1
      return request
    },
    accept(answer) {
      if (answer.status === 422 && answer.body.includes('"responseCode":"20200006"')) return 0
      expectAnswer(answer, '"status":"OK"')
      return 1
    },
  }
}

function createGets(job: LoadJob, issued: { count: number }): Script {
  const requests = (job.paths ?? []).map(path => makeGetRequest(path, job))
  return {
    next() {
      if (job.count !== undefined && issued.count >= job.count) return undefined
      issued.count += 1
      return requests[issued.count % requests.length]
    },
    accept(answer) {
      expectAnswer(answer, '"scope":"MERCHANT"')
      return 0
    },
  }
}
/** A step through the list that visits every range before it visits one again. */
const binStep = 100_003

function createScript(job: LoadJob, issued: { count: number }, captureType: 'AUTOMATIC' | 'MANUAL'): Script {
  const request = makePaymentRequest(job, captureType)
  const status = captureType === 'AUTOMATIC' ? '"status":"OK"' : '"status":"AUTHORIZED"'
  let order = 0
  return {
    next() {
      if (job.count !== undefined && issued.count >= job.count) return undefined
      order = job.firstOrder + issued.count
      issued.count += 1
      request.write(order)
      return request.bytes
    },
    accept(answer) {
      expectAnswer(answer, status)
      if (captureType === 'MANUAL') prepared.push({ payId: readPayId(answer), order })
      return amountOf(order)
    },
  }
}

function expectAnswer({ status, body }: Answer, part: string): void {
  if (status === 200 && body.includes(part)) return
  throw new Error(`expected 200 and ${part}, got ${status}: ${body.toString('utf8', 0, 500)}`)
}

function readPayId({ body }: Answer): string {
  const name = '"payId":"'
  const start = body.indexOf(name) + name.length
  return body.toString('latin1', start, start + 32)
}
