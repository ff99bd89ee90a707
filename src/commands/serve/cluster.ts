/**
 * Several processes behind one port. The primary forks workers, passes connections to them (node:cluster), replaces
 * workers that die or hang, and adds up their metrics; it serves nothing itself. Workers find everything else they
 * share in the database.
 */
import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { AggregatorRegistry } from 'prom-client'
import { CommandFault } from '#commands/faults.ts'
import {
  createMetricsReports,
  keepHandedOver,
  type Metrics,
  post,
  type ToWorker,
  type WorkerWatch,
  watchWorker,
} from '#commands/serve/worker-watch.ts'
import type { Gateway, ProcessNumber } from '#gateway.ts'

interface Ready {
  readonly origin: string
  readonly weakDurability: readonly string[]
  /** The numbers under which the database knows the worker. */
  readonly processes: readonly ProcessNumber[]
}

export interface WorkerGroup {
  /** Resolves when all of them listen; rejects when one gives a reason why it cannot start, or too many just die. */
  readonly ready: Promise<Ready>
  /** Passes the request to stop on, and resolves when all have ended. */
  close(serveForMs?: number): Promise<void>
}

/** 1 s: a worker that dies at once each time must not keep the machine busy with its starts. */
const replaceAfterMs = 1_000

/**
 * 3 workers that die without a reason before the group is ready, killed for example where memory was short for a moment,
 * are replaced like any other. More of them are not chance, and whoever started the server waits for an answer.
 */
const diedAtStartMax = 3

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
  const listening = new Map<Worker, Ready>()
  let stopping = false
  let started = false
  const judge = judgeEarlyEnds(reject)
  const faults = new WeakMap<Worker, string>()
  const address = keepAddress(say)

  function onReady(worker: Worker, news: Ready): void {
    if (!address.isKeptBy(worker, news.origin)) return
    listening.set(worker, news)
    if (listening.size < count || started) return
    started = true
    resolve(news)
  }

  async function hear(worker: Worker, watch: WorkerWatch, message: ToPrimary): Promise<void> {
    switch (message.tollgate) {
      case 'ready':
        watch.onReady()
        return onReady(worker, message.ready)
      case 'fault':
        // The program's name is put in front when the sentence is printed.
        faults.set(worker, message.sentence.replace(/^tollgate: /, ''))
        return
      case 'pong':
        return watch.onPong()
      case 'report':
        return reports.onReport(message.question, message.metrics)
      case 'metrics?':
        return sendMetrics(worker, message.question, await reports.collect(listening.keys()))
    }
  }

  function onExit(worker: Worker, how: string): void {
    const { processes } = listening.get(worker) ?? { processes: [] }
    const fault = faults.get(worker)
    running.delete(worker)
    listening.delete(worker)
    reports.onEnd(worker)
    if (stopping) return
    const [heir] = listening.keys()
    if (heir) post(heir, { tollgate: 'dead', processes })
    if (!started && judge(worker, { how, fault })) return
    say(`worker ${worker.id} ended (${fault ?? how}); another one takes its place`)
    // Not unref: when all workers have ended, nothing else keeps this process running until the next one starts.
    setTimeout(() => !stopping && fork(), replaceAfterMs)
  }

  const fork = (): unknown =>
    running.add(forkWorker({ say, hear, onExit, listening, environment: address.environment() }))

  killOnExit(running)
  for (let forked = 0; forked < count; forked += 1) fork()
  return {
    ready,
    async close(serveForMs = 0) {
      stopping = true
      // Nobody may be waiting for the start any more; the exit is reported elsewhere.
      ready.catch(() => {})
      await stopAll(running, serveForMs > 0 ? 'SIGTERM' : 'SIGINT')
    },
  }
}

interface End {
  readonly how: string
  readonly fault: string | undefined
}

/** Gives the start up when a worker says why it cannot start, or too many have died before the group was ready. */
function judgeEarlyEnds(giveUp: (fault: CommandFault) => void): (worker: Worker, end: End) => boolean {
  let died = 0
  return ({ id }, { how, fault }) => {
    died += 1
    if (fault === undefined && died <= diedAtStartMax) return false
    const others = `as did ${died - 1} before it; start again once the cause is found`
    giveUp(new CommandFault(fault ?? `worker ${id} ended before it was ready (${how}), ${others}`))
    return true
  }
}

