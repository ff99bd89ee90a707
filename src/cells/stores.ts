/** Stores of merchants, API keys and endpoints that span all cells. */
import type { ApiKeyStore } from '#storage/api-keys.ts'
import { cellName } from '#storage/cells/address.ts'
import { MerchantUnavailable } from '#storage/cells/directory-store.ts'
import { isConnectionLost } from '#storage/database.ts'
import type { EndpointStore } from '#storage/events/endpoints.ts'
import type { MerchantKey, MerchantStore } from '#storage/merchants.ts'

export interface CellStores {
  readonly merchants: MerchantStore
  readonly apiKeys: ApiKeyStore
  readonly endpoints: EndpointStore
}

/** The stores of one cell. */
export interface NumberedStores extends CellStores {
  readonly number: number
}

export interface CellFinder {
  /** The merchant's cell according to the directory, which is authoritative even if rows are found elsewhere. */
  locate(merchantId: string): Promise<number>
  /** Runs work in the merchant's cell. */
  visit<T>(merchantId: string, work: (stores: CellStores) => Promise<T>): Promise<T>
  /** All cells that can be reached, cell 0 first. */
  all(): readonly NumberedStores[]
  /** The names of the unreachable cells. */
  away(): readonly string[]
  /** True: a list fails while a cell is unavailable. False: it omits that cell, so that operators can go on working. */
  readonly listsAll: boolean
  /** Chooses the cell of a new merchant and records it in the directory. */
  placeNew(merchantId: string): Promise<CellStores>
}

export const routeStores = (cells: CellFinder): CellStores => ({
  merchants: routeMerchants(cells),
  apiKeys: routeKeys(cells),
  endpoints: routeEndpoints(cells),
})

/** Collects the results of all cells, or without `listsAll` of those that answer. */
async function fromAll<T>(
  { all, listsAll }: CellFinder,
  read: (stores: NumberedStores) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  const found = await Promise.all(
    all().map(stores =>
      read(stores).catch((error: unknown) => {
        if (isConnectionLost(error) && !listsAll) return []
        throw error
      }),
    ),
  )
  return found.flat()
}

/** Searches the cells until one has the object. An unavailable cell fails the search only if no other cell has it. */
async function fromFirst<T>(
  { all }: CellFinder,
  find: (stores: NumberedStores) => Promise<T | undefined | false>,
): Promise<T | undefined> {
  let away: unknown
  for (const stores of all()) {
    try {
      const found = await find(stores)
      if (found !== undefined && found !== false) return found
    } catch (error) {
      if (!isConnectionLost(error)) throw error
      away = error
    }
  }
  if (away !== undefined) throw away
  return undefined
}

/**
 * A bare API key does not name a merchant, so every cell is searched. A row that a move has left behind is ignored.
 * While a cell is unavailable, a key that was not found elsewhere cannot be called wrong.
 */
async function findByKey(
  cells: CellFinder,
  find: (merchants: MerchantStore) => Promise<readonly MerchantKey[]>,
): Promise<readonly MerchantKey[]> {
  const lookInto = async ({ number, merchants }: NumberedStores) => {
    const found = await find(merchants)
    const numbers = await Promise.all(found.map(({ merchant }) => cells.locate(merchant.merchantId)))
    return found.length > 0 && numbers.every(each => each === number) ? found : undefined
  }
  const found = await fromFirst(cells, lookInto)
  if (!found && cells.away().length > 0) throw new MerchantUnavailable('a cell that may know the key is away')
  return found ?? []
}

type Listed = Awaited<ReturnType<MerchantStore['list']>>[number]

/**
 * A move that is under way or was interrupted leaves the merchant in two cells; the directory decides which one counts.
 */
async function chooseCopy(
  { locate }: CellFinder,
  copies: readonly { readonly number: number; readonly merchant: Listed }[],
): Promise<Listed> {
  const [first, ...others] = copies
  if (!first) throw new Error('a group has one merchant at least')
  if (others.length === 0) return first.merchant
  const number = await locate(first.merchant.merchantId).catch((error: unknown) => {
    // Both copies are the same until the move has ended.
    if (error instanceof MerchantUnavailable) return first.number
    throw error
  })
  return (copies.find(copy => copy.number === number) ?? first).merchant
}

