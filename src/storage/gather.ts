/**
 * Look-ups of one kind that are wanted in the same turn of the event loop go to the database as one question: a worker that
 * takes up dozens of plans asks once. Whoever asks alone waits for nothing but the end of that turn.
 */
import type { MerchantId } from '#domain/ids.ts'

export interface Wanted {
  readonly merchantId: MerchantId
  readonly id: string
}

interface Asking<Found> {
  readonly wanted: Wanted
  readonly resolve: (found: Found | undefined) => void
  readonly reject: (error: unknown) => void
}

/** 200: more than a worker takes up at once; an answer to many more would be long in the making. */
const maximumAtOnce = 200

/** `ask` answers with what there is, in any order; `nameOf` tells whose it is. */
export function gatherLookUps<Found>(
  ask: (wanted: readonly Wanted[]) => Promise<readonly Found[]>,
  nameOf: (found: Found) => Wanted,
): (wanted: Wanted) => Promise<Found | undefined> {
  let waiting: Asking<Found>[] = []

  function flush(): void {
    const asking = waiting
    waiting = []
    for (let at = 0; at < asking.length; at += maximumAtOnce)
      void answer(asking.slice(at, at + maximumAtOnce))
  }

  /** Never throws: everybody who waits hears of it. */
  async function answer(asking: readonly Asking<Found>[]): Promise<void> {
    try {
      const found = await ask(asking.map(({ wanted }) => wanted))
      const byName = new Map(found.map(one => [keyOf(nameOf(one)), one]))
      for (const { wanted, resolve } of asking) resolve(byName.get(keyOf(wanted)))
    } catch (error) {
      for (const { reject } of asking) reject(error)
    }
  }

  return wanted =>
    new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush)
      waiting.push({ wanted, resolve, reject })
    })
}

/** A merchant's id holds no space. */
const keyOf = ({ merchantId, id }: Wanted): string => `${merchantId} ${id}`

/** What was wanted as two parameters, for a join with `wantedRows`. */
export const wantedValues = (wanted: readonly Wanted[]): [merchantIds: string[], ids: string[]] => [
  wanted.map(({ merchantId }) => merchantId),
  wanted.map(({ id }) => id),
]

export const wantedRows = 'unnest($1::text[], $2::uuid[]) AS w (merchant_id, id)'