interface WorkerEvents {
  readonly say: (line: string) => void
  readonly hear: (worker: Worker, watch: WorkerWatch, message: ToPrimary) => Promise<void>
  readonly onExit: (worker: Worker, how: string) => void
  readonly listening: ReadonlyMap<Worker, unknown>
  readonly environment: { readonly PORT: string } | undefined
}

/**
 * Keeps the address at which the workers listen. With PORT=0 the first worker gets any free port and the others share
 * it; once all have ended, the system would give the next worker another port, which clients do not know.
 */
function keepAddress(say: (line: string) => void) {
  let first: string | undefined
  let port: { readonly PORT: string } | undefined
  return {
    /** Ends a worker that listens elsewhere; its replacement asks for the right port. */
    isKeptBy(worker: Worker, origin: string): boolean {
      first ??= origin
      if (origin === first) return true
      port = { PORT: new URL(first).port }
      say(`worker ${worker.id} was given another port, because all others had ended; it is started again`)
      worker.process.kill('SIGINT')
      return false
    },
    /**
     * The environment of the next worker. While others share the port, it must request the port in the same way as they
     * did.
     */
    environment: () => port,
  }
}

function forkWorker({ say, hear, onExit, listening, environment }: WorkerEvents): Worker {
  const worker = cluster.fork(environment)
  say(`worker ${worker.id} runs as process ${worker.process.pid}`)
  const watch = watchWorker(worker, () =>
    say(`worker ${worker.id} does not answer any more; it is killed and replaced`),
  )
  // A worker that has died accepts no connections any more, even before its exit is reported.
  const isOther = (other: Worker): boolean => other !== worker && other.isConnected()
  keepHandedOver(worker, () => [...listening.keys()].some(isOther))
  worker.on('message', (message: ToPrimary) => {
    if (message?.tollgate) void hear(worker, watch, message)
  })
  // A message could not be sent to a worker that was ending; its exit event follows.
  worker.on('error', () => undefined)
  worker.once('exit', (code, signal) => onExit(worker, signal ?? `exit code ${code}`))
  return worker
}

/**
 * A frozen worker does not react to a stop signal, and must not wake up after this process has released the database.
 */
function killOnExit(workers: ReadonlySet<Worker>): void {
  process.once('exit', () => {
    for (const worker of workers) worker.process.kill('SIGKILL')
  })
}

async function stopAll(workers: ReadonlySet<Worker>, signal: NodeJS.Signals): Promise<void> {
  await Promise.all(
    [...workers].map(async worker => {
      const ended = once(worker, 'exit')
      worker.process.kill(signal)
      await ended
    }),
  )
}

async function sendMetrics(worker: Worker, question: number, reports: readonly Metrics[]): Promise<void> {
  const text = await AggregatorRegistry.aggregate([...reports]).metrics()
  post(worker, { tollgate: 'metrics', question, text })
}

type ServingGateway = Pick<Gateway, 'metrics' | 'declareDead'>

export interface WorkerRole {
  readonly worker: number
  readonly collectMetrics: () => Promise<string>
  /** Lets the primary ask this process for its metrics, and tell it which others have died. */
  serve(gateway: ServingGateway): void
}

/** Undefined: this process is alone, or the primary. */
export function takeWorkerRole(): WorkerRole | undefined {
  if (!cluster.isWorker) return undefined
  const waiting = new Map<number, (text: string) => void>()
  let questions = 0
  let gateway: ServingGateway | undefined
  async function hear(message: ToWorker): Promise<void> {
    switch (message.tollgate) {
      case 'ping':
        return sendToPrimary({ tollgate: 'pong' })
      case 'report?': {
        const metrics = (await gateway?.metrics.getMetricsAsJSON()) ?? []
        return sendToPrimary({ tollgate: 'report', question: message.question, metrics })
      }
      case 'dead':
        // Without it the others notice the missing heartbeats.
        return gateway?.declareDead(message.processes).catch(() => undefined)
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
        sendToPrimary({ tollgate: 'metrics?', question: questions })
      }),
    serve(serving) {
      gateway = serving
    },
  }
}

export const reportReady = (ready: Ready): void => sendToPrimary({ tollgate: 'ready', ready })

/** Sends the reason why this worker could not start to its primary, which prints it once. */
export async function reportFault(sentence: string): Promise<void> {
  await new Promise<void>(resolve => {
    process.send?.({ tollgate: 'fault', sentence } satisfies ToPrimary, undefined, undefined, () => resolve())
  })
}

function sendToPrimary(message: ToPrimary): void {
  process.send?.(message)
}
