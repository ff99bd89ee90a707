/** How many processes serve, how they leave, and where the console is. */
import { availableParallelism } from 'node:os'

/** What the readers of single variables need. */
interface VariableReader {
  readonly text: (name: string) => string | undefined
  readonly fault: (sentence: string) => void
}

export function readConsolePort({ text, fault }: VariableReader): number | undefined {
  const value = text('TOLLGATE_CONSOLE_PORT')
  if (value === undefined) return undefined
  const port = /^\d{1,5}$/.test(value) ? Number(value) : 0
  if (port >= 1 && port <= 65_535) return port
  fault(`TOLLGATE_CONSOLE_PORT is "${value}", but must be a port from 1 to 65535`)
  return undefined
}

/** 64: a machine with more cores than that deserves more than one gateway. */
const workersMax = 64

export function readWorkers({ text, fault }: VariableReader): number {
  const value = text('TOLLGATE_WORKERS') ?? '1'
  if (value === 'auto') return Math.min(availableParallelism(), workersMax)
  const workers = /^\d{1,2}$/.test(value) ? Number(value) : 0
  if (workers >= 1 && workers <= workersMax) return workers
  fault(`TOLLGATE_WORKERS is "${value}", but must be a whole number from 1 to ${workersMax}, or auto`)
  return 1
}

/** 300 s: the longest that common orchestrators wait before they use force. */
const drainMaxSeconds = 300

export function readDrain({ text, fault }: VariableReader): number {
  const value = text('TOLLGATE_DRAIN_SECONDS') ?? '5'
  const seconds = /^\d{1,3}$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY
  if (seconds <= drainMaxSeconds) return seconds
  fault(`TOLLGATE_DRAIN_SECONDS is "${value}", but must be a whole number from 0 to ${drainMaxSeconds}`)
  return 0
}
