/**
 * The merchant's provider accounts, as the engine uses them. The engine chooses an account once, before it writes
 * the payment, stores its id on the payment, and opens the same account for everything that follows.
 */
import type { Connector } from '#connectors/contract.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { Method } from '#methods/rows.ts'

/** What is known about a payment when its account is chosen. */
export interface AccountQuestion {
  readonly method: Method
  /** Of a card whose number is known. */
  readonly brand?: string
  readonly amount: Money
  /** Two letters: of the billing address, else of the shipping address, else of the card's issuer. */
  readonly country?: string
}

/** An enabled account, ready for calls. */
export interface OpenedAccount {
  /** `acc_…`; undefined: the simulator of a test merchant that has no accounts, which is not stored and not shown. */
  readonly accountId?: string
  /** The name of the connector as the record shows it. */
  readonly connectorName: string
  readonly connector: Connector
  /** How long the provider still wants to be left alone, in milliseconds. Absent: it never says so. */
  readonly waitMs?: () => number
  /** What customers read for a method type, where the account or its connector gives a name of its own. */
  label(type: string): string | undefined
}

export interface ProviderDirectory {
  /**
   * The enabled accounts that may take this payment, in the order of routing; empty: no account serves it. The engine
   * takes the first one, and the next only if the provider was certainly not reached. Answered from memory: this runs
   * for every payment and must not cost a round trip to the database.
   */
  candidates(merchantId: MerchantId, question: AccountQuestion): Promise<readonly OpenedAccount[]>
  /**
   * The account that a stored payment belongs to, enabled or not; without an id the simulator, in the test environment
   * only. Undefined: there is no such account.
   */
  open(merchantId: MerchantId, accountId: string | undefined): Promise<OpenedAccount | undefined>
  /** Every enabled account of the merchant, for lists of methods and pages: what can be offered before an amount is known. */
  enabled(merchantId: MerchantId): Promise<readonly OpenedAccount[]>
}
