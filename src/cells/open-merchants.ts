/** The merchants of all cells for commands that need no server. */
import { type CellFinder, type NumberedStores, routeStores } from '#cells/stores.ts'
import { type Actor, auditAs, gatewayActor } from '#operations/audit/audit.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'
import { createAdministration } from '#operations/merchants/open-merchants.ts'
import { createApiKeyStore } from '#storage/api-keys.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
import type { CellAddress } from '#storage/cells/address.ts'
import {
  createDirectoryStore,
  type DirectoryStore,
  MerchantUnavailable,
} from '#storage/cells/directory-store.ts'
import { type Database, isConnectionLost, openDatabase } from '#storage/database.ts'
import { createEndpointStore } from '#storage/events/endpoints.ts'
import { createInstallation } from '#storage/installation.ts'
import { createMerchantStore } from '#storage/merchants.ts'
import { openDerivedKeys } from '#vault/key-ring.ts'

export async function openMerchants(options: {
  readonly environment: 'test' | 'live'
  /** Cell 0 first. */
  readonly cells: readonly Pick<CellAddress, 'number' | 'url'>[]
  readonly masterKey: Parameters<typeof openDerivedKeys>[0]
  /** The actor in the audit trail; the gateway itself unless given. */
  readonly actor?: Actor
}): Promise<{ merchants: MerchantAdministration; close(): Promise<void> }> {
  const { environment, cells, masterKey, actor = gatewayActor } = options
  let broken: Error | undefined
  const databases = cells.map(({ url }) =>
    openDatabase(url, error => {
      broken = error
    }),
  )
  const close = async (): Promise<void> => {
    await Promise.all(databases.map(database => database.close()))
  }
  try {
    const [home] = databases
    if (!home) throw new Error('there is no cell 0')
    const keys = await openDerivedKeys(masterKey, createInstallation(home))
    const all = databases.map((database, index) => openStores(cells[index]?.number ?? 0, database))
    const [first] = all
    const stores = all.length === 1 && first ? first : routeStores(findBy(createDirectoryStore(home), all))
    return {
      merchants: createAdministration({
        ...{ environment, keys, changes: new Set(), audit: auditAs(actor, createAuditStore(home)) },
        ...{ merchants: stores.merchants, apiKeys: stores.apiKeys, endpoints: stores.endpoints },
      }),
      async close() {
        await close()
        if (broken) throw broken
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

interface OpenStores extends NumberedStores {
  readonly ping: Database['ping']
}

const openStores = (number: number, database: Database): OpenStores => ({
  number,
  ping: database.ping,
  merchants: createMerchantStore(database),
  apiKeys: createApiKeyStore(database),
  endpoints: createEndpointStore(database),
})

function findBy(store: DirectoryStore, all: readonly OpenStores[]): CellFinder {
  const at = (number: number): NumberedStores => {
    const found = all.find(stores => stores.number === number)
    if (!found) throw new MerchantUnavailable('the cell of the merchant is not known')
    return found
  }
  async function locate(merchantId: string): Promise<number> {
    const place = await store.find(merchantId)
    if (place?.movingForMs !== undefined)
      throw new MerchantUnavailable('the merchant is being moved to another cell')
    return place?.cell ?? 0
  }
  return {
    locate,
    visit: async (merchantId, work) => work(at(await locate(merchantId))),
    all: () => all,
    away: () => [],
    // A command's list is often read by a program, which could not see that merchants are missing.
    listsAll: true,
    async placeNew(merchantId) {
      const emptiest = await chooseEmptiest(store, all)
      await store.place(merchantId, emptiest.number)
      return emptiest
    },
  }
}

/** The cell for a new merchant: the emptiest of those that answer. */
export async function chooseEmptiest<T extends { readonly number: number; readonly ping: Database['ping'] }>(
  store: Pick<DirectoryStore, 'count'>,
  cells: readonly T[],
): Promise<T> {
  const counts = await store.count()
  const countOf = ({ number }: T): number => counts.get(number) ?? 0
  for (const cell of cells.toSorted((a, b) => countOf(a) - countOf(b) || a.number - b.number)) {
    const answers = await cell.ping().then(
      () => true,
      (error: unknown) => {
        if (isConnectionLost(error)) return false
        throw error
      },
    )
    if (answers) return cell
  }
  throw new MerchantUnavailable('no cell can be reached')
}
