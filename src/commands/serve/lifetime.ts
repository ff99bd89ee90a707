/**
 * When a serving process should stop: after a signal, because npm has ended, or because its database is gone. It only
 * reports; the server itself stops in order.
 */
import { constants } from 'node:os'
import { setImmediate } from 'node:timers/promises'

export interface Ending {
  /** What went wrong; absent when the stop was requested. */
  readonly fault?: string
  /** After SIGTERM a load balancer still sends traffic for a moment; it is served until then. */
  readonly drains?: boolean
}

export interface Lifetime {
  readonly ended: Promise<Ending>
  isEnding(): boolean
  end(ending: Ending): void
  /** Stops watching. */
  release(): void
}

/** The watched process: the real one, or a test double with controlled time and signals. */
export interface WatchedProcess {
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown
  exit(code: number): void
}

export interface LifetimeOptions {
  readonly watched: WatchedProcess
  /** Names the process that started this one and should outlive it; absent when there is none. */
  readonly identifyParent?: () => string
  readonly nowMs: () => number
  readonly every: (milliseconds: number, look: () => void) => () => void
}

/** SIGHUP: the terminal was closed. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const

/** 1 s: Ctrl-C comes twice, from the terminal and passed on by npm; the duplicate does not count as a second one. */
const echoMs = 1_000

/** 100 ms: npm may be started again right after it was stopped, and a check costs a few microseconds. */
const parentPollMs = 100

export function watchLifetime({ watched, identifyParent, nowMs, every }: LifetimeOptions): Lifetime {
  const { promise, resolve } = Promise.withResolvers<Ending>()
  let ending = false
  let first: { signal: NodeJS.Signals; atMs: number } | undefined

  const end = (how: Ending) => {
    ending = true
    resolve(how)
  }
  const onSignal = (signal: NodeJS.Signals) => {
    if (first === undefined) {
      first = { signal, atMs: nowMs() }
      end({ drains: signal === 'SIGTERM' })
    } else if (signal !== first.signal || nowMs() - first.atMs >= echoMs) {
      // As a shell reports it: 128 and the signal's number.
      watched.exit(128 + constants.signals[signal])
    }
  }
  for (const signal of signals) watched.on(signal, onSignal)

  const stopPolling = identifyParent ? watchParent(identifyParent, every, () => end({})) : () => {}

  return {
    ended: promise,
    isEnding: () => ending,
    end,
    release() {
      stopPolling()
      for (const signal of signals) watched.off(signal, onSignal)
    },
  }
}

/** How the process ends: as it was asked to, or because the start failed. */
export async function waitForEnd(
  starting: Promise<void>,
  { ended, isEnding }: Pick<Lifetime, 'ended' | 'isEnding'>,
): Promise<{ readonly failure?: unknown; readonly ending: Ending }> {
  try {
    return { ending: await Promise.race([starting.then(() => ended), ended]) }
  } catch (failure) {
    // Ctrl-C also ends the programs that create the database. We wait for these without a turn of the event loop, so we
    // hear of their failure first and of the signal in the next turn.
    await setImmediate()
    return isEnding() ? { ending: await ended } : { failure, ending: {} }
  }
}

function watchParent(
  identify: () => string,
  every: LifetimeOptions['every'],
  onGone: () => void,
): () => void {
  const parent = identify()
  return every(parentPollMs, () => {
    if (identify() !== parent) onGone()
  })
}
