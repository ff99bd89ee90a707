/**
 * Structured logs without card numbers: only the fields listed here are written, never a body or a header, and every
 * finished line passes the card number filter before it leaves the process.
 */
import { type DestinationStream, type Logger, pino } from 'pino'
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import { openStandardOutput } from '#output.ts'

export type { Logger } from 'pino'

/** The allow list. Fields with text, numbers or booleans are copied; everything else is left out. */
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

/** Longer texts are cut, because log lines are for reading. */
const textMax = 2_000
/** A chain of causes deeper than this adds nothing. */
const causesMax = 3

const isPlain = (value: unknown): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'

// Filtered before it is cut, because the last filter would miss a card number that was cut in half.
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
  // The line's own code names the alarm and must not be replaced by the code of the underlying error.
  return { ...kept, ...described, ...(kept.code === undefined ? { code } : { errCode: code }) }
}

export const scrubLines = (out: DestinationStream): DestinationStream => ({
  write: line => out.write(scrubCardNumbers(line)),
})

/** 64 KiB are the lines of some two hundred requests. A system call per line would cost more than formatting it. */
const batchLength = 65_536
/** 100 ms: too short to notice in a log, and the most that a crash of the process can lose. */
const batchMs = 100

/** Writes lines in batches. Errors and the end of the process flush at once. */
export function batchLines(out: DestinationStream & { end?(): void }): DestinationStream {
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
  process.once('exit', () => {
    flush()
    out.end?.()
  })
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

/** Has level error, because alarms may be among the dropped lines. */
const describeDropped = (count: number, worker: number | undefined): string =>
  `{"level":"error"${writeTime()}${worker === undefined ? '' : `,"worker":${worker}`},"count":${count}` +
  ',"code":"LOG_LINES_DROPPED","msg":"lines are missing here: nobody read the log, or it could not be written"}\n'

const standardOutput = ({ worker, onDropped }: Pick<LogOptions, 'worker' | 'onDropped'>): DestinationStream =>
  batchLines(openStandardOutput({ describeDropped: count => describeDropped(count, worker), onDropped }))

let stampedMs = 0
let stamp = ''

/**
 * An ISO text, because the filter could take a timestamp of 13 digits for a card number. Formatted once per
 * millisecond.
 */
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
  /** Defaults to standard output. */
  readonly out?: DestinationStream
  /** The number of this process, if several are behind one port. */
  readonly worker?: number
  /** Called with the number of lines that standard output did not accept. */
  readonly onDropped?: (lines: number) => void
}

export function createLogger(options: LogOptions): Logger {
  const { level, out = standardOutput(options), worker } = options
  const logger = pino(
    {
      level,
      // No process id and host name: the log collector adds the source.
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
