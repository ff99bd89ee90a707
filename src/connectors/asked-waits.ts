/**
 * How long a provider wants to be left alone. Every exchange of an account passes here, so that connectors need not know of
 * it: 429 and 503 with `Retry-After` are noted, and the engine looks before it asks again. It is known to this process alone; another
 * one is told by the provider itself.
 */
import type { HttpAnswer, ProviderHttp } from '#connectors/contract.ts'
import { parseRetryAfter } from '#domain/time/dates.ts'

const secondMs = 1_000
const hourMs = 3_600 * secondMs

/** 1 s, where the provider says that it is too much and not for how long: limits are per second as a rule. */
const unspecifiedMs = secondMs

/** An hour: what waits for the provider, such as a give-back, should not be forgotten there. */
const longestMs = hourMs

/** More than a day is a mistake or mischief, and counts as not said. */
const absurdMs = 24 * hourMs

export interface AskedWaits {
  readonly http: ProviderHttp
  /** Milliseconds from now on; 0: the provider may be asked. */
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
