/**
 * Remembers how long a provider asked us to wait. All HTTP exchanges of an account pass through here, so connectors
 * need not handle it: `Retry-After` of 429 and 503 is noted, and the engine checks it before the next call. Each
 * process keeps its own note and learns it from the provider.
 */
import type { HttpAnswer, ProviderHttp } from '#connectors/contract.ts'
import { parseRetryAfter } from '#domain/time/dates.ts'

const secondMs = 1_000
const hourMs = 3_600 * secondMs

/** 1 s for a 429 without `Retry-After`: rate limits are usually per second. */
const unspecifiedMs = secondMs

/** The longest wait, 1 h: work that waits for the provider, such as giving late money back, must go on. */
const longestMs = hourMs

/** More than a day is a mistake or abuse and is ignored. */
const absurdMs = 24 * hourMs

export interface AskedWaits {
  readonly http: ProviderHttp
  /** The milliseconds left to wait; 0: the provider may be called. */
  readonly waitMs: () => number
}

/** `nowMs` measures the wait; dates in the header are compared with the real time. */
export function noteWaits(
  http: ProviderHttp,
  { nowMs, realMs }: { readonly nowMs: () => number; readonly realMs: () => number },
): AskedWaits {
  let untilMs = 0
  return {
    http: {
      async exchange(request, signal) {
        const answer = await http.exchange(request, signal)
        const waitMs = waitOf(answer, realMs())
        if (waitMs > 0) untilMs = Math.max(untilMs, nowMs() + waitMs)
        return answer
      },
    },
    waitMs: () => Math.max(untilMs - nowMs(), 0),
  }
}

function waitOf(answer: HttpAnswer, realMs: number): number {
  if (answer.kind !== 'answered') return 0
  const { status, headers } = answer
  if (status !== 429 && status !== 503) return 0
  const said = parseRetryAfter(headers['retry-after'], realMs)
  if (said !== undefined && said <= absurdMs) return Math.min(said, longestMs)
  return status === 429 ? unspecifiedMs : 0
}
