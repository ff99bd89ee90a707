/**
 * A helper process with one conversation: the bench sends a job, the peer does it alone and answers. Load generator and
 * driver loop are peers, so that neither shares a thread with what is measured.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface Peer<Job, Result> {
  run(job: Job): Promise<Result>
  stop(): void
}

interface Reply<Result> {
  readonly result?: Result
  readonly fault?: string
}

export function startPeer<Job, Result>(file: string): Peer<Job, Result> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)))
  return {
    run(job) {
      const { promise, resolve, reject } = Promise.withResolvers<Result>()
      const onExit = () => reject(new Error(`${file} ended in the middle of its work`))
      child.once('exit', onExit)
      child.once('message', message => {
        child.off('exit', onExit)
        const { result, fault } = message as Reply<Result>
        if (result === undefined) reject(new Error(`${file}: ${fault}`))
        else resolve(result)
      })
      child.send(job as object)
      return promise
    },
    stop: () => void child.disconnect(),
  }
}

/** The peer's side. It ends when the bench does. */
export function answerJobs<Job, Result>(work: (job: Job) => Promise<Result>): void {
  process.on('message', (job: Job) => {
    work(job).then(
      result => reply({ result }),
      (error: Error) => reply({ fault: error.stack ?? error.message }),
    )
  })
  process.once('disconnect', () => process.exit(0))
}

/** The bench may have ended: then the reply is dropped. */
const reply = (message: Reply<unknown>): void => {
  if (process.connected) process.send?.(message)
}

/** Processor time of this process, as cores. */
export function meterOwnCores(): () => number {
  const begun = performance.now()
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000 / (performance.now() - begun)
  }
}
