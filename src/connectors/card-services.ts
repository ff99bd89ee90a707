/**
 * Services besides payments that some providers offer: card updates, instalment plans, returned debits. Part of the
 * connector contract; contract.ts re-exports these types.
 */
import type { Secret } from '#domain/secret.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'

/** A card whose new number or expiry date the schemes are asked for. */
export interface CardQuestion {
  readonly number: Secret<string>
  readonly expiryDate?: string
}

export type CardUpdate =
  | { readonly status: 'CARD_UPDATED'; readonly number: Secret<string>; readonly expiryDate?: string }
  | { readonly status: 'EXPIRY_UPDATED'; readonly expiryDate: string }
  | { readonly status: 'NO_CHANGE' | 'CARD_CLOSED' | 'CONTACT_CARDHOLDER' | 'NOT_FOUND' | 'FAILED' }

/** The instalments of an amount, as shown to customers before they decide. */
export interface InstalmentPlan {
  readonly currency: string
  /** YYYY-MM-DD, the first one first. */
  readonly instalments: readonly { readonly dueDate: string; readonly value: number }[]
  /** Interest and fees of all instalments. */
  readonly cost: number
  /** The total that the customer pays. */
  readonly total: number
}

/** A captured debit that the customer's bank has taken back. */
export interface DebitReturn {
  /** The last four digits of the response code with the reason. */
  readonly detail: string
  readonly provider: ProviderFacts
}
