/**
 * Rate limits: a token bucket of requests per merchant, and a count of failed logins per pair of client and address.
 * Counts of other processes arrive within a second (shared-counts.ts).
 */
import type { Merchant } from '#domain/merchant.ts'
import { networkOf } from '#domain/network-address.ts'
import { Refusal } from '#http/answers/refusal.ts'
import { BoundedMap } from '#http/authentication/bounded-map.ts'
import { noOthers, type SharedCounts, toCountKey } from '#http/authentication/shared-counts.ts'

export interface Counting {
  readonly nowMs: () => number
  /** The counts of other processes. Absent: this process is the only one. */
  readonly shared?: SharedCounts | undefined
}

/** 10,000 merchants and devices, more than one process can serve at once. An evicted bucket starts full again. */
const bucketsMax = 10_000
/** 10,000 pairs of 44 characters: a flood of made-up clients evicts old pairs instead of filling the memory. */
const pairsMax = 10_000
export interface FailureLimit {
  readonly failures: number
  readonly windowMs: number
}

/** The limit of the API contract: 10 failures a minute. */
const usualFailures: FailureLimit = { failures: 10, windowMs: 60_000 }

/**
 * 2 s: the most that other processes can have counted before all of them knew. Counts that arrive later, because this
 * process was frozen, do not block the merchant for longer.
 */
const debtSeconds = 2

interface Bucket {
  readonly rate: number
  readonly policy: string
  level: number
  filledAtMs: number
}

export interface Quota {
  readonly allowed: boolean
  /** The header `RateLimit-Policy`: the limit. */
  readonly policy: string
  /** The header `RateLimit`: the requests left, and the seconds until the limit is full again. */
  readonly state: string
}

export interface RateLimit {
  /** With an intent: the share of the merchant's limit that the customer's device may use. */
  take(merchant: Pick<Merchant, 'merchantId' | 'requestsPerSecond'>, intentId?: string): Quota
}

/** 10 requests a second: far more than an app needs to read and confirm an intent. */
const deviceRequestsMin = 10

/** A tenth: a customer who floods us with an intent's token must not lock out the merchant and its other customers. */
const deviceShare = (rate: number): number =>
  Math.min(rate, Math.max(deviceRequestsMin, Math.floor(rate / 10)))

export function createRateLimit({ nowMs, shared = noOthers }: Counting): RateLimit {
  const buckets = new BoundedMap<string, Bucket>(bucketsMax)
  shared.onOthers((owner, used) => {
    const bucket = buckets.get(owner)
    if (bucket) bucket.level = Math.max(-debtSeconds * bucket.rate, bucket.level - used)
  })
  return {
    take({ merchantId, requestsPerSecond }, intentId) {
      const now = nowMs()
      const isDevice = intentId !== undefined
      const owner = isDevice ? toCountKey(`${merchantId} ${intentId}`) : merchantId
      const name = isDevice ? '"payment-intent"' : '"merchant"'
      const rate = isDevice ? deviceShare(requestsPerSecond) : requestsPerSecond
      let bucket = buckets.get(owner)
      if (bucket === undefined || bucket.rate !== rate) {
        bucket = { rate, policy: `${name};q=${rate};w=1`, level: rate, filledAtMs: now }
        buckets.set(owner, bucket)
      }
      // A clock that was set back must not empty the bucket.
      const elapsedMs = Math.max(0, now - bucket.filledAtMs)
      bucket.level = Math.min(bucket.rate, bucket.level + (elapsedMs * bucket.rate) / 1000)
      bucket.filledAtMs = now
      const allowed =
        bucket.level >= 1 && shared.hasShare(owner, { limit: bucket.rate, known: bucket.rate - bucket.level })
      if (allowed) {
        bucket.level -= 1
        shared.note(owner)
      }
      // The bucket holds one second's worth, so it is full again after a second at most.
      return {
        allowed,
        policy: bucket.policy,
        // If this process has used up its share, nothing is left here, even if other processes have some left.
        state: `${name};r=${allowed ? Math.floor(bucket.level) : 0};t=1`,
      }
    },
  }
}

export const refuseRate = (quota: Quota): Refusal =>
  new Refusal('tooMany', 'More requests per second were sent than the limit allows. Nothing was done.', {
    headers: { 'retry-after': '1', ratelimit: quota.state, 'ratelimit-policy': quota.policy },
  })

export interface FailedLogins {
  /** Counts one failure. Returns a refusal if the pair has reached the limit. */
  count(client: string, address: string): Refusal | undefined
  /** Whether the pair has reached the limit, without counting a failure. */
  isOver(client: string, address: string): boolean
}

/** Hashed, so that client names of any length take the same few bytes. */
const toPair = (client: string, address: string): string => toCountKey(`${networkOf(address)}\n${client}`)

export function createFailedLogins(
  { nowMs, shared = noOthers }: Counting,
  limit: Partial<FailureLimit> = {},
): FailedLogins {
  const { failures: failuresMax, windowMs } = { ...usualFailures, ...limit }
  const pairs = new BoundedMap<string, { count: number; endsAtMs: number }>(pairsMax)
  shared.onOthers((pair, used) => {
    const window = pairs.get(pair)
    if (window && window.endsAtMs > nowMs()) window.count += used
    else pairs.set(pair, { count: used, endsAtMs: nowMs() + windowMs })
  })
  return {
    count(client, address) {
      const pair = toPair(client, address)
      const now = nowMs()
      let window = pairs.get(pair)
      if (window === undefined || window.endsAtMs <= now) {
        window = { count: 0, endsAtMs: now + windowMs }
        pairs.set(pair, window)
      }
      const hasShare = shared.hasShare(pair, { limit: failuresMax, known: window.count })
      window.count++
      shared.note(pair)
      if (window.count <= failuresMax && hasShare) return undefined
      const seconds = Math.min(windowMs / 1000, Math.ceil((window.endsAtMs - now) / 1000))
      return new Refusal('tooMany', 'Too many failed logins of this client from this address.', {
        headers: {
          'retry-after': String(seconds),
          ratelimit: `"failed-logins";r=0;t=${seconds}`,
          'ratelimit-policy': `"failed-logins";q=${failuresMax};w=${windowMs / 1000}`,
        },
      })
    },
    isOver(client, address) {
      const window = pairs.get(toPair(client, address))
      return window !== undefined && window.endsAtMs > nowMs() && window.count >= failuresMax
    },
  }
}
