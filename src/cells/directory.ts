/**
 * Which cell a merchant lives in, in memory, and which work is under way for it. While a merchant is being moved, no process
 * begins anything for it, and a process acknowledges the move only when the work that was under way has ended.
 */
import { type DirectoryStore, MerchantUnavailable, type Place } from '#storage/cells/directory-store.ts'
import { isConnectionLost } from '#storage/database.ts'

export interface Directory {
  /** Reads what has changed, and waits until no work is under way for a merchant that is being moved. */
  refresh(): Promise<void>
  /** The number of the merchant's cell. Throws MerchantUnavailable while it is being moved. */
  locate(merchantId: string): Promise<number>
  /** Works for the merchant in its cell. Throws MerchantUnavailable while it is being moved. */
  visit<T>(merchantId: string, work: (cell: number) => Promise<T>): Promise<T>
  /** For background work in a cell: undefined when the merchant does not live there, or not at this moment. */
  enter(merchantId: string, cell: number): (() => void) | undefined
}

interface Known {
  readonly cell: number
  /** On the clock of this process; a move that has not ended by then was cut off. */
  readonly movingUntil: number
}

/** 25 s: a request may wait for a provider that long; the mover gives up a little later. */
const patienceMs = 25_000

export async function openDirectory(
  store: DirectoryStore,
  /** False: a merchant may have been moved without this process, which was frozen or cut off. */
  isCurrent: () => boolean,
): Promise<Directory> {
  const memory = createMemory(store, () => performance.now())
  const visitors = createVisitors()

  async function locate(merchantId: string): Promise<number> {
    const known = isCurrent() ? await memory.look(merchantId) : await memory.lookAgain(merchantId)
    if (memory.isMoving(known)) throw new MerchantUnavailable('the merchant is being moved to another cell')
    return known.cell
  }

  /** Only a process that was frozen or cut off for seconds is not waited for, and fails to find what it had begun. */
  const hasLeft = (merchantId: string, cell: number): Promise<boolean> =>
    locate(merchantId).then(
      now => now !== cell,
      error => error instanceof MerchantUnavailable,
    )

  await memory.load()
  return {
    async refresh() {
      await memory.load()
      await Promise.all(memory.listMoving().map(merchantId => visitors.gone(merchantId, patienceMs)))
    },
    locate,
    async visit(merchantId, work) {
      const cell = await locate(merchantId)
      const leave = visitors.enter(merchantId)
      try {
        return await work(cell)
      } catch (error) {
        if (!(await hasLeft(merchantId, cell))) throw error
        throw new MerchantUnavailable('the merchant was moved while this process stood still', {
          cause: error,
        })
      } finally {
        leave()
      }
    },
    enter(merchantId, cell) {
      const known = memory.find(merchantId)
      // An unknown merchant was created a moment ago; the process that created it serves it first.
      if (known && (known.cell !== cell || memory.isMoving(known))) return undefined
      return visitors.enter(merchantId)
    },
  }
}

/** The cells of all merchants that are known so far. */
function createMemory(store: DirectoryStore, now: () => number) {
  const places = new Map<string, Known>()
  let moment = '-infinity'
  const isMoving = ({ movingUntil }: Known): boolean => movingUntil > now()
  const find = (merchantId: string): Known | undefined => places.get(merchantId)

  function learn({ merchantId, cell, movingForMs = 0 }: Place): void {
    places.set(merchantId, { cell, movingUntil: now() + movingForMs })
  }

  async function ask(merchantId: string): Promise<Known> {
    const place = await store.find(merchantId)
    if (place) learn(place)
    return find(merchantId) ?? { cell: 0, movingUntil: 0 }
  }

  return {
    find,
    isMoving,
    async load() {
      const changed = await store.changedSince(moment)
      for (const place of changed.places) learn(place)
      ;({ moment } = changed)
    },
    /** Other processes and commands create merchants too: an unknown one is looked up. */
    look: async (merchantId: string): Promise<Known> => find(merchantId) ?? ask(merchantId),
    /** From memory only while cell 0 is away. */
    lookAgain: (merchantId: string): Promise<Known> =>
      ask(merchantId).catch((error: unknown) => {
        const known = find(merchantId)
        if (known && isConnectionLost(error)) return known
        throw error
      }),
    listMoving: () => [...places].filter(([, known]) => isMoving(known)).map(([merchantId]) => merchantId),
  }
}

interface Visitors {
  enter(merchantId: string): () => void
  /** Resolves when no work is under way; rejects after that long. */
  gone(merchantId: string, withinMs: number): Promise<void>
}

function createVisitors(): Visitors {
  const present = new Map<string, number>()
  const waiting = new Map<string, (() => void)[]>()

  function leave(merchantId: string): void {
    const left = (present.get(merchantId) ?? 1) - 1
    if (left > 0) {
      present.set(merchantId, left)
      return
    }
    present.delete(merchantId)
    for (const resolve of waiting.get(merchantId) ?? []) resolve()
    waiting.delete(merchantId)
  }

  return {
    enter(merchantId) {
      present.set(merchantId, (present.get(merchantId) ?? 0) + 1)
      let isThere = true
      return () => {
        if (isThere) leave(merchantId)
        isThere = false
      }
    },
    gone(merchantId, withinMs) {
      if (!present.has(merchantId)) return Promise.resolve()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const timer = setTimeout(
        () =>
          reject(
            new Error(`the requests of ${merchantId} that were under way did not end within ${withinMs} ms`),
          ),
        withinMs,
      )
      waiting.set(merchantId, [...(waiting.get(merchantId) ?? []), resolve])
      return promise.finally(() => clearTimeout(timer))
    },
  }
}
