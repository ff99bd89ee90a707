/** Creates the engine: the dependencies of operations, from one database and the keys of one installation. */

import type { MerchantId } from '#domain/ids.ts'
import { createCustomerBook } from '#operations/customers/customer-book.ts'
import type { Engine } from '#operations/engine.ts'
import { createPaymentQueue } from '#operations/payments/payment-queue.ts'
import { createSendings, type Standing } from '#operations/payments/provider-calls/sendings.ts'
import { createTurns } from '#operations/payments/turns.ts'
import { createVelocity } from '#operations/payments/velocity.ts'
import { createDebitReader } from '#storage/bank/items.ts'
import type { Change, Committed } from '#storage/commit/change.ts'
import { createGroupCommit } from '#storage/commit/group-commit.ts'
import { createReferenceReader } from '#storage/commit/provider-references.ts'
import { createCustomerDeletion } from '#storage/customers/customer-deletion.ts'
import { createCustomerPages } from '#storage/customers/customer-pages.ts'
import { createCustomerReader } from '#storage/customers/customers.ts'
import { createErasure } from '#storage/customers/erasure.ts'
import { createStoredMethods } from '#storage/customers/stored-methods.ts'
import type { Database } from '#storage/database.ts'
import { createDisputeStore } from '#storage/disputes/disputes.ts'
import { createPaymentFinder } from '#storage/payments/finding.ts'
import { createIntentReader } from '#storage/payments/intents.ts'
import { createMovementReader } from '#storage/payments/movements.ts'
import { createPaymentReader } from '#storage/payments/payments.ts'
import { createQuoteStore } from '#storage/payments/quotes.ts'
import { createPlanReader } from '#storage/plans/plans.ts'
import { createAccountStore } from '#storage/vault/account-store.ts'
import { createOneTimeKeyStore } from '#storage/vault/one-time-keys.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { createVelocityStore } from '#storage/velocity.ts'
import { createAccountVault } from '#vault/accounts.ts'
import { type CardVault, createCardVault } from '#vault/cards.ts'
import { createKeyRing, type DerivedKeys } from '#vault/key-ring.ts'
import { createOneTimeCards } from '#vault/one-time-cards.ts'
import { createRecordVault } from '#vault/sealed-records.ts'

export interface EngineParts
  extends Pick<
    Engine,
    | 'providers'
    | 'endpoints'
    | 'clock'
    | 'newId'
    | 'pageAddress'
    | 'returnAddress'
    | 'onOutcome'
    | 'onAlarm'
    | 'testCrash'
    | 'isAlive'
  > {
  readonly countInterruptions: Standing['countInterruptions']
  readonly database: Database
  readonly keys: DerivedKeys
  readonly masterKey: Parameters<typeof createKeyRing>[0]
  readonly environment: 'test' | 'live'
  /** Card numbers in the published catalogue of the test environment. */
  readonly publishedCards: readonly string[]
  /** How many processes serve the database, this one included. */
  readonly countProcesses: () => number
  /** Called with the number of changes that shared a commit. */
  readonly onBatch: (size: number) => void
  /** Called after a commit that held events. */
  readonly onEvents: () => void
}

export function createEngine(parts: EngineParts): Engine {
  const {
    database,
    keys,
    masterKey,
    onBatch,
    onEvents,
    environment,
    publishedCards,
    countProcesses,
    countInterruptions,
    ...handed
  } = parts
  const { clock, newId, isAlive } = handed
  const group = createGroupCommit(database.writers, { onBatch, onEndpoints: handed.endpoints.notice })
  const { commit, sendings } = createSendings(announceEvents(group.commit, onEvents), {
    isAlive,
    countInterruptions,
    nowMs: clock.nowMs,
  })
  const payments = createPaymentReader(database)
  const store = createVaultStore(database)
  const customers = createCustomerReader(database)
  const keyRing = createKeyRing(masterKey, store)
  const fingerprintKeys = () => keys.fingerprints
  const vault = createCardVault({ fingerprintKeys, keyRing, store })
  return {
    ...handed,
    environment,
    commit,
    sendings,
    payments,
    intents: createIntentReader(database),
    queue: createPaymentQueue({ commit, payments, waitMs: clock.waitMs }),
    vault,
    erasure: createErasure(database),
    disputeTurns: createTurns(),
    velocity: createVelocity({
      store: createVelocityStore(database),
      environment,
      publishedCardIds: rememberCardIds(publishedCards, vault),
      countProcesses,
    }),
    customers: { ...customers, ...createCustomerPages(database), ...createCustomerDeletion(database) },
    customerBook: createCustomerBook({ customers, newId }),
    storedMethods: createStoredMethods(database, customers),
    accounts: createAccountVault({ fingerprintKeys, keyRing, store: createAccountStore(database) }),
    quotes: createQuoteStore(database),
    oneTimeCards: createOneTimeCards(createOneTimeKeyStore(database), createRecordVault(keyRing)),
    plans: createPlanReader(database),
    disputes: createDisputeStore(database),
    references: createReferenceReader(database),
    finder: createPaymentFinder(database),
    movements: createMovementReader(database),
    debits: createDebitReader(database),
  }
}

/** 100 merchants: only test merchants with a velocity limit are ever looked up. */
const rememberedMax = 100

function rememberCardIds(numbers: readonly string[], vault: Pick<CardVault, 'cardIdsOf'>) {
  const remembered = new Map<MerchantId, ReadonlySet<string>>()
  return (merchantId: MerchantId): ReadonlySet<string> => {
    const known = remembered.get(merchantId)
    // A new root secret adds an id to each card.
    const [newestId] = vault.cardIdsOf(merchantId, numbers[0] ?? '')
    if (known && newestId !== undefined && known.has(newestId)) return known
    const cardIds = new Set(numbers.flatMap(number => vault.cardIdsOf(merchantId, number)))
    if (remembered.size >= rememberedMax) remembered.clear()
    remembered.set(merchantId, cardIds)
    return cardIds
  }
}

type Commit = (change: Change) => Promise<Committed>

/**
 * Wakes the delivery worker after a commit that held events, so that delivery does not wait for the next poll.
 */
const announceEvents =
  (commit: Commit, onEvents: () => void): Commit =>
  change => {
    if (change.events === undefined) return commit(change)
    return commit(change).then(committed => {
      if (committed.committed) onEvents()
      return committed
    })
  }
