/**
 * Structured logs without card numbers: only the fields named here are written, never a body or a header, and
 * every finished line passes the card number filter before it leaves the process.
 */
import { writeSync } from 'node:fs'
import { type DestinationStream, type Logger, pino } from 'pino'
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'

export type { Logger } from 'pino'

/** Copied as they are when they are text, numbers or booleans; everything else a caller passes is left out. */
const allowedFields: ReadonlySet<string> = new Set([
  'traceId',
  'verb',
  'route',
  'status',
  'durationMs',
  'merchantId',
  'payId',
  'xId',
  'eventId',
  'endpointId',
  'operationId',
  'environment',
  'component',
  'connector',
  'worker',
  'outcome',
  'code',
  'count',
  'attempt',
  'delayMs',
  'port',
  'address',
  'claimedMerchantId',
  'signal',
  'version',
  'reason',
  'auditNumber',
  'auditHash',
])

/** Longer texts are cut: a log line is for reading. */
const textMax = 2_000
/** A chain of causes deeper than this adds nothing. */
const causesMax = 3

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

// Filtered before it is cut, because a cut could turn a card number into half of one, which passes the last filter.
const cutText = (text: string): string =>
  text.length <= textMax ? text : scrubCardNumbers(text).slice(0, textMax)

function describeError(error: Error): Record<string, string> {
  const code = 'code' in error ? error.code : undefined
  const causes: string[] = []
  for (let cause = error.cause; cause instanceof Error && causes.length < causesMax; cause = cause.cause) {
    causes.push(`${cause.name}: ${cause.message}`)
  }
  return {
    errName: cutText(error.name),
    errMessage: cutText(error.message),
    ...(isPlain(code) ? { code: cutText(String(code)) } : {}),
    ...(error.stack === undefined ? {} : { stack: cutText(error.stack) }),
    ...(causes.length > 0 ? { causes: cutText(causes.join(' ← ')) } : {}),
  }
}

export function keepAllowedFields(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const kept: Record<string, unknown> = {}
  for (const field in given) {
    const value = given[field]
    if (isPlain(value) && allowedFields.has(field))
      kept[field] = typeof value === 'string' ? cutText(value) : value
  }
  const error = given.err ?? given.error
  if (!(error instanceof Error)) return kept
  const { code, ...described } = describeError(error)
  if (code === undefined) return { ...kept, ...described }
  // The line's own code names the alarm; that of the underlying error must not replace it.
  return { ...kept, ...described, ...(kept.code === undefined ? { code } : { errCode: code }) }
}

export const scrubLines = (out: DestinationStream): DestinationStream => ({
  write: line => out.write(scrubCardNumbers(line)),
})

/** 64 KiB of lines are some two hundred requests: a system call for each line would cost more than formatting it. */
const batchLength = 65_536
/** 100 ms: nobody watching the log notices, and a crash of the whole process loses no more. */
const batchMs = 100

/** Writes lines together; an error, and the end of the process, write at once. */
export function batchLines(out: DestinationStream): DestinationStream {
  let waiting: string[] = []
  let length = 0
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (waiting.length === 0) return
    const text = waiting.join('')
    waiting = []
    length = 0
    out.write(text)
  }
  process.once('exit', flush)
  return {
    write(line) {
      waiting.push(line)
      length += line.length
      if (length >= batchLength || urgent.test(line)) flush()
      else timer ??= setTimeout(flush, batchMs).unref()
    },
  }
}

const urgent = /^\{"level":"(?:error|fatal)"/

/** 4 MiB: some ten thousand requests, kept while the log cannot be written. What comes then is dropped. */
const keptBytes = 4_194_304
/** 100 ms: a moment for a reader that does not keep up. */
const pauseMs = 100

/** Writes all or a part, and returns how many bytes. */
type WriteBytes = (bytes: Buffer) => number

/**
 * Lines that cannot be written, for example because the disk is full, must not end a gateway that takes payments: they are
 * kept for a while and written with the next ones.
 */
export function openOutput(writeBytes: WriteBytes, onFault: (error: unknown) => void): DestinationStream {
  let waiting = Buffer.alloc(0)
  let isBroken = false
  let isGone = false
  return {
    write(text) {
      if (isGone) return
      const bytes = waiting.length < keptBytes ? Buffer.concat([waiting, Buffer.from(text)]) : waiting
      let written = 0
      try {
        while (written < bytes.length) written += writeOrPause(bytes.subarray(written), writeBytes)
        isBroken = false
      } catch (error) {
        isGone = codeOf(error) === 'EPIPE'
        if (!isBroken && !isGone) onFault(error)
        isBroken = true
      }
      waiting = isGone ? Buffer.alloc(0) : bytes.subarray(written)
    },
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

function writeOrPause(bytes: Buffer, writeBytes: WriteBytes): number {
  try {
    return writeBytes(bytes)
  } catch (error) {
    if (codeOf(error) !== 'EAGAIN') throw error
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
    return 0
  }
}

/** Synchronous: the process is about to end. */
const standardOutput = () =>
  batchLines(
    openOutput(
      bytes => writeSync(1, bytes),
      error =>
        process.stderr.write(`tollgate: the log cannot be written (${String(error)}); serving goes on\n`),
    ),
  )

let stampedMs = 0
let stamp = ''

/** As text: the filter could take thirteen digits in a row for a card number. Formatted once per millisecond. */
function writeTime(): string {
  const now = Date.now()
  if (now !== stampedMs) {
    stampedMs = now
    stamp = `,"time":"${new Date(now).toISOString()}"`
  }
  return stamp
}

export interface LogOptions {
  readonly level: string
  /** Standard output unless given. */
  readonly out?: DestinationStream
  /** Which of several processes behind one port writes this. */
  readonly worker?: number
}

export function createLogger({ level, out = standardOutput(), worker }: LogOptions): Logger {
  const logger = pino(
    {
      level,
      // No process id and host name: the log collector knows where the lines come from.
      base: null,
      timestamp: writeTime,
      formatters: {
        level: label => ({ level: label }),
        bindings: keepAllowedFields,
        log: keepAllowedFields,
      },
      // Errors are described above, field by field.
      serializers: {},
    },
    scrubLines(out),
  )
  return worker === undefined ? logger : logger.child({ worker })
}
