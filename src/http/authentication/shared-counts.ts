/**
 * Limits that hold for all processes together. Each process decides at once by what it knows, notes what it counted, and
 * reads about twice a second what the others counted, so a limit can be exceeded by at most the limit itself.
 */
import { hash } from 'node:crypto'

export interface SharedCounts {
  /** Another process counted this; `key` is the one that was noted there. */
  onOthers(listener: (key: string, used: number) => void): void
  note(key: string): void
}

/** Hands the notes of this process over and those of the others in. */
export interface CountExchange {
  scope(name: string): SharedCounts
  /** What was noted since the last time. */
  take(): readonly { readonly name: string; readonly used: number }[]
  give(uses: readonly { readonly name: string; readonly used: number }[]): void
}

/** 10,000 names between two exchanges: a flood of invented ones is not passed on. */
const notedMax = 10_000

export function createCountExchange(): CountExchange {
  let noted = new Map<string, number>()
  const listeners = new Map<string, ((key: string, used: number) => void)[]>()
  return {
    scope: name => ({
      onOthers: listener => void listeners.set(name, [...(listeners.get(name) ?? []), listener]),
      note(key) {
        const full = `${name}:${key}`
        const known = noted.get(full)
        if (known !== undefined || noted.size < notedMax) noted.set(full, (known ?? 0) + 1)
      },
    }),
    take() {
      const uses = [...noted].map(([name, used]) => ({ name, used }))
      noted = new Map()
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
export const noOthers: SharedCounts = { onOthers: () => {}, note: () => {} }

/** 44 characters whatever was hashed, without the colon that parts scope and key. */
export const toCountKey = (text: string): string => hash('sha256', text, 'base64url')
