/** Decides when a delivery is retried and when it has failed. Pure: the caller passes the time and a random number. */
import { parseRetryAfter } from '#domain/time/dates.ts'

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** The contract's pauses after the first, second, … attempt: 75.6 hours in all. */
export const pausesMs: readonly number[] = [
  5 * secondMs,
  5 * minuteMs,
  30 * minuteMs,
  2 * hourMs,
  5 * hourMs,
  10 * hourMs,
  14 * hourMs,
  20 * hourMs,
  24 * hourMs,
]

/** 10 %: enough to spread the retries to a receiver that has recovered. */
const jitter = 0.1

/** 24 h, our longest pause: a receiver may slow us down, but not postpone a message for ever. */
const retryAfterMaxMs = 24 * hourMs

/** The status for an address that is permanently gone. */
const gone = 410

export interface Attempted {
  /** Undefined if there was no answer. */
  readonly status: number | undefined
  /** The raw header. */
  readonly retryAfter: string | undefined
  /** The number of attempts in this round, including this one. */
  readonly tries: number
}

export type Verdict =
  | { readonly status: 'DELIVERED' | 'FAILED' }
  | { readonly status: 'PENDING'; readonly pauseMs: number }

export const isTaken = (status: number | undefined): boolean =>
  status !== undefined && status >= 200 && status < 300

/** `chance` lies between 0 and 1; `nowMs` is real time, because dates in answers are real time. */
export function decideNext(
  { status, retryAfter, tries }: Attempted,
  { chance, nowMs }: { chance: number; nowMs: number },
): Verdict {
  if (isTaken(status)) return { status: 'DELIVERED' }
  const pauseMs = pausesMs[tries - 1]
  if (status === gone || pauseMs === undefined) return { status: 'FAILED' }
  const jittered = Math.round(pauseMs * (1 + jitter * (2 * chance - 1)))
  // A shorter time than our own pause changes nothing: the header is a minimum.
  return { status: 'PENDING', pauseMs: Math.max(jittered, readRetryAfter(retryAfter, nowMs)) }
}

/** Seconds or an HTTP date; 0 for anything else. */
export const readRetryAfter = (header: string | undefined, nowMs: number): number =>
  Math.min(parseRetryAfter(header, nowMs) ?? 0, retryAfterMaxMs)
