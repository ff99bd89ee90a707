/**
 * The figures of an overview. For a shop with millions of payments they take a second to count, so slow results are
 * cached for a minute; for all others every view counts again.
 */

import type { FigureStore } from '#storage/console/figures.ts'
import { isOverdue } from '#storage/database.ts'

export interface Period {
  readonly since: Date
  /** From here on, calls to providers count towards their health. */
  readonly lately: Date
  /** Disputes whose evidence is due before this need attention. */
  readonly dueBefore: Date
}

export interface Figures {
  readonly volumes: Awaited<ReturnType<FigureStore['volumes']>>
  readonly approvals: Awaited<ReturnType<FigureStore['approvals']>>
  readonly declines: Awaited<ReturnType<FigureStore['declines']>>
  readonly health: Awaited<ReturnType<FigureStore['health']>>
  readonly waiting: Awaited<ReturnType<FigureStore['waiting']>>
}

export interface Overviews {
  /** readAt: when the figures were counted, if they come from the cache. No figures: counting took too long. */
  read(
    merchantId: string,
    period: Period,
  ): Promise<{ readonly figures: Figures | undefined; readonly readAt?: Date | undefined }>
}

/** 200 ms: too short to notice, and hardly any load for the database. */
const longMs = 200
const keptMs = 60_000
/** 200 merchants with that many payments: each is a few kilobytes. */
const keptMax = 200

interface Kept {
  readonly figures: Promise<Figures | undefined>
  readonly readAtMs: number
  /** Infinity while the figures are being counted: other requests wait for the same count. */
  untilMs: number
}

export function createOverviews(store: FigureStore, nowMs: () => number): Overviews {
  const kept = new Map<string, Kept>()
  async function count(merchantId: string, { since, lately, dueBefore }: Period): Promise<Figures> {
    const [volumes, approvals, declines, health, waiting] = await Promise.all([
      store.volumes(merchantId, since),
      store.approvals(merchantId, since),
      store.declines(merchantId, since),
      store.health(merchantId, lately),
      store.waiting(merchantId, dueBefore),
    ])
    return { volumes, approvals, declines, health, waiting }
  }
  const countInTime = (merchantId: string, period: Period): Promise<Figures | undefined> =>
    count(merchantId, period).catch(error => {
      if (isOverdue(error)) return undefined
      throw error
    })
  async function countAnew(merchantId: string, period: Period): Promise<Figures | undefined> {
    if (kept.size >= keptMax) kept.clear()
    const readAtMs = nowMs()
    const entry: Kept = { figures: countInTime(merchantId, period), readAtMs, untilMs: Infinity }
    kept.set(merchantId, entry)
    const forget = () => kept.get(merchantId) === entry && kept.delete(merchantId)
    try {
      const figures = await entry.figures
      if (nowMs() - entry.readAtMs > longMs) entry.untilMs = nowMs() + keptMs
      else forget()
      return figures
    } catch (error) {
      forget()
      throw error
    }
  }
  return {
    async read(merchantId, period) {
      const entry = kept.get(merchantId)
      return entry && entry.untilMs > nowMs()
        ? { figures: await entry.figures, readAt: new Date(entry.readAtMs) }
        : { figures: await countAnew(merchantId, period) }
    },
  }
}
