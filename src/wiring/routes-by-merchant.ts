/** Routes requests for pages, the console and notices to the cell of their merchant. */
import type { PageRequest, PageRoute } from '#http/server/page-routes.ts'
import type { RawRoute } from '#http/server/raw-routes.ts'
import { MerchantUnavailable } from '#storage/cells/directory-store.ts'
import { isConnectionLost } from '#storage/database.ts'
import { createProviderAccountStore } from '#storage/providers/accounts.ts'
import type { Cell } from '#wiring/cell.ts'
import type { Cells } from '#wiring/cells.ts'

/** Finds the merchant of a page; undefined for pages without one, which cell 0 serves. */
type MerchantOf = (request: PageRequest) => string | undefined

export function routeByMerchant(
  cells: Cells,
  routesOf: (cell: Cell) => readonly PageRoute[],
  merchantOf: MerchantOf,
): readonly PageRoute[] {
  const own = routesOf(cells.home)
  return own.map((route, index) => ({
    ...route,
    handle: request => {
      const merchantId = cells.several ? merchantOf(request) : undefined
      if (merchantId === undefined) return route.handle(request)
      return cells.visit(merchantId, cell => (routesOf(cell)[index] ?? route).handle(request))
    },
  }))
}

/** The address of a page holds a token, sealed with a key that all cells share, or the merchant's id. */
export const routePages = (
  cells: Cells,
  routesOf: (cell: Cell) => readonly PageRoute[],
): readonly PageRoute[] =>
  routeByMerchant(
    cells,
    routesOf,
    ({ params }) => cells.home.pageTokens.read(params.pageToken ?? '')?.merchantId ?? params.merchantId,
  )

/** 10,000 accounts; beyond that the cache is cleared. */
const rememberedMax = 10_000

/**
 * The address of a notice names the provider account only. The merchant of an account never changes, so it is cached.
 */
export function routeNotices(cells: Cells): RawRoute {
  const { route } = cells.home.notices
  const owners = new Map<string, string>()

  async function findOwner(accountId: string): Promise<string | undefined> {
    const known = owners.get(accountId)
    if (known !== undefined) return known
    let isCellAway = cells.away().length > 0
    for (const { database } of cells.all()) {
      const found = await createProviderAccountStore(database)
        .find(accountId)
        .catch((error: unknown) => {
          if (!isConnectionLost(error)) throw error
          isCellAway = true
        })
      if (!found) continue
      if (owners.size >= rememberedMax) owners.clear()
      owners.set(accountId, found.merchantId)
      return found.merchantId
    }
    // Answer 503, so that the provider sends the notice again; after a 404 it might not.
    if (isCellAway) throw new MerchantUnavailable('a cell that may know the account is away')
    return undefined
  }

  return {
    ...route,
    async handle(request) {
      const owner = cells.several ? await findOwner(request.params.accountId ?? '') : undefined
      if (owner === undefined) return route.handle(request)
      return cells.visit(owner, cell => cell.notices.route.handle(request))
    },
    afterAnswer: () => {
      for (const cell of cells.all()) cell.notices.wake()
    },
  }
}
