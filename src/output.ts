/**
 * Writes a server's log and its messages to the operator. Writing never blocks: lines that cannot be written at once
 * are buffered, and beyond a limit dropped and counted, because a log without a reader must not hold up payments.
 */
import { constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'

/** 4 MiB: the log of some ten thousand requests, buffered while it cannot be written. Further lines are dropped. */
const keptBytes = 4_194_304

/** 20 ms: with a pipe of 64 KiB, a slow reader gets three megabytes a second. */
const retryMs = 20

/** 500 ms: how long the end of the process waits for a slow reader. */
const endMs = 500

/**
 * 4 KiB, PIPE_BUF of Linux: a pipe takes a write of this size atomically, so lines of other processes never split it.
 */
const wholeBytes = 4_096

const newline = 10

/** Writes all bytes or some of them, and returns how many. */
type WriteBytes = (bytes: Buffer) => number

export interface Output {
  /** `lines` must be whole lines. */
  write(lines: string): void
  /** Writes the buffered lines; returns after half a second at most. */
  end(): void
}

interface OutputOptions {
  /** Makes the line that replaces dropped lines. */
  readonly describeDropped?: (lines: number) => string
  readonly onDropped?: (lines: number) => void
  /** The most bytes to write at once. Parts end at a line break unless a line is longer. */
  readonly partBytes?: number
}

/**
 * The buffered lines. Once lines are dropped, all further ones are, until the buffer is written: so lines are missing
 * in one place only, and a line there says how many.
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

  /** Throws the errors of `writeBytes`; bytes that it did not take stay in the buffer. */
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

/** EAGAIN: the pipe is full, which a slow reader causes and which is not reported. EPIPE: the reader has ended. */
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

/** The longest prefix that ends with a line break; if the first line is longer than `most`, a part of it. */
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

/** Writes a server's message to standard error. `console.error` would block on the reader. */
export function tellOperator(line: string): void {
  if (told === undefined) {
    const { writeBytes, partBytes } = openDescriptor(standardError)
    // If standard error cannot be written, there is nowhere left to report that.
    told = openOutput(writeBytes, () => undefined, { partBytes })
    process.once('exit', told.end)
  }
  told.write(`${line}\n`)
}

interface Descriptor {
  readonly writeBytes: WriteBytes
  readonly partBytes?: number
}

/** Each descriptor is opened once per process. */
const opened = new Map<Standard, Descriptor>()

function openDescriptor(standard: Standard): Descriptor {
  const descriptor = opened.get(standard) ?? openOwn(standard)
  opened.set(standard, descriptor)
  return descriptor
}

/**
 * A write to a full pipe or to a stopped terminal blocks the process unless the descriptor is non-blocking. That flag
 * belongs to the open file description, which other processes share and change: starting a process makes the
 * descriptors it inherits blocking again. So we open pipes and terminals a second time, for ourselves.
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
    // A socket, which cannot be opened this way, a pipe of another user, or a system without /proc.
    return { writeBytes: bytes => writeWithoutBlocking(standard, bytes), partBytes: wholeBytes }
  }
}

function writeWithoutBlocking(standard: Standard, bytes: Buffer): number {
  const stream = standard === standardOutput ? process.stdout : process.stderr
  // Node offers setBlocking for its own streams only, and for a terminal its stream uses a separate descriptor.
  const { _handle: handle, isTTY } = stream as NodeJS.WriteStream & {
    readonly _handle?: { setBlocking?(isBlocking: boolean): unknown }
  }
  if (!isTTY) handle?.setBlocking?.(false)
  return writeSync(standard, bytes)
}
