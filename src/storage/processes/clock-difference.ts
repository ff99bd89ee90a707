/**
 * Compares the clock of this process with that of the database. Timers, expiries and key lifetimes are written by one
 * clock and read by the other, so if the clocks differ, they take effect too early or too late. Merchants' test clocks
 * are offsets and do not matter here.
 */
import { withClient } from '#storage/cells/create-cell.ts'

export interface ClockDifference {
  /** Positive: the clock of this process is ahead. */
  readonly aheadMs: number
  /** Half of the round trip, because the database may have read its clock at any moment of it. */
  readonly exactToMs: number
}

/** All three in milliseconds of Unix time; the first two by the clock of this process. */
interface ClockReading {
  readonly askedAt: number
  readonly answeredAt: number
  readonly databaseAt: number
}

export const compareClocks = ({ askedAt, answeredAt, databaseAt }: ClockReading): ClockDifference => ({
  aheadMs: (askedAt + answeredAt) / 2 - databaseAt,
  exactToMs: Math.abs(answeredAt - askedAt) / 2,
})

/** The least difference of the clocks that the reading proves. */
export const leastDifferenceMs = ({ aheadMs, exactToMs }: ClockDifference): number =>
  Math.max(0, Math.abs(aheadMs) - exactToMs)

/** 5 s: synchronised machines differ by milliseconds. */
const apartMs = 5_000

/** 4 s: lower than `apartMs`, so that clocks near the limit are not reported repeatedly. */
const togetherMs = 4_000

export const areApart = (difference: ClockDifference): boolean => leastDifferenceMs(difference) > apartMs

const areTogether = ({ aheadMs, exactToMs }: ClockDifference): boolean =>
  Math.abs(aheadMs) + exactToMs < togetherMs

interface ClockNews {
  readonly onApart: (difference: ClockDifference) => void
  readonly onTogether: () => void
}

/** Reports once when the clocks begin to differ and once when they agree again. A slow answer proves neither. */
export function watchClocks({ onApart, onTogether }: ClockNews): (difference: ClockDifference) => void {
  let wereApart = false
  return difference => {
    if (wereApart ? !areTogether(difference) : !areApart(difference)) return
    wereApart = !wereApart
    if (wereApart) onApart(difference)
    else onTogether()
  }
}

/** For a sentence: "12.3 s ahead of". */
export const describeDifference = ({ aheadMs }: ClockDifference): string =>
  `${(Math.abs(aheadMs) / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'}`

/** For commands, which have no heartbeat. */
export const readClockDifference = (url: string): Promise<ClockDifference> =>
  withClient(url, async client => {
    const askedAt = Date.now()
    const { rows } = await client.query<{ now: Date }>('SELECT now() AS now')
    const answeredAt = Date.now()
    const [row] = rows
    if (!row) throw new Error('the database did not tell the time')
    return compareClocks({ askedAt, answeredAt, databaseAt: row.now.getTime() })
  })
