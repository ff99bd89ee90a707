/** Limits how much work on the same subject runs at once; the rest waits. */

/** The subject, and how many of its tries may run at once in this process. */
export type Place = readonly [name: string, most: number]

interface Turn {
  running: number
  readonly waiting: (() => void)[]
}

export interface Turns {
  run<T>(places: readonly Place[], work: () => Promise<T>): Promise<T>
}

/** Every try takes the place of its card before that of its address, so that two tries cannot deadlock. */
export function createTurns(): Turns {
  const turns = new Map<string, Turn>()

  async function enter([name, most]: Place): Promise<void> {
    const turn = turns.get(name) ?? { running: 0, waiting: [] }
    turns.set(name, turn)
    if (turn.running < most) turn.running += 1
    else await new Promise<void>(resolve => turn.waiting.push(resolve))
  }

  function leave([name]: Place): void {
    const turn = turns.get(name)
    if (!turn) return
    const next = turn.waiting.shift()
    // The place passes directly to the next in line.
    if (next) next()
    else turn.running -= 1
    if (turn.running === 0) turns.delete(name)
  }

  return {
    async run(places, work) {
      for (const place of places) await enter(place)
      try {
        return await work()
      } finally {
        for (const place of places) leave(place)
      }
    },
  }
}
