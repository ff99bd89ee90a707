/**
 * Several processes behind one port. The primary forks workers, hands connections on (node:cluster), replaces whoever
 * dies, and adds up their metrics; it serves nothing itself. Workers find everything else they share in the database.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { AggregatorRegistry, type Registry } from 'prom-client'
import { CommandFault } from '#commands/faults.ts'

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
  | { readonly tollgate: 'metrics?'; readonly question: number }

type ToWorker = { readonly tollgate: 'metrics'; readonly question: number; readonly text: string }

export function startWorkers(count: number, say: (line: string) => void): WorkerGroup {
  const aggregator = new AggregatorRegistry()
  const { promise: ready, resolve, reject } = Promise.withResolvers<Ready>()
  const running = new Set<Worker>()
  const listening = new Set<number>()
  let stopping = false
  let started = false
  let fault: string | undefined

  async function hear(worker: Worker, message: ToPrimary): Promise<void> {
    switch (message.tollgate) {
      case 'ready':
        listening.add(worker.id)
        if (listening.size === count && !started) {
          started = true
          resolve(message.ready)
        }
        return
      case 'fault':
        fault = message.sentence
        return
      case 'metrics?': {
        const text = await aggregator.clusterMetrics()
        if (worker.isConnected()) worker.send({ tollgate: 'metrics', question: message.question, text })
      }
    }
  }

  function fork(): void {
    const worker = cluster.fork()
    running.add(worker)
    say(`worker ${worker.id} runs as ${worker.process.pid}`)
    worker.on('message', (message: ToPrimary) => {
      if (message?.tollgate) void hear(worker, message)
    })
    worker.once('exit', (code, signal) => {
      running.delete(worker)
      if (stopping) return
      if (!started) return reject(new CommandFault(fault ?? `worker ${worker.id} ended while it started`))
      say(`worker ${worker.id} ended (${signal ?? `exit code ${code}`}); another one takes its place`)
      setTimeout(() => {
        if (!stopping) fork()
      }, replaceAfterMs).unref()
    })
  }

  for (let forked = 0; forked < count; forked += 1) fork()
  return {
    ready,
    async close(serveForMs = 0) {
      stopping = true
      // Whoever waits for a start that is over now has nothing to wait for.
      ready.catch(() => {})
      const signal = serveForMs > 0 ? 'SIGTERM' : 'SIGINT'
      await Promise.all(
        [...running].map(async worker => {
          const ended = once(worker, 'exit')
          worker.process.kill(signal)
          await ended
        }),
      )
    },
  }
}

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
  process.on('message', (message: ToWorker) => {
    if (message?.tollgate !== 'metrics') return
    waiting.get(message.question)?.(message.text)
    waiting.delete(message.question)
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
      AggregatorRegistry.setRegistries(metrics)
      new AggregatorRegistry()
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
