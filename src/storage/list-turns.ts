/**
 * Lets the lists of one merchant take turns. A list with filters that match little reads for seconds, and the few
 * connections for reads serve all merchants.
 */
import type { MerchantId } from '#domain/ids.ts'

export interface ListTurns {
  /** Throws `TooManyLists` if it waited too long for its turn, or what `ask` throws if the database does not answer. */
  run<T>(merchantId: MerchantId, read: () => Promise<T>): Promise<T>
}

/** The merchant's other lists have not ended in time. */
export class TooManyLists extends Error {
  constructor() {
    super(
      'Too many lists of this merchant are being read. Read them one after the other, or narrow their filters.',
    )
  }
}

/** 2: half of the connections for reads. */
const atOnce = 2

/** 5 s: as long as a query waits for a connection. */
const usualPatienceMs = 5_000

/**
 * @param ask throws if the database does not answer: the merchant's other lists then wait for it too, and asking for
 *   fewer lists would not help.
 */
export function createListTurns(ask: () => Promise<unknown>, patienceMs = usualPatienceMs): ListTurns {
  const running = new Map<MerchantId, number>()
  const waiting = new Map<MerchantId, (() => void)[]>()

  function leave(merchantId: MerchantId): void {
    const [next, ...rest] = waiting.get(merchantId) ?? []
    if (rest.length > 0) waiting.set(merchantId, rest)
    else waiting.delete(merchantId)
    const count = running.get(merchantId) ?? 1
    // The place passes directly to the next in line.
    if (next) next()
    else if (count > 1) running.set(merchantId, count - 1)
    else running.delete(merchantId)
  }

  async function enter(merchantId: MerchantId): Promise<void> {
    const count = running.get(merchantId) ?? 0
    if (count < atOnce) {
      running.set(merchantId, count + 1)
      return
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiting.set(merchantId, [...(waiting.get(merchantId) ?? []), resolve])
    const timer = setTimeout(() => {
      const others = waiting.get(merchantId)?.filter(other => other !== resolve) ?? []
      if (others.length > 0) waiting.set(merchantId, others)
      else waiting.delete(merchantId)
      ask().then(() => reject(new TooManyLists()), reject)
    }, patienceMs)
    await promise.finally(() => clearTimeout(timer))
  }

  return {
    async run(merchantId, read) {
      await enter(merchantId)
      try {
        return await read()
      } finally {
        leave(merchantId)
      }
    },
  }
}
