/**
 * Several processes behind one port. The primary forks workers, hands connections on (node:cluster), replaces whoever
 * dies or stands still, and adds up their metrics; it serves nothing itself. Workers find everything else they share in the
 * database.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { AggregatorRegistry, type Registry } from 'prom-client'
import { CommandFault } from '#commands/faults.ts'
import {
  createMetricsReports,
  keepHandedOver,
  type Metrics,
  post,
  type ToWorker,
  type WorkerWatch,
  watchWorker,
} from '#commands/worker-watch.ts'

interface Ready {
  readonly origin: string
  readonly weakDurability: readonly string[]
}

export interface WorkerGroup {
  /** Resolves when all of them listen; rejects when one could not start. */
  readonly ready: Promise<Ready>
  /** Passes the request to stop on, and resolves when all have ended. */
  close(serveForMs?: number): Promise<void>
}

/** 1 s: a worker that dies at once each time must not keep the machine busy with its starts. */
const replaceAfterMs = 1_000

type ToPrimary =
  | { readonly tollgate: 'ready'; readonly ready: Ready }
  | { readonly tollgate: 'fault'; readonly sentence: string }
  | { readonly tollgate: 'pong' }
  | { readonly tollgate: 'report'; readonly question: number; readonly metrics: Metrics }
  | { readonly tollgate: 'metrics?'; readonly question: number }

export function startWorkers(count: number, say: (line: string) => void): WorkerGroup {
  const reports = createMetricsReports()
  const { promise: ready, resolve, reject } = Promise.withResolvers<Ready>()
  const running = new Set<Worker>()
  const listening = new Set<Worker>()
  let stopping = false
  let started = false
  let fault: string | undefined

  async function hear(worker: Worker, watch: WorkerWatch, message: ToPrimary): Promise<void> {
    switch (message.tollgate) {
      case 'ready':
        listening.add(worker)
        watch.onReady()
        if (listening.size === count && !started) {
          started = true
          resolve(message.ready)
        }
        return
      case 'fault':
        fault = message.sentence
        return
      case 'pong':
        return watch.onPong()
      case 'report':
        return reports.onReport(message.question, message.metrics)
      case 'metrics?': {
        const text = await addUp(await reports.collect(listening))
        post(worker, { tollgate: 'metrics', question: message.question, text })
      }
    }
  }

  function onExit(worker: Worker, how: string): void {
    running.delete(worker)
    listening.delete(worker)
    if (stopping) return
    if (!started) {
      reject(new CommandFault(fault ?? `worker ${worker.id} ended while it started`))
      return
    }
    say(`worker ${worker.id} ended (${how}); another one takes its place`)
    setTimeout(() => {
      if (!stopping) fork()
    }, replaceAfterMs).unref()
  }

  function fork(): void {
    const worker = cluster.fork()
    running.add(worker)
    say(`worker ${worker.id} runs as ${worker.process.pid}`)
    const watch = watchWorker(worker, () => say(`worker ${worker.id} does not answer any more and is killed`))
    keepHandedOver(worker, () => [...listening].some(other => other !== worker))
    worker.on('message', (message: ToPrimary) => {
      if (message?.tollgate) void hear(worker, watch, message)
    })
    // What could not be sent to a worker that was ending; its exit follows.
    worker.on('error', () => undefined)
    worker.once('exit', (code, signal) => onExit(worker, signal ?? `exit code ${code}`))
  }

  for (let forked = 0; forked < count; forked += 1) fork()
  return {
    ready,
    async close(serveForMs = 0) {
      stopping = true
      // Whoever waits for a start that is over now has nothing to wait for.
      ready.catch(() => {})
      const signal = serveForMs > 0 ? 'SIGTERM' : 'SIGINT'
      await Promise.all([...running].map(worker => stop(worker, signal)))
    },
  }
}

async function stop(worker: Worker, signal: NodeJS.Signals): Promise<void> {
  const ended = once(worker, 'exit')
  worker.process.kill(signal)
  await ended
}

const addUp = (reports: readonly Metrics[]): Promise<string> =>
  AggregatorRegistry.aggregate([...reports]).metrics()

export interface WorkerRole {
  readonly worker: number
  readonly collectMetrics: () => Promise<string>
  /** Lets the primary ask this process for its metrics. */
  report(metrics: Registry): void
}

/** Undefined: this process is alone, or the primary. */
export function takeWorkerRole(): WorkerRole | undefined {
  if (!cluster.isWorker) return undefined
  const waiting = new Map<number, (text: string) => void>()
  let questions = 0
  let registry: Registry | undefined
  async function hear(message: ToWorker): Promise<void> {
    switch (message.tollgate) {
      case 'ping':
        return tell({ tollgate: 'pong' })
      case 'report?': {
        const metrics = (await registry?.getMetricsAsJSON()) ?? []
        return tell({ tollgate: 'report', question: message.question, metrics })
      }
      case 'metrics':
        waiting.get(message.question)?.(message.text)
        waiting.delete(message.question)
    }
  }
  process.on('message', (message: ToWorker) => {
    if (message?.tollgate) void hear(message)
  })
  return {
    worker: cluster.worker?.id ?? 0,
    collectMetrics: () =>
      new Promise(resolve => {
        questions += 1
        waiting.set(questions, resolve)
        tell({ tollgate: 'metrics?', question: questions })
      }),
    report(metrics) {
      registry = metrics
    },
  }
}

export const reportReady = (ready: Ready): void => tell({ tollgate: 'ready', ready })

/** Why this worker could not start, for the one sentence that its primary prints. */
export async function reportFault(sentence: string): Promise<void> {
  await new Promise<void>(resolve => {
    process.send?.({ tollgate: 'fault', sentence } satisfies ToPrimary, undefined, undefined, () => resolve())
  })
}

function tell(message: ToPrimary): void {
  process.send?.(message)
}