function routeMerchants(cells: CellFinder): MerchantStore {
  return {
    async insert(merchant) {
      const { merchants } = await cells.placeNew(merchant.merchantId)
      await merchants.insert(merchant)
    },
    async find(merchantId) {
      const found = await cells.visit(merchantId, ({ merchants }) => merchants.find(merchantId))
      // Without the directory it is unknown whether the merchant was moved, and where to.
      if (!found && cells.away().includes(cellName(0)))
        throw new MerchantUnavailable('the directory of the cells is away')
      return found
    },
    findByKeyId: keyId => findByKey(cells, merchants => merchants.findByKeyId(keyId)),
    findByKeyHash: keyHash => findByKey(cells, merchants => merchants.findByKeyHash(keyHash)),
    async list(merchantId) {
      if (merchantId !== undefined)
        return cells.visit(merchantId, ({ merchants }) => merchants.list(merchantId))
      const found = await fromAll(cells, async ({ number, merchants }) =>
        (await merchants.list()).map(merchant => ({ number, merchant })),
      )
      const groups = Map.groupBy(found, ({ merchant }) => merchant.merchantId).values()
      const once = await Promise.all([...groups].map(copies => chooseCopy(cells, copies)))
      return once.sort(
        (a, b) => a.createdAt.getTime() - b.createdAt.getTime() || (a.merchantId < b.merchantId ? -1 : 1),
      )
    },
    update: (merchantId, settings) =>
      cells.visit(merchantId, ({ merchants }) => merchants.update(merchantId, settings)),
    rotateSecret: rotation =>
      cells.visit(rotation.merchantId, ({ merchants }) => merchants.rotateSecret(rotation)),
  }
}

function routeKeys(cells: CellFinder): ApiKeyStore {
  return {
    insert: key => cells.visit(key.merchantId, ({ apiKeys }) => apiKeys.insert(key)),
    list: merchantId => cells.visit(merchantId, ({ apiKeys }) => apiKeys.list(merchantId)),
    revoke: keyId =>
      fromFirst(cells, async ({ number, apiKeys }) => {
        const revoked = await apiKeys.revoke(keyId)
        // A copy that an interrupted move has left behind may be revoked too, but only the merchant's cell counts.
        return revoked && (await cells.locate(revoked.merchantId)) === number ? revoked : undefined
      }),
    rotate: rotation => cells.visit(rotation.merchantId, ({ apiKeys }) => apiKeys.rotate(rotation)),
    async recordUses(uses) {
      const recorded = await Promise.all(
        uses.map(use => cells.visit(use.merchantId, ({ apiKeys }) => apiKeys.recordUses([use]))),
      )
      return recorded.flat()
    },
  }
}

function routeEndpoints(cells: CellFinder): EndpointStore {
  /** Changes the endpoint in its merchant's cell, not a copy that an interrupted move has left behind. */
  async function change(
    endpointId: string,
    work: (endpoints: EndpointStore) => Promise<boolean>,
  ): Promise<boolean> {
    const found = await fromFirst(cells, async ({ endpoints }) =>
      (await endpoints.list()).find(endpoint => endpoint.endpointId === endpointId),
    )
    return found !== undefined && cells.visit(found.merchantId, ({ endpoints }) => work(endpoints))
  }

  return {
    insert: (endpoint, secret) =>
      cells.visit(endpoint.merchantId, ({ endpoints }) => endpoints.insert(endpoint, secret)),
    list: merchantId =>
      merchantId === undefined
        ? fromAll(cells, ({ endpoints }) => endpoints.list())
        : cells.visit(merchantId, ({ endpoints }) => endpoints.list(merchantId)),
    remove: endpointId => change(endpointId, endpoints => endpoints.remove(endpointId)),
    rotateSecret: (endpointId, secret) =>
      change(endpointId, endpoints => endpoints.rotateSecret(endpointId, secret)),
    async readMark() {
      const marks = await Promise.all(cells.all().map(({ endpoints }) => endpoints.readMark()))
      return marks.join(' ')
    },
    async readAll() {
      const found = await Promise.all(cells.all().map(({ endpoints }) => endpoints.readAll()))
      return {
        mark: found.map(({ mark }) => mark).join(' '),
        endpoints: found.flatMap(({ endpoints }) => endpoints),
        deliveriesWait: found.some(({ deliveriesWait }) => deliveriesWait),
      }
    },
  }
}
