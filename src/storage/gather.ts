/**
 * Combines simultaneous look-ups of one kind into one query. Two queries may run at once; look-ups that arrive during
 * both share the next one. A single look-up waits only for the end of this turn of the event loop.
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

/** 32: with a longer list, the first caller waits too long for the rows of the last one (measured). */
const maximumAtOnce = 32

/** 2: one is answered while the next is read. With more, the lists stay short and each row costs more (measured). */
const maximumUnderWay = 2

/** `ask` returns the existing rows in any order; `nameOf` gives the key of a row's caller. */
export function gatherLookUps<Found>(
  ask: (wanted: readonly Wanted[]) => Promise<readonly Found[]>,
  nameOf: (found: Found) => Wanted,
): (wanted: Wanted) => Promise<Found | undefined> {
  let waiting: Asking<Found>[] = []
  let underWay = 0
  let scheduled = false

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(flush)
  }

  function flush(): void {
    scheduled = false
    while (waiting.length > 0 && underWay < maximumUnderWay) {
      const asking = waiting.slice(0, maximumAtOnce)
      waiting = waiting.slice(maximumAtOnce)
      underWay += 1
      void answer(asking).finally(() => {
        underWay -= 1
        if (waiting.length > 0) schedule()
      })
    }
  }

  /** Never throws; an error goes to all waiting callers. */
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
      waiting.push({ wanted, resolve, reject })
      schedule()
    })
}

/** A merchant id contains no space, so the key is unambiguous. */
const keyOf = ({ merchantId, id }: Wanted): string => `${merchantId} ${id}`

/** The wanted keys as two parameters, for a join with `wantedRows`. */
export const wantedValues = (wanted: readonly Wanted[]): [merchantIds: string[], ids: string[]] => [
  wanted.map(({ merchantId }) => merchantId),
  wanted.map(({ id }) => id),
]

export const wantedRows = 'unnest($1::text[], $2::uuid[]) AS w (merchant_id, id)'
