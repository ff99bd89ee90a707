/** Wires the console: operators, passkeys, figures, and the functions that its pages call. */

import { definitions as registered } from '#connectors/registry.ts'
import { toConsoleOrigin } from '#console/address.ts'
import type { ConsoleDeps } from '#console/context.ts'
import { createGuessing } from '#console/guessing.ts'
import { createOverviews } from '#console/overviews.ts'
import { createPasskeys } from '#console/passkeys.ts'
import { createPaymentRows } from '#console/payment-rows.ts'
import { createPeople, wrongCodesLimit } from '#console/people.ts'
import { createConsoleRoutes } from '#console/routes.ts'
import { searchCells } from '#console/search-cells.ts'
import { createFailedLogins } from '#http/authentication/rate-limit.ts'
import type { CallInside } from '#http/server/inside-call.ts'
import type { PageRoute } from '#http/server/page-routes.ts'
import { openWebhookSecret } from '#operations/events/webhook-secret.ts'
import { createAdministration, newId } from '#operations/merchants/open-merchants.ts'
import { createProviderAdministration } from '#providers/administration.ts'
import { auditProviders } from '#providers/audited.ts'
import { createAuditStore } from '#storage/audit/audit.ts'
import { MerchantUnavailable } from '#storage/cells/directory-store.ts'
import { createFigureStore } from '#storage/console/figures.ts'
import { createFormStore } from '#storage/console/forms.ts'
import { createPeopleStore } from '#storage/console/people.ts'
import { createPaymentSearch } from '#storage/console/search.ts'
import { createStoryStore } from '#storage/console/story.ts'
import { createPaymentFinder } from '#storage/payments/finding.ts'
import { createProviderAccountStore } from '#storage/providers/accounts.ts'
import { createNoticeStore } from '#storage/providers/notices.ts'
import { createSettlementStore } from '#storage/providers/settlements.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { createKeyRing } from '#vault/key-ring.ts'
import { createRecordVault } from '#vault/sealed-records.ts'
import { type Cell, perCell } from '#wiring/cell.ts'
import type { Cells } from '#wiring/cells.ts'
import { routeByMerchant } from '#wiring/routes-by-merchant.ts'
import type { Shared } from '#wiring/shared.ts'

interface ConsoleWays {
  readonly callInside: CallInside
  readonly origin: () => string
}

/** Operators, their sessions and the audit trail are in cell 0; everything else is in the merchant's own cell. */
export function createConsole(shared: Shared, cells: Cells, ways: ConsoleWays): readonly PageRoute[] {
  const people = openPeople(shared, cells.home)
  const routesOf = perCell(cell => createConsoleRoutes(openDeps(cell, { shared, cells, ways, people })))
  return routeByMerchant(cells, routesOf, ({ params }) => params.merchant)
}

type PeopleParts = Pick<
  ConsoleDeps,
  'people' | 'peopleStore' | 'passkeys' | 'auditStore' | 'guessing' | 'forms'
>

function openPeople({ options, counts }: Shared, { database, keys, audit }: Cell): PeopleParts {
  // Operators, codes and sessions use real time, even if a test clock was moved.
  const nowMs = Date.now
  const vault = createRecordVault(createKeyRing(options.masterKey, createVaultStore(database)))
  const peopleStore = createPeopleStore(database)
  const forms = createFormStore(database)
  return {
    people: createPeople({
      ...{ store: peopleStore, vault, newId, nowMs },
      wrongCodes: createFailedLogins({ nowMs, shared: counts.scope('console codes') }, wrongCodesLimit),
    }),
    peopleStore,
    passkeys: createPasskeys({ store: peopleStore, used: forms, key: () => keys.consoleChallenge, nowMs }),
    auditStore: createAuditStore(database),
    forms,
    guessing: createGuessing({
      ofPerson: createFailedLogins({ nowMs, shared: counts.scope('console') }),
      ofAddress: createFailedLogins({ nowMs, shared: counts.scope('console addresses') }, failuresOfAddress),
      async onFailure({ email, address }) {
        // Record the address only if it is an operator's: people type passwords and card numbers into the wrong field.
        const person = await peopleStore.findByEmail(email)
        audit.access.onFailedSignIn(person?.email, address)
      },
    }),
  }
}

/** 100 a minute: enough for an office behind one address, too few to try one password with every name. */
const failuresOfAddress = { failures: 100 }

interface ConsoleParts {
  readonly shared: Shared
  readonly cells: Cells
  readonly ways: ConsoleWays
  readonly people: PeopleParts
}

function openDeps(cell: Cell, { shared, cells, ways, people }: ConsoleParts): ConsoleDeps {
  const { options, changes } = shared
  const { environment } = options
  const { database, keys } = cell
  const { origin, callInside } = ways
  const vault = createRecordVault(createKeyRing(options.masterKey, createVaultStore(database)))
  return {
    ...people,
    environment,
    overviews: createOverviews(createFigureStore(database), Date.now),
    search: searchAll(cells),
    paymentRows: createPaymentRows(createPaymentFinder(database)),
    story: createStoryStore(database),
    settlements: createSettlementStore(database),
    notices: createNoticeStore(database),
    openWebhookSecret: (merchantId, sealed) => openWebhookSecret(keys.webhookSecrets, { merchantId }, sealed),
    listMerchants: merchantId => cells.stores.merchants.list(merchantId),
    cellsAway: cells.away,
    callInside,
    merchantsAs: audit => {
      const { merchants, apiKeys, endpoints } = cells.stores
      return createAdministration({ ...{ environment, keys, merchants, changes, audit }, apiKeys, endpoints })
    },
    providersAs: audit =>
      auditProviders(
        createProviderAdministration({
          ...{ environment, vault, newId, origin },
          definitions: options.definitions ?? registered,
          store: createProviderAccountStore(database),
        }),
        audit,
      ),
    testTools: { clock: cell.testClock, faults: cell.faults, keys: cell.keyReader },
    origin,
    consoleOrigin: () =>
      toConsoleOrigin(origin(), options.publicUrl === undefined ? options.consolePort : undefined),
    newId,
    nowMs: Date.now,
  }
}

const searchAll =
  (cells: Cells): ConsoleDeps['search'] =>
  async (merchants, typed) => {
    const places = await Promise.all(merchants.map(merchantId => findPlace(cells, merchantId)))
    const open = cells.all().map(({ number, database }) => {
      const here = merchants.filter((_, index) => (places[index] ?? number) === number)
      return { number, find: (limit: number) => createPaymentSearch(database).find(here, typed, limit) }
    })
    return searchCells(open, cells.away())
  }

/**
 * A move that was interrupted leaves old rows in another cell, which must not be shown. Undefined while a move lasts: until
 * it ends, both copies are the same.
 */
async function findPlace(cells: Cells, merchantId: string): Promise<number | undefined> {
  try {
    return await cells.locate(merchantId)
  } catch (error) {
    if (error instanceof MerchantUnavailable) return undefined
    throw error
  }
}
