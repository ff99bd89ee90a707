/**
 * Limits across all processes. Each process decides at once with the counts that it knows, publishes its own counts and
 * reads those of the others several times a second. Until the others have read its counts, it admits at most its share
 * of twice the limit, so that all processes together exceed the limit by at most the limit itself.
 */
import { hash } from 'node:crypto'

export interface SharedCounts {
  /** Registers a listener for the counts of other processes, with the keys that they used. */
  onOthers(listener: (key: string, used: number) => void): void
  note(key: string): void
  /** Whether this process may count one more before the others have read its last counts. */
  hasShare(key: string, use: LimitedUse): boolean
  /** How many processes share these counts, this one included. */
  countProcesses(): number
}

export interface LimitedUse {
  readonly limit: number
  /** The uses known to this process, its own and those of the others. */
  readonly known: number
}

/** Exchanges the counts of this process with those of the others. */
export interface CountExchange {
  scope(name: string): SharedCounts
  /** Returns the counts since the last call. The other processes must have read them before the next call. */
  take(processes: number): readonly { readonly name: string; readonly used: number }[]
  give(uses: readonly { readonly name: string; readonly used: number }[]): void
}

/** 10,000 names between two exchanges: a flood of made-up names is not passed on. */
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
        // Each of the two bounds keeps the total excess within the limit: the limit divided among the other processes,
        // or an equal share of what is left until twice the limit.
        const share = Math.max(limit / (sharers - 1), (2 * limit - sharedByAll) / sharers)
        return unread < Math.max(1, Math.floor(share))
      },
      countProcesses: () => sharers,
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

/** For a single process, and for tests: counts are not shared. */
export const noOthers: SharedCounts = {
  onOthers: () => {},
  note: () => {},
  hasShare: () => true,
  countProcesses: () => 1,
}

/** Always 44 characters, without the colon that separates scope and key. */
export const toCountKey = (text: string): string => hash('sha256', text, 'base64url')
