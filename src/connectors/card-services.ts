/**
 * What some providers offer besides payments: news of cards, plans of instalments, debits that a bank sends back. Part of
 * the connector contract, which hands these types on.
 */
import type { Secret } from '#domain/secret.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'

/** A card that the schemes are asked about: has it got a new number or date? */
export interface CardQuestion {
  readonly number: Secret<string>
  readonly expiryDate?: string
}

export type CardUpdate =
  | { readonly status: 'CARD_UPDATED'; readonly number: Secret<string>; readonly expiryDate?: string }
  | { readonly status: 'EXPIRY_UPDATED'; readonly expiryDate: string }
  | { readonly status: 'NO_CHANGE' | 'CARD_CLOSED' | 'CONTACT_CARDHOLDER' | 'NOT_FOUND' | 'FAILED' }

/** How an amount is paid in parts, as customers are shown it before they decide. */
export interface InstalmentPlan {
  readonly currency: string
  /** YYYY-MM-DD, the first one first. */
  readonly instalments: readonly { readonly dueDate: string; readonly value: number }[]
  /** Interest and fees of all parts. */
  readonly cost: number
  /** What the customer pays in all. */
  readonly total: number
}

/** Money that was collected and has gone back without the merchant's doing. */
export interface DebitReturn {
  /** The last four digits of the response code with the reason. */
  readonly detail: string
  readonly provider: ProviderFacts
}
