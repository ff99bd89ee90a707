/**
 * Structured logs without card numbers: only the fields named here are written, never a body or a header, and
 * every finished line passes the card number filter before it leaves the process.
 */
import { type DestinationStream, type Logger, pino } from 'pino'
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import { openStandardOutput } from '#output.ts'

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

/** Of level error, because alarms may be among the lines that are missing. */
const describeDropped = (count: number, worker: number | undefined): string =>
  `{"level":"error"${writeTime()}${worker === undefined ? '' : `,"worker":${worker}`},"count":${count}` +
  ',"code":"LOG_LINES_DROPPED","msg":"lines are missing here: nobody read the log, or it could not be written"}\n'

const standardOutput = ({ worker, onDropped }: Pick<LogOptions, 'worker' | 'onDropped'>): DestinationStream =>
  batchLines(openStandardOutput({ describeDropped: count => describeDropped(count, worker), onDropped }))

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
  /** Counts lines that standard output did not take. */
  readonly onDropped?: (lines: number) => void
}

export function createLogger(options: LogOptions): Logger {
  const { level, out = standardOutput(options), worker } = options
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
