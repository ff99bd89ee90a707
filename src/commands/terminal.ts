/** Colours and a progress bar for terminals. Pipes, files and NO_COLOR get plain text. */
import { once } from 'node:events'
import { styleText } from 'node:util'
import { textAt } from '#domain/json.ts'
import { toVisible } from '#domain/text.ts'

const tones: Readonly<Record<string, 'green' | 'red' | 'yellow'>> = {
  OK: 'green',
  AUTHORIZED: 'green',
  DELIVERED: 'green',
  FAILED: 'red',
  PENDING: 'yellow',
  AUTHORIZE_REQUEST: 'yellow',
  CAPTURE_REQUEST: 'yellow',
}

/** The states of payments, operations and events in their colour; any other word as it is. */
export function paintState(state: string, stream: NodeJS.WriteStream = process.stdout): string {
  const tone = tones[state]
  return tone === undefined || !stream.isTTY ? state : styleText(tone, state, { stream })
}

export const paintQuiet = (text: string, stream: NodeJS.WriteStream = process.stdout): string =>
  stream.isTTY ? styleText('dim', text, { stream }) : text

export const printJson = (value: unknown): void => console.log(JSON.stringify(value))

/**
 * Columns as wide as their widest cell; the first row is the heading. Cells may contain texts of customers and
 * providers.
 */
export function printRows(rows: readonly (readonly string[])[]): void {
  const shown = rows.map(row => row.map(toVisible))
  const widths = shown.reduce<number[]>(
    (known, row) => row.map((cell, index) => Math.max(known[index] ?? 0, cell.length)),
    [],
  )
  for (const row of shown) {
    const cells = row.map((cell, index) => cell.padEnd(widths[index] ?? 0))
    console.log(cells.join('  ').trimEnd())
  }
}

export interface Progress {
  /** Shows the progress, and the total if it is known. */
  advance(done: number, total?: number): void
  /** Clears the line. */
  end(): void
}

/** 24 columns: fits beside the words on the narrowest terminal. */
const barWidth = 24
/** Ten times a second: smooth for the eye, negligible work. */
const drawEveryMs = 100

/** A bar on standard error while something long runs; anything but a terminal gets a line now and then, if one is given. */
export function showProgress(
  what: string,
  {
    stream = process.stderr,
    nowMs = () => performance.now(),
    line,
  }: {
    readonly stream?: Pick<NodeJS.WriteStream, 'isTTY' | 'write'>
    readonly nowMs?: () => number
    readonly line?: (done: number, total?: number) => string
  } = {},
): Progress {
  if (!stream.isTTY)
    return { advance: (...done) => void (line && stream.write(`${line(...done)}\n`)), end: () => {} }
  let drawnAt = Number.NEGATIVE_INFINITY
  return {
    advance(done, total) {
      if (nowMs() - drawnAt < drawEveryMs) return
      drawnAt = nowMs()
      stream.write(`\r\u001b[K${what} ${drawBar(done, total)}`)
    },
    end: () => void stream.write('\r\u001b[K'),
  }
}

function drawBar(done: number, total: number | undefined): string {
  const count = done.toLocaleString('en')
  if (total === undefined || total === 0) return count
  const share = Math.min(1, done / total)
  const full = Math.round(share * barWidth)
  return `[${'#'.repeat(full)}${' '.repeat(barWidth - full)}] ${Math.floor(share * 100)} % (${count} of ${total.toLocaleString('en')})`
}

/** The reader of our output has ended, as with `| head`: the rest is not needed. */
export class ReaderGone extends Error {}

/** What was to be written is incomplete, say because the disk is full. */
export class OutputFault extends Error {}

/** For output of any length: waits for the reader instead of buffering unread output in memory. */
export async function print(text: string): Promise<void> {
  const { errored } = process.stdout
  if (errored) throw toFault(errored)
  if (process.stdout.write(text)) return
  try {
    await once(process.stdout, 'drain')
  } catch (cause) {
    throw toFault(cause)
  }
}

function toFault(cause: unknown): ReaderGone | OutputFault {
  const code = textAt(cause, 'code') ?? 'unknown reason'
  return /^(EPIPE|ECONNRESET)$/.test(code)
    ? new ReaderGone('nobody reads standard output', { cause })
    : new OutputFault(`standard output cannot be written (${code}), so it is not complete`, { cause })
}

/** For commands whose whole work is their output: a reader that ends early, as with `| head`, has what it wanted. */
export async function printExport(pieces: AsyncIterable<string>): Promise<void> {
  try {
    for await (const piece of pieces) await print(piece)
  } catch (error) {
    if (!(error instanceof ReaderGone)) throw error
  }
}

/** A pipe holds 64 KiB: output that still waits for its reader would be lost with the process. */
export async function flushOutput(): Promise<void> {
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>(resolve => stream.write('', () => resolve()))
}
