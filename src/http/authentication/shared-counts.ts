/**
 * Limits that hold for all processes together. Each process decides at once with what it knows, publishes its counts,
 * and reads those of the others several times a second. Until the others have read its counts it takes no more than its
 * share of twice the limit, so that all together exceed the limit by at most the limit itself.
 */
import { hash } from 'node:crypto'

export interface SharedCounts {
  /** Called with the counts of another process; `key` is the one used there. */
  onOthers(listener: (key: string, used: number) => void): void
  note(key: string): void
  /** Whether one more may be counted before the others have read the last ones. */
  hasShare(key: string, use: LimitedUse): boolean
}

export interface LimitedUse {
  readonly limit: number
  /** What this process knows to be used, by itself and by the others. */
  readonly known: number
}

/** Exchanges the counts of this process with those of the others. */
export interface CountExchange {
  scope(name: string): SharedCounts
  /** Takes the counts since the last call; the other processes read them before the next one. */
  take(processes: number): readonly { readonly name: string; readonly used: number }[]
  give(uses: readonly { readonly name: string; readonly used: number }[]): void
}

/** 10,000 names between two exchanges: a flood of invented ones is not passed on. */
const notedMax = 10_000

export function createCountExchange(): CountExchange {
  let noted = new Map<string, number>()
  let handedOver = new Map<string, number>()
  let sharers = 1
  const listeners = new Map<string, ((key: string, used: number) => void)[]>()
  return {
    scope: name => ({
      onOthers: listener => void listeners.set(name, [...(listeners.get(name) ?? []), listener]),
      note(key) {
        const full = `${name}:${key}`
        const known = noted.get(full)
        if (known !== undefined || noted.size < notedMax) noted.set(full, (known ?? 0) + 1)
      },
      hasShare(key, { limit, known }) {
        if (sharers === 1) return true
        const full = `${name}:${key}`
        const unread = (noted.get(full) ?? 0) + (handedOver.get(full) ?? 0)
        const sharedByAll = Math.max(0, known - unread)
        // Either bound keeps the excess within the limit: what the other processes may have counted beyond what is
        // known, or what all of them may still count until twice the limit is reached.
        const share = Math.max(limit / (sharers - 1), (2 * limit - sharedByAll) / sharers)
        return unread < Math.max(1, Math.floor(share))
      },
    }),
    take(processes) {
      const uses = [...noted].map(([name, used]) => ({ name, used }))
      handedOver = noted
      noted = new Map()
      sharers = processes
      return uses
    },
    give(uses) {
      for (const { name, used } of uses) {
        const [scope = '', key = ''] = name.split(':', 2)
        for (const listener of listeners.get(scope) ?? []) listener(key, used)
      }
    },
  }
}

/** For a process that is alone, and for tests of something else: counts are not shared. */
export const noOthers: SharedCounts = { onOthers: () => {}, note: () => {}, hasShare: () => true }

/** Always 44 characters, without the colon that separates scope and key. */
export const toCountKey = (text: string): string => hash('sha256', text, 'base64url')
