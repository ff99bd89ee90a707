/** W3C trace ids: the caller's if it is valid, otherwise a new one. No other code reads `traceparent`. */
import { randomFillSync } from 'node:crypto'

export interface Trace {
  readonly traceId: string
  /** The header of the answer: the trace id with our own span id. */
  readonly traceparent: string
}

/** Any version but ff. Versions after 00 may append fields, which the standard tells us to ignore. */
const traceparentForm = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/
const zeroTrace = '0'.repeat(32)
const zeroSpan = '0'.repeat(16)

/** 24 bytes are one trace id and one span id. 512 of them are drawn at once, because each draw costs a system call. */
const bytesEach = 24
const pool = Buffer.alloc(bytesEach * 512)
let drawn = pool.length

function drawHex(): string {
  if (drawn === pool.length) {
    randomFillSync(pool)
    drawn = 0
  }
  const hex = pool.toString('hex', drawn, drawn + bytesEach)
  drawn += bytesEach
  return hex
}

export function readTrace(header: string | readonly string[] | undefined): Trace {
  const fresh = drawHex()
  const span = fresh.slice(32)
  // Node joins repeated headers of this kind into one text, although its types allow a list.
  const given = typeof header === 'string' ? traceparentForm.exec(header) : null
  const givenId = given?.[1]
  if (!given || givenId === undefined || givenId === zeroTrace || given[2] === zeroSpan) {
    const traceId = fresh.slice(0, 32)
    // 00: not sampled, because we keep logs, not spans.
    return { traceId, traceparent: `00-${traceId}-${span}-00` }
  }
  return { traceId: givenId, traceparent: `00-${givenId}-${span}-${given[3]}` }
}
