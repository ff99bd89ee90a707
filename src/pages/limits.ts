/**
 * Counts events per time window, against people who test stolen cards on a page. Declines are counted by address and by
 * card; too many of them close the pages for that address or card. Tries that never reached a provider are our own outages
 * and do not count. Counts of other processes arrive within a second.
 */
import { networkOf } from '#domain/network-address.ts'
import { makeRoom } from '#domain/velocity.ts'
import { noOthers, type SharedCounts, toCountKey } from '#http/authentication/shared-counts.ts'
import { createTurns, type Place } from '#operations/payments/turns.ts'

export interface Limits {
  /** Whether all of these keys are below the limit. */
  allows(keys: readonly string[]): boolean
  count(keys: readonly string[]): void
  /**
   * Runs a try when few enough others of its keys are under way; until then it waits. All tries under way may be
   * declined, and at most as many as the limit itself may exceed it. The keys of all tries are in the same order.
   */
  inTurn<T>(keys: readonly string[], work: () => Promise<T>): Promise<T>
}

/** 10 minutes: a person who mistyped has long given up or found the mistake by then. */
const windowMs = 600_000
/**
 * 100,000 keys of about 100 bytes: 10 MB at most. When full, those that were counted longest ago are forgotten, so that
 * counts from many addresses cannot erase the count of one that goes on.
 */
const rememberedMax = 100_000

export interface CountedTry {
  readonly merchantId: string
  readonly address: string
  readonly cardId?: string | undefined
  readonly card?: { readonly first6Digits: string; readonly last4Digits: string } | undefined
}

/**
 * A decline is counted by address and by card. A number is also counted by its first six and last four digits, against
 * people who know no more of a card than these.
 */
export const declineKeys = ({ merchantId, address, cardId, card }: CountedTry): readonly string[] => [
  ...(card ? [`card ${merchantId} ${card.first6Digits} ${card.last4Digits}`] : []),
  ...(cardId ? [`card ${merchantId} ${cardId}`] : []),
  `address ${networkOf(address)}`,
]

export interface LimitOptions {
  readonly most: number
  readonly nowMs: () => number
  /** Without it the process counts alone. */
  readonly shared?: SharedCounts | undefined
}

export function createLimits({ most, nowMs, shared = noOthers }: LimitOptions): Limits {
  const counted = new Map<string, { count: number; since: number }>()
  const turns = createTurns()
  const current = (key: string) => {
    const known = counted.get(key)
    return known && nowMs() - known.since < windowMs ? known : undefined
  }
  const add = (key: string, used: number): void => {
    const { count, since } = current(key) ?? { count: 0, since: nowMs() }
    counted.delete(key)
    makeRoom(counted, rememberedMax)
    counted.set(key, { count: count + used, since })
  }
  shared.onOthers(add)
  return {
    allows: keys =>
      keys.map(toCountKey).every(key => {
        const known = current(key)?.count ?? 0
        return known < most && shared.hasShare(key, { limit: most, known })
      }),
    count(keys) {
      for (const key of keys.map(toCountKey)) {
        add(key, 1)
        shared.note(key)
      }
    },
    inTurn(keys, work) {
      const atOnce = Math.max(1, Math.floor(most / shared.countProcesses()))
      return turns.run(
        keys.map((key): Place => [toCountKey(key), atOnce]),
        work,
      )
    },
  }
}
