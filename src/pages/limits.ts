/**
 * Against whoever tries out stolen cards on a page: declines are counted by address and by card, and too many of them in
 * a while close the pages for that one. Tries that never reached a provider are our own outages and count for nothing.
 * Counted per process; the payment itself ends after ten declines, in every process.
 */

export interface Limits {
  /** Whether this address and card may try now. */
  allows(keys: readonly string[]): boolean
  countDecline(keys: readonly string[]): void
}

/** 10 minutes: a person who mistyped has long given up or found the mistake by then. */
const windowMs = 600_000
/** 100,000 keys of about 100 bytes: 10 MB at worst; then the memory starts anew, which only forgives. */
const rememberedMax = 100_000

export function createLimits({ most, nowMs }: { most: number; nowMs: () => number }): Limits {
  const declines = new Map<string, { count: number; since: number }>()
  const current = (key: string) => {
    const known = declines.get(key)
    return known && nowMs() - known.since < windowMs ? known : undefined
  }
  return {
    allows: keys => keys.every(key => (current(key)?.count ?? 0) < most),
    countDecline(keys) {
      if (declines.size > rememberedMax) declines.clear()
      for (const key of keys) {
        const { count, since } = current(key) ?? { count: 0, since: nowMs() }
        declines.set(key, { count: count + 1, since })
      }
    },
  }
}
