/** Work on the same thing, of which only so much may be under way at once; the rest waits. */

/** Whose turn it is, and how many of its tries may be under way at once in this process. */
export type Place = readonly [name: string, most: number]

interface Turn {
  running: number
  readonly waiting: (() => void)[]
}

/** Everybody takes the card's place before the address's, so nobody waits for somebody who waits for them. */
export function createTurns(): { run<T>(places: readonly Place[], work: () => Promise<T>): Promise<T> } {
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
    // The place is handed on as it is.
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
