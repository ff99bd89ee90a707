/**
 * Knows, in memory, each merchant's cell and the work under way for it. While a merchant is being moved, no process
 * begins work for it, and a process acknowledges the move only when its work under way has ended.
 */
import { type DirectoryStore, MerchantUnavailable, type Place } from '#storage/cells/directory-store.ts'
import { isConnectionLost } from '#storage/database.ts'

export interface Directory {
  /** Reads changes of the directory, and waits until no work is under way for merchants that are being moved. */
  refresh(): Promise<void>
  /** The number of the merchant's cell. Throws MerchantUnavailable while it is being moved. */
  locate(merchantId: string): Promise<number>
  /** Runs work in the merchant's cell. Throws MerchantUnavailable while the merchant is being moved. */
  visit<T>(merchantId: string, work: (cell: number) => Promise<T>): Promise<T>
  /** For background work in a cell: returns undefined if the merchant is in another cell or being moved. */
  enter(merchantId: string, cell: number): (() => void) | undefined
}

interface Known {
  readonly cell: number
  /** By the clock of this process; a move that has not ended by then was interrupted. */
  readonly movingUntil: number
}

/** 25 s: longer than a request waits for a provider. The mover gives up a little later. */
const patienceMs = 25_000

export async function openDirectory(
  store: DirectoryStore,
  /**
   * False if this process was frozen or cut off, so that a merchant may have been moved without its acknowledgement.
   */
  isCurrent: () => boolean,
): Promise<Directory> {
  const memory = createMemory(store, () => performance.now())
  const visitors = createVisitors()

  async function locate(merchantId: string): Promise<number> {
    const known = isCurrent() ? await memory.look(merchantId) : await memory.lookAgain(merchantId)
    if (memory.isMoving(known)) throw new MerchantUnavailable('the merchant is being moved to another cell')
    return known.cell
  }

  /**
   * A move does not wait for a process that was frozen or cut off for seconds; its work then fails on the missing rows.
   */
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

/** The cells of all known merchants. */
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
    /** Looks an unknown merchant up in the database: other processes and commands create merchants too. */
    look: async (merchantId: string): Promise<Known> => find(merchantId) ?? ask(merchantId),
    /** Reads the database; answers from memory only while cell 0 is unavailable. */
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
  /** Resolves when no work is under way; rejects after `withinMs`. */
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
