/**
 * Limits how many messages are on their way to one receiver at a time. A lane starts narrow, widens by one with every
 * message that is answered and halves with every one that is not: a hanging receiver soon holds a single place. Timers
 * use lanes too: their receivers are provider accounts.
 */
import type { Lane } from '#storage/events/deliveries.ts'

export interface Lanes {
  enter(lane: Lane): void
  /** `arrived`: undefined if nothing was sent, which says nothing about the receiver. */
  leave(lane: Lane, arrived: boolean | undefined): void
  /** How many more may enter now. */
  free(lane: Lane): number
  /** How many may be in the lane at a time. */
  width(lane: Lane): number
  /** The lanes whose free places differ from those of an unused lane. */
  list(): (Lane & { readonly free: number })[]
}

/** 8: the width of a lane to a receiver without history. */
export const laneStart = 8

/** 64: more concurrent messages do not make a receiver faster. */
const laneMax = 64

/** 10,000 receivers are remembered; forgotten ones start again with the default width, which does little harm. */
const rememberedMax = 10_000

interface State {
  readonly lane: Lane
  inFlight: number
  limit: number
}

const unused: Pick<State, 'inFlight' | 'limit'> = { inFlight: 0, limit: laneStart }

export function createLanes(): Lanes {
  const states = new Map<string, State>()
  const nameOf = ({ merchantId, receiver }: Lane): string => `${merchantId} ${receiver}`
  const stateOf = (lane: Lane): State => {
    const name = nameOf(lane)
    const known = states.get(name)
    if (known) return known
    const { merchantId, receiver } = lane
    const made = { lane: { merchantId, receiver }, inFlight: 0, limit: laneStart }
    states.set(name, made)
    return made
  }

  function forgetIdle(): void {
    if (states.size <= rememberedMax) return
    for (const [name, { inFlight }] of states) {
      if (inFlight === 0) states.delete(name)
      if (states.size <= rememberedMax) return
    }
  }

  return {
    enter(lane) {
      stateOf(lane).inFlight += 1
      forgetIdle()
    },
    leave(lane, arrived) {
      const state = stateOf(lane)
      state.inFlight -= 1
      if (arrived === undefined) return
      state.limit = arrived ? Math.min(state.limit + 1, laneMax) : Math.max(state.limit >> 1, 1)
    },
    free(lane) {
      const { limit, inFlight } = states.get(nameOf(lane)) ?? unused
      return Math.max(limit - inFlight, 0)
    },
    width: lane => (states.get(nameOf(lane)) ?? unused).limit,
    list: () =>
      [...states.values()]
        .filter(({ inFlight, limit }) => inFlight > 0 || limit !== laneStart)
        .map(({ lane, inFlight, limit }) => ({ ...lane, free: Math.max(limit - inFlight, 0) })),
  }
}
