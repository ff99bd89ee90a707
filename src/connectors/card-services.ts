/**
 * What some providers offer besides payments: card updates, instalment plans, returned debits. Part of the connector
 * contract, which re-exports these types.
 */
import type { Secret } from '#domain/secret.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'

/** A card for which the schemes are asked for a new number or expiry date. */
export interface CardQuestion {
  readonly number: Secret<string>
  readonly expiryDate?: string
}

export type CardUpdate =
  | { readonly status: 'CARD_UPDATED'; readonly number: Secret<string>; readonly expiryDate?: string }
  | { readonly status: 'EXPIRY_UPDATED'; readonly expiryDate: string }
  | { readonly status: 'NO_CHANGE' | 'CARD_CLOSED' | 'CONTACT_CARDHOLDER' | 'NOT_FOUND' | 'FAILED' }

/** How an amount is paid in parts, as shown to customers before they decide. */
export interface InstalmentPlan {
  readonly currency: string
  /** YYYY-MM-DD, the first one first. */
  readonly instalments: readonly { readonly dueDate: string; readonly value: number }[]
  /** Interest and fees of all parts. */
  readonly cost: number
  /** What the customer pays in all. */
  readonly total: number
}

/** Collected money that was taken back without an action of the merchant. */
export interface DebitReturn {
  /** The last four digits of the response code with the reason. */
  readonly detail: string
  readonly provider: ProviderFacts
}
