/**
 * Counts what must not happen too often in a while. Against whoever tries out stolen cards on a page: declines are counted
 * by address and by card, and too many close the pages for that one; tries that never reached a provider are our own
 * outages and count for nothing. Counted per process; the payment itself ends after ten declines, in every process.
 */

export interface Limits {
  /** Whether none of these has had too many. */
  allows(keys: readonly string[]): boolean
  count(keys: readonly string[]): void
}

/** 10 minutes: a person who mistyped has long given up or found the mistake by then. */
const windowMs = 600_000
/** 100,000 keys of about 100 bytes: 10 MB at worst; then the memory starts anew, which only forgives. */
const rememberedMax = 100_000

export function createLimits({ most, nowMs }: { most: number; nowMs: () => number }): Limits {
  const counted = new Map<string, { count: number; since: number }>()
  const current = (key: string) => {
    const known = counted.get(key)
    return known && nowMs() - known.since < windowMs ? known : undefined
  }
  return {
    allows: keys => keys.every(key => (current(key)?.count ?? 0) < most),
    count(keys) {
      if (counted.size > rememberedMax) counted.clear()
      for (const key of keys) {
        const { count, since } = current(key) ?? { count: 0, since: nowMs() }
        counted.set(key, { count: count + 1, since })
      }
    },
  }
}
