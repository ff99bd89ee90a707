/**
 * Runs claimed timers, each in the lane of its provider account: an account that hangs soon holds a single place, and
 * the timers of all others run meanwhile.
 */
import type { MerchantId, PayId } from '#domain/ids.ts'
import type { TimerKind } from '#storage/commit/change.ts'
import type { Lane } from '#storage/events/deliveries.ts'
import type { ClaimedTimer } from '#storage/payments/unanswered.ts'
import { createLanes, laneStart } from '#workers/lanes.ts'

export interface TimerPlaces {
  /**
   * Takes timers whose leases count from that time. Each runs once there is a place for it, or is left to a later claim.
   */
  take(claimed: readonly ClaimedTimer[], claimedMs: number): void
  /** Whether more timers should be claimed: those that still wait are few, or wait for an account that hangs. */
  hasRoom(): boolean
  /** Waits for the timers that are running now, of one merchant or of all, and returns how many there are. */
  finish(merchantId?: MerchantId): Promise<number>
  /** Starts no more timers, and waits for those that are running. */
  stop(): Promise<void>
}

export interface TimerPlacesDeps {
  /** Runs a timer. Never rejects. */
  readonly run: (claimed: ClaimedTimer) => Promise<void>
  readonly nowMs: () => number
  /** Called when a timer has ended. */
  readonly onEnd: () => void
}

/**
 * 40 s after its claim a timer is not started any more: with a provider call of 20 s it would outlast its lease, and
 * another process would run it at the same time. The next claim gets it when the lease has ended.
 */
export const startWithinMs = 40_000

/**
 * 64: two batches of commits. Running more at once would queue for the few database connections and time out: on a busy
 * machine plans missed their time because of that (seen). Timers that a slow provider holds up are not counted.
 */
export const atOnce = 64

/** 8 s: a provider that takes longer for a call is slow. */
const slowMs = 8_000

/** 64: as many timers as a lane that hangs could ever start before their leases end. More are left to a later claim. */
const heldUpWaitingMax = 64

/** 1,024: even the smallest machine has sockets for that many calls to hanging providers. */
const runningMax = 1_024

/** 10,000 timers are some megabytes. */
const waitingMax = 10_000

/** Timers that call no provider and so need no lane. */
const withoutCall: ReadonlySet<TimerKind> = new Set(['LAPSE', 'ANNOUNCE', 'APPROVE', 'BATCH'])

/** A lane and its name. */
interface NamedLane extends Lane {
  readonly name: string
}

interface Held {
  readonly claimed: ClaimedTimer
  /** Within its payment. With the time in it: a timer that its run has set again is another one. */
  readonly name: string
  /** Undefined: no provider is called. */
  readonly lane: NamedLane | undefined
  readonly untilMs: number
}

function hold(claimed: ClaimedTimer, untilMs: number): Held {
  const { merchantId, xId, kind, runAt, account } = claimed
  const receiver = account ?? ''
  return {
    claimed,
    name: `${xId} ${kind} ${runAt.getTime()}`,
    lane: withoutCall.has(kind) ? undefined : { merchantId, receiver, name: `${merchantId} ${receiver}` },
    untilMs,
  }
}

/** The lanes of the accounts, with the time of the last start or end in each. A timer without a lane has a place. */
function createAccountLanes(nowMs: () => number) {
  const lanes = createLanes()
  const busy = new Map<string, { count: number; movedMs: number }>()

  const isNarrow = (lane: NamedLane | undefined): boolean =>
    lane !== undefined && lanes.width(lane) < laneStart
  const hasPlace = (lane: NamedLane | undefined): boolean => lane === undefined || lanes.free(lane) > 0

  function move({ name }: NamedLane, by: 1 | -1): void {
    const count = (busy.get(name)?.count ?? 0) + by
    if (count > 0) busy.set(name, { count, movedMs: nowMs() })
    else busy.delete(name)
  }

  /** All places are taken, and the account is known to be slow or has ended nothing for a while. */
  function isStuck(lane: NamedLane | undefined): boolean {
    const state = lane && busy.get(lane.name)
    if (!state || hasPlace(lane)) return false
    return isNarrow(lane) || nowMs() - state.movedMs >= slowMs
  }

  return {
    isNarrow,
    hasPlace,
    isStuck,
    enter(lane: NamedLane | undefined): void {
      if (!lane) return
      lanes.enter(lane)
      move(lane, 1)
    },
    leave(lane: NamedLane | undefined, startedMs: number): void {
      if (!lane) return
      lanes.leave(lane, nowMs() - startedMs < slowMs)
      move(lane, -1)
    },
  }
}

