/** Settings of the worker processes, their shutdown, the console and the cells. */
import { availableParallelism } from 'node:os'
import { defaultPort } from '#config/network.ts'
import { Secret } from '#domain/secret.ts'

/** The part of the reader in `src/config.ts` that is needed here. */
interface VariableReader {
  readonly text: (name: string) => string | undefined
  readonly fault: (sentence: string) => void
  readonly secret: (name: string) => { readonly text: string; readonly origin: string } | undefined
}

export function readConsolePort({ text, fault }: VariableReader): number | undefined {
  const value = text('TOLLGATE_CONSOLE_PORT')
  if (value === undefined) return undefined
  const port = /^\d{1,5}$/.test(value) ? Number(value) : 0
  if (port >= 1 && port === Number(text('PORT') ?? defaultPort)) {
    fault(`TOLLGATE_CONSOLE_PORT is ${port}, the port of the API: leave it out to serve the console there`)
    return undefined
  }
  if (port >= 1 && port <= 65_535) return port
  fault(`TOLLGATE_CONSOLE_PORT is "${value}", but must be a port from 1 to 65535`)
  return undefined
}

/** 64: a machine with more cores should run more than one gateway. */
const workersMax = 64

export function readWorkers({ text, fault }: VariableReader): number {
  const value = text('TOLLGATE_WORKERS') ?? '1'
  if (value === 'auto') return Math.min(availableParallelism(), workersMax)
  const workers = /^\d{1,2}$/.test(value) ? Number(value) : 0
  if (workers >= 1 && workers <= workersMax) return workers
  fault(`TOLLGATE_WORKERS is "${value}", but must be a whole number from 1 to ${workersMax}, or auto`)
  return 1
}

/** 300 s: the longest that common orchestrators wait before they kill a process. */
const drainMaxSeconds = 300

export function readDrain({ text, fault }: VariableReader): number {
  const value = text('TOLLGATE_DRAIN_SECONDS') ?? '5'
  const seconds = /^\d{1,3}$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY
  if (seconds <= drainMaxSeconds) return seconds
  fault(`TOLLGATE_DRAIN_SECONDS is "${value}", but must be a whole number from 0 to ${drainMaxSeconds}`)
  return 0
}

/** 100: the most that the design covers; see docs/cells.md. */
const cellsMax = 100

export function readCells({ text, fault }: VariableReader): number {
  const value = text('TOLLGATE_CELLS') ?? '1'
  const cells = /^\d{1,3}$/.test(value) ? Number(value) : 0
  if (cells >= 1 && cells <= cellsMax) return cells
  fault(`TOLLGATE_CELLS is "${value}", but must be a whole number from 1 to ${cellsMax}`)
  return 1
}

export function readCellUrls({ secret, fault }: VariableReader): readonly Secret<string>[] {
  const given = secret('TOLLGATE_CELL_URLS')
  const urls = given?.text.split(/[\s,]+/).filter(url => url !== '') ?? []
  const isAddress = (url: string): boolean =>
    /^postgres(ql)?:\/\//.test(url) && URL.canParse(url.replace('@/', '@localhost/'))
  if (!urls.every(isAddress)) {
    fault(
      `${given?.origin} must hold addresses such as postgres://user:password@host:5432/database, with commas between ` +
        '(what it holds is not shown, as it may contain a password)',
    )
  }
  return urls.map(url => new Secret(url))
}
