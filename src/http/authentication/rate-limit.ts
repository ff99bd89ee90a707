/**
 * Limits per caller: a bucket of requests per merchant, and a count of failed logins per pair of client and
 * address. Counts of other processes are read within a second (shared-counts.ts).
 */
import type { Merchant } from '#domain/merchant.ts'
import { networkOf } from '#domain/network-address.ts'
import { Refusal } from '#http/answers/refusal.ts'
import { BoundedMap } from '#http/authentication/bounded-map.ts'
import { noOthers, type SharedCounts, toCountKey } from '#http/authentication/shared-counts.ts'

export interface Counting {
  readonly nowMs: () => number
  /** Alone unless given. */
  readonly shared?: SharedCounts | undefined
}

/** 10,000 merchants and devices at once in one process, more than it could serve; a forgotten bucket starts full again. */
const bucketsMax = 10_000
/** 10,000 pairs of 44 characters: a flood of invented clients evicts old pairs instead of filling the memory. */
const pairsMax = 10_000
export interface FailureLimit {
  readonly failures: number
  readonly windowMs: number
}

/** The contract: 10 failures a minute. */
const usualFailures: FailureLimit = { failures: 10, windowMs: 60_000 }

/**
 * 2 s: what other processes can have counted before all of them knew. Counts that arrive later, in a process that was
 * frozen, do not block the merchant for longer.
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
  /** `RateLimit-Policy`: what the limit is. */
  readonly policy: string
  /** `RateLimit`: what is left of it, and in how many seconds it is full again. */
  readonly state: string
}

export interface RateLimit {
  /** With an intent: the part of the merchant's limit that the device of its customer may use. */
  take(merchant: Pick<Merchant, 'merchantId' | 'requestsPerSecond'>, intentId?: string): Quota
}

/** 10: a device that looks, confirms and looks again does not notice it. */
const deviceRequestsMin = 10

/** A tenth: a customer who floods us with the token of one intent must not lock out the merchant and its other customers. */
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
        // This process may have used up its share while others have something left: then nothing is left here.
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
  /** Counts one failure; a refusal when the pair has used up its failures for now. */
  count(client: string, address: string): Refusal | undefined
  /** Whether the pair has used up its failures, without counting one. */
  isOver(client: string, address: string): boolean
}

/** Hashed, so that a client name of any length takes the same few bytes. */
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
