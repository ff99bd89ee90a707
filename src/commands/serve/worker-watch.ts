/**
 * What the primary does for one worker beside starting it: it notices when the worker hangs, keeps connections that the
 * worker has not accepted yet, and collects its metrics.
 */
import type { ChildProcess } from 'node:child_process'
import type { Worker } from 'node:cluster'
import { readFileSync } from 'node:fs'
import { AggregatorRegistry, type Registry } from 'prom-client'
import type { ProcessNumber } from '#gateway.ts'

export type Metrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

export type ToWorker =
  | { readonly tollgate: 'ping' }
  | { readonly tollgate: 'report?'; readonly question: number }
  | { readonly tollgate: 'dead'; readonly processes: readonly ProcessNumber[] }
  | { readonly tollgate: 'metrics'; readonly question: number; readonly text: string }

/** A worker that ends at this moment is noticed by its exit; a message that it missed no longer matters. */
export function post(worker: Pick<Worker, 'isConnected' | 'send'>, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message, undefined, undefined, () => undefined)
}

/** 1 s between two pings. */
const pingMs = 1_000

/** 4: nothing that a worker does keeps its event loop busy for seconds, and clients have waited long enough by then. */
const missedMax = 4

/**
 * 30: on an overloaded machine a worker may need seconds for its next step. A worker in an endless loop is killed then.
 */
const missedWhileWorkingMax = 30

/** 120: while it starts, a worker loads code and waits for its database, and answers nothing meanwhile. */
const missedAtStartMax = 120

export interface WorkerWatch {
  readonly onPong: () => void
  /** From now on the worker must answer promptly. */
  readonly onReady: () => void
}

/** Processor time in ticks; undefined where the system keeps no /proc. */
function readProcessorTime(pid: number | undefined): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program is in parentheses and may contain anything; the numbers follow it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return undefined
  }
}

type WatchedWorker = Pick<Worker, 'isConnected' | 'send' | 'once'> & {
  readonly process: Pick<ChildProcess, 'pid' | 'kill'>
}

/**
 * Kills a worker that answers no pings, so that its clients can retry and its replacement can start. Counts pings
 * instead of seconds: a primary that was itself stopped for a while must not blame its workers. A worker that answers
 * none but uses the processor is not frozen but overloaded.
 */
export function watchWorker(
  worker: WatchedWorker,
  onFrozen: () => void,
  readTime = readProcessorTime,
): WorkerWatch {
  let missed = 0
  let allowed = missedAtStartMax
  let used: number | undefined
  const timer = setInterval(() => {
    const before = used
    used = readTime(worker.process.pid)
    const isWorking = used !== before && missed < missedWhileWorkingMax
    if (missed >= allowed && !isWorking) {
      clearInterval(timer)
      onFrozen()
      worker.process.kill('SIGKILL')
      return
    }
    missed += 1
    post(worker, { tollgate: 'ping' })
  }, pingMs)
  worker.once('exit', () => clearInterval(timer))
  return {
    onPong() {
      missed = 0
    },
    onReady() {
      missed = 0
      allowed = missedMax
    },
  }
}

interface Connection {
  close(): void
}

/** The message with which node:cluster passes a connection on, and its answer. */
interface HandOver {
  readonly cmd?: string
  readonly act?: string
  readonly seq?: number
  readonly ack?: number
}

/**
 * node:cluster forgets a connection that a worker did not take before it died, and its client would wait for ever. Here it
 * goes to another worker, as if this one had refused it; without another one it is closed, so that the client knows.
 */
export function keepHandedOver(worker: Worker, hasOthers: () => boolean): void {
  const child: ChildProcess = worker.process
  const handed = new Map<number, Connection>()
  // `send` has many overloads, and Node's cluster calls it with a message of its own and a socket, which none of them names.
  const send = child.send.bind(child) as (...words: unknown[]) => boolean
  child.send = ((message: HandOver, ...rest: unknown[]) => {
    const [connection] = rest as (Connection | undefined)[]
    if (message.act === 'newconn' && message.seq !== undefined && connection)
      handed.set(message.seq, connection)
    return send(message, ...rest)
  }) as ChildProcess['send']
  child.prependListener('internalMessage', ({ ack }: HandOver) => {
    if (ack !== undefined) handed.delete(ack)
  })
  let isStruckOff = false
  child.once('disconnect', () => {
    isStruckOff = true
  })
  child.once('exit', function passOn() {
    // The worker's last answer may not have been read yet.
    if (child.connected) return void setImmediate(passOn)
    if (handed.size === 0) return
    // While a connection is being passed, Node does not report the end of the channel, and the dead worker would be
    // given more connections.
    if (!isStruckOff) child.emit('disconnect')
    for (const [ack, connection] of handed) {
      if (hasOthers()) child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false })
      else connection.close()
    }
  })
}

/** 2 s: a scraper prefers an answer without a busy worker to none. */
const reportMs = 2_000

type ReportingWorker = Pick<Worker, 'isConnected' | 'send'>

export interface MetricsReports {
  /** The metrics of all workers that answer in time, and the last counters of the others. */
  collect(workers: Iterable<ReportingWorker>): Promise<readonly Metrics[]>
  readonly onReport: (question: number, metrics: Metrics) => void
  readonly onEnd: (worker: ReportingWorker) => void
}

/** Keeps only metrics that never fall: a gauge of a worker that does not answer says nothing about the present. */
const keepCounts = (metrics: Metrics): Metrics =>
  metrics.filter(({ type }) => ['counter', 'histogram'].includes(String(type)))

/**
 * Prometheus takes a falling counter for a restart and counts all of it again. So the counters of a worker stay in the
 * sums when it ends or does not answer.
 */
export function createMetricsReports(): MetricsReports {
  const waiting = new Map<number, (metrics: Metrics | undefined) => void>()
  const latest = new Map<ReportingWorker, Metrics>()
  const gone = new WeakSet<ReportingWorker>()
  let ended: Promise<readonly Metrics[]> = Promise.resolve([])
  let questions = 0
  const ask = (worker: ReportingWorker): Promise<boolean> =>
    new Promise(resolve => {
      questions += 1
      const question = questions
      const timer = setTimeout(() => answer(undefined), reportMs)
      const answer = (metrics: Metrics | undefined) => {
        clearTimeout(timer)
        waiting.delete(question)
        if (metrics && !gone.has(worker)) latest.set(worker, metrics)
        resolve(metrics !== undefined)
      }
      waiting.set(question, answer)
      post(worker, { tollgate: 'report?', question })
    })
  return {
    async collect(workers) {
      const silent = new Set<ReportingWorker>()
      await Promise.all([...workers].map(async worker => (await ask(worker)) || silent.add(worker)))
      // Taken at one moment: a worker that ends afterwards is not counted twice.
      const [before, living] = [ended, [...latest]]
      const reports = living.map(([worker, metrics]) => (silent.has(worker) ? keepCounts(metrics) : metrics))
      return [...(await before), ...reports]
    },
    onReport: (question, metrics) => waiting.get(question)?.(metrics),
    onEnd(worker) {
      const last = latest.get(worker)
      gone.add(worker)
      latest.delete(worker)
      if (last)
        ended = ended.then(async before => [
          await AggregatorRegistry.aggregate([...before, keepCounts(last)]).getMetricsAsJSON(),
        ])
    },
  }
}
