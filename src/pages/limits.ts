/**
 * Counts what must not happen too often in a while. Against whoever tries out stolen cards on a page: declines are counted
 * by address and by card, and too many close the pages for that one; tries that never reached a provider are our own
 * outages and count for nothing. What other processes counted is heard within a second.
 */
import { noOthers, type SharedCounts, toCountKey } from '#http/authentication/shared-counts.ts'

export interface Limits {
  /** Whether none of these has had too many. */
  allows(keys: readonly string[]): boolean
  count(keys: readonly string[]): void
}

/** 10 minutes: a person who mistyped has long given up or found the mistake by then. */
const windowMs = 600_000
/** 100,000 keys of about 100 bytes: 10 MB at worst; then the memory starts anew, which only forgives. */
const rememberedMax = 100_000

export interface LimitOptions {
  readonly most: number
  readonly nowMs: () => number
  /** Alone unless given. */
  readonly shared?: SharedCounts | undefined
}

export function createLimits({ most, nowMs, shared = noOthers }: LimitOptions): Limits {
  const counted = new Map<string, { count: number; since: number }>()
  const current = (key: string) => {
    const known = counted.get(key)
    return known && nowMs() - known.since < windowMs ? known : undefined
  }
  const add = (key: string, used: number): void => {
    if (counted.size > rememberedMax) counted.clear()
    const { count, since } = current(key) ?? { count: 0, since: nowMs() }
    counted.set(key, { count: count + used, since })
  }
  shared.onOthers(add)
  return {
    allows: keys => keys.every(key => (current(toCountKey(key))?.count ?? 0) < most),
    count(keys) {
      for (const key of keys.map(toCountKey)) {
        add(key, 1)
        shared.note(key)
      }
    },
  }
}
