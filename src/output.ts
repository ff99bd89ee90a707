/**
 * Where the lines of a server leave the process: its log, and what it tells the operator. Writing never waits for a reader:
 * lines that cannot be written at once are kept for a while and then dropped and counted, because output that nobody reads
 * must not hold up payments.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

/** 4 MiB: some ten thousand requests, kept while the log cannot be written. What comes then is dropped. */
const keptBytes = 4_194_304

/** 20 ms: with the 64 KiB of a pipe, a reader that is only slow gets three megabytes a second. */
const retryMs = 20

/** 500 ms at the end of the process, for a reader that is only slow. */
const endMs = 500

/** 4 KiB, PIPE_BUF of Linux: a pipe takes so much whole or not at all, and nothing of other processes in between. */
const wholeBytes = 4_096

const newline = 10

/** Writes all or a part, and returns how many bytes. */
type WriteBytes = (bytes: Buffer) => number

export interface Output {
  /** Whole lines. */
  write(lines: string): void
  /** Writes what still waits; returns after half a second at most. */
  end(): void
}

interface OutputOptions {
  /** The line that stands where lines are missing. */
  readonly describeDropped?: (lines: number) => string
  readonly onDropped?: (lines: number) => void
  /** The most to write at once, as long as lines are not longer than this. */
  readonly partBytes?: number
}

/**
 * Lines that wait. Once some had to be dropped, all are until the kept ones are written: what is missing is missing in one
 * place, and a line there says how much it is.
 */
class WaitingLines {
  readonly #options: OutputOptions
  #waiting: Buffer[] = []
  #bytes = 0
  #dropped = 0

  constructor(options: OutputOptions) {
    this.#options = options
  }

  add(lines: string): void {
    if (this.#dropped === 0 && this.#bytes < keptBytes) {
      this.#keep(lines)
      return
    }
    const count = countLines(lines)
    this.#dropped += count
    this.#options.onDropped?.(count)
  }

  /** Throws what `writeBytes` throws; what it did not take goes on waiting. */
  writeAll(writeBytes: WriteBytes): void {
    const { describeDropped = () => '', partBytes } = this.#options
    for (let [first] = this.#waiting; first; [first] = this.#waiting) {
      const written = writeBytes(cutPart(first, partBytes))
      this.#bytes -= written
      if (written < first.length) this.#waiting[0] = first.subarray(written)
      else this.#waiting.shift()
      if (this.#waiting.length > 0 || this.#dropped === 0) continue
      this.#keep(describeDropped(this.#dropped))
      this.#dropped = 0
    }
  }

  #keep(lines: string): void {
    const bytes = Buffer.from(lines)
    this.#waiting.push(bytes)
    this.#bytes += bytes.length
  }
}

export function openOutput(
  writeBytes: WriteBytes,
  onFault: (error: unknown) => void,
  options: OutputOptions = {},
): Output {
  let waiting = new WaitingLines(options)
  let state: 'open' | 'stalled' | 'broken' | 'gone' = 'open'
  let timer: NodeJS.Timeout | undefined

  function tryToWrite(): void {
    clearTimeout(timer)
    try {
      waiting.writeAll(writeBytes)
      state = 'open'
    } catch (error) {
      const before = state
      state = faultOf(error)
      if (state === 'broken' && before !== 'broken') onFault(error)
      if (state === 'gone') waiting = new WaitingLines(options)
      else timer = setTimeout(tryToWrite, retryMs).unref()
    }
  }

  return {
    write(lines) {
      if (state === 'gone') return
      waiting.add(lines)
      tryToWrite()
    },
    end() {
      const begunAt = performance.now()
      while (state === 'stalled' && performance.now() - begunAt < endMs) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs)
        tryToWrite()
      }
    },
  }
}

/** EAGAIN: the pipe is full; a reader that is slow for a moment needs no complaint. EPIPE: the reader has ended. */
function faultOf(error: unknown): 'stalled' | 'broken' | 'gone' {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EPIPE') return 'gone'
  return code === 'EAGAIN' ? 'stalled' : 'broken'
}

function countLines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

/** The longest beginning that ends with a line; of a longer line, a piece. */
function cutPart(bytes: Buffer, most = Number.POSITIVE_INFINITY): Buffer {
  if (bytes.length <= most) return bytes
  const end = bytes.lastIndexOf(newline, most - 1)
  return bytes.subarray(0, end < 0 ? most : end + 1)
}

type Standard = 1 | 2
const [standardOutput, standardError]: readonly [Standard, Standard] = [1, 2]

export function openStandardOutput(options: OutputOptions = {}): Output {
  const { writeBytes, partBytes } = openDescriptor(standardOutput)
  const reportFault = (error: unknown): void =>
    tellOperator(`tollgate: the log cannot be written (${String(error)}); serving goes on`)
  return openOutput(writeBytes, reportFault, { ...options, partBytes })
}

let told: Output | undefined

/** What a server says on standard error. `console.error` would wait for the reader. */
export function tellOperator(line: string): void {
  if (told === undefined) {
    const { writeBytes, partBytes } = openDescriptor(standardError)
    // Nobody can be told that nobody can be told anything.
    told = openOutput(writeBytes, () => undefined, { partBytes })
    process.once('exit', told.end)
  }
  told.write(`${line}\n`)
}

interface Descriptor {
  readonly writeBytes: WriteBytes
  readonly partBytes?: number
}

/** Each is opened once in a process. */
const opened = new Map<Standard, Descriptor>()

function openDescriptor(standard: Standard): Descriptor {
  const descriptor = opened.get(standard) ?? openOwn(standard)
  opened.set(standard, descriptor)
  return descriptor
}

/**
 * A write to a full pipe or to a stopped terminal blocks the process unless the descriptor is non-blocking. That is a
 * property of the open file, which other processes share and change: starting a process makes what it inherits blocking
 * again. So we open pipes and terminals once more, for ourselves.
 */
function openOwn(standard: Standard): Descriptor {
  const kind = fstatSync(standard)
  if (!kind.isFIFO() && !kind.isSocket() && !isatty(standard))
    return { writeBytes: bytes => writeSync(standard, bytes) }
  try {
    const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
    const own = openSync(`/proc/self/fd/${standard}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
    return { writeBytes: bytes => writeSync(own, bytes), partBytes: wholeBytes }
  } catch {
    // A socket, which cannot be opened, a pipe of another user, or a system without /proc.
    return { writeBytes: bytes => writeWithoutBlocking(standard, bytes), partBytes: wholeBytes }
  }
}

function writeWithoutBlocking(standard: Standard, bytes: Buffer): number {
  const stream = standard === standardOutput ? process.stdout : process.stderr
  // Node offers this for its own streams only, and of a terminal its stream has a descriptor of its own.
  const { _handle: handle, isTTY } = stream as NodeJS.WriteStream & {
    readonly _handle?: { setBlocking?(isBlocking: boolean): unknown }
  }
  if (!isTTY) handle?.setBlocking?.(false)
  return writeSync(standard, bytes)
}