type AccountLanes = ReturnType<typeof createAccountLanes>

/** As many as can be started in time wait already for an account that is slow or hangs. */
function isCrowded({ lane }: Held, waiting: readonly Held[], lanes: AccountLanes): boolean {
  if (!lanes.isNarrow(lane) && !lanes.isStuck(lane)) return false
  return waiting.filter(other => other.lane?.name === lane?.name).length >= heldUpWaitingMax
}

interface Running {
  readonly held: Held
  readonly startedMs: number
  readonly done: Promise<void>
}

/**
 * Counts the running ones that no provider holds up. A provider that hangs may have many accounts, each with less than a
 * full lane, so every slow call is left out.
 */
function countActive(running: ReadonlyMap<PayId, Running>, lanes: AccountLanes, now: number): number {
  const isActive = ({ held: { lane }, startedMs }: Running): boolean =>
    lane === undefined || (now - startedMs < slowMs && !lanes.isStuck(lane))
  return [...running.values()].filter(isActive).length
}

export function createTimerPlaces({ run, nowMs, onEnd }: TimerPlacesDeps): TimerPlaces {
  const lanes = createAccountLanes(nowMs)
  /** At most one of each payment. */
  const running = new Map<PayId, Running>()
  let waiting: Held[] = []
  let stopped = false

  function start(held: Held): void {
    const { lane, claimed } = held
    const startedMs = nowMs()
    lanes.enter(lane)
    const done = run(claimed).finally(() => {
      running.delete(claimed.payId)
      lanes.leave(lane, startedMs)
      startWaiting()
      onEnd()
    })
    running.set(claimed.payId, { held, startedMs, done })
  }

  /** Starts the first ones that have a place, and forgets those whose leases may end while they run. */
  function startWaiting(): void {
    if (stopped) return
    const now = nowMs()
    let active = countActive(running, lanes, now)
    const left: Held[] = []
    for (const held of waiting) {
      if (now >= held.untilMs) continue
      const isFirst = !running.has(held.claimed.payId)
      if (lanes.hasPlace(held.lane) && isFirst && active < atOnce && running.size < runningMax) {
        start(held)
        active += 1
      } else left.push(held)
    }
    waiting = left
  }

  async function finish(merchantId?: MerchantId): Promise<number> {
    const mine = [...running.values()].filter(({ held: { claimed } }) =>
      [undefined, claimed.merchantId].includes(merchantId),
    )
    await Promise.all(mine.map(({ done }) => done))
    return mine.length
  }

  return {
    take(claimed, claimedMs) {
      const untilMs = claimedMs + startWithinMs
      for (const timer of claimed.toSorted((a, b) => a.runAt.getTime() - b.runAt.getTime())) {
        const held = hold(timer, untilMs)
        // Its lease has ended while it runs: running it once more would not end it sooner.
        const isRunning = running.get(timer.payId)?.held.name === held.name
        if (!isRunning && !isCrowded(held, waiting, lanes)) waiting.push(held)
      }
      startWaiting()
    },

    hasRoom() {
      // Time alone may have made room: a lane is stuck by now, or timers have waited too long.
      startWaiting()
      if (stopped || waiting.length >= waitingMax || running.size >= runningMax) return false
      return waiting.filter(({ lane }) => !lanes.isStuck(lane)).length < atOnce
    },

    finish,
    async stop() {
      stopped = true
      await finish()
    },
  }
}
