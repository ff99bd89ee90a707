/**
 * A merchant's provider accounts, as the engine uses them. The engine chooses an account before it writes the payment,
 * stores the account's id with the payment, and opens the same account for every later operation.
 */
import type { Connector } from '#connectors/contract.ts'
import type { EarlyQuestion } from '#connectors/routing.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { Method } from '#methods/rows.ts'

/** The facts about a payment by which its account is chosen. */
export interface AccountQuestion {
  readonly method: Method
  /** The brand of a card whose number is known. */
  readonly brand?: string
  readonly amount: Money
  /** Two letters: the country of the billing address, or else of the shipping address. A plan's charge has that of its first payment. */
  readonly country?: string
}

/** An enabled account, ready for calls. */
export interface OpenedAccount {
  /**
   * `acc_…`. Undefined for the simulator that serves test merchants without accounts, which is neither stored nor
   * shown.
   */
  readonly accountId?: string
  /** The name of the connector, as payment records show it. */
  readonly connectorName: string
  readonly connector: Connector
  /**
   * For how many milliseconds the provider has asked not to be called (Retry-After). Absent: this provider never asks.
   */
  readonly waitMs?: () => number
  /** The name that customers see for a method type, if the account or its connector sets one. */
  label(type: string): string | undefined
}

export interface ProviderDirectory {
  /**
   * The enabled accounts that may take this payment, in routing order; empty: no account serves it. The engine uses the
   * first one, and the next one only if the provider was certainly not reached. Answered from memory, because this runs
   * for every payment and must not cost a round trip to the database.
   */
  candidates(merchantId: MerchantId, question: AccountQuestion): Promise<readonly OpenedAccount[]>
  /**
   * The account of a stored payment, enabled or not. Without an id: the simulator, in the test environment only.
   * Undefined: there is no such account.
   */
  open(merchantId: MerchantId, accountId: string | undefined): Promise<OpenedAccount | undefined>
  /** All enabled accounts of the merchant. */
  enabled(merchantId: MerchantId): Promise<readonly OpenedAccount[]>
  /**
   * For lists of methods, which are shown before a payment is known: the enabled accounts to which the merchant's rules
   * let some payment by a method go.
   */
  reachable(merchantId: MerchantId): Promise<(question: EarlyQuestion) => readonly OpenedAccount[]>
}
