/**
 * What a provider's page returns, and the pages of a provider without a web site of its own: the connector describes
 * their content, and we serve them beside our own pages, in the same design. Part of the connector contract; the rest
 * is in contract.ts.
 */
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { CustomerStep } from '#lifecycle/payment.ts'

/** The page that a customer has opened. */
export interface SiteQuestion {
  /** Where the action has sent them. `instructions`: they act elsewhere, and the form is below the instructions. */
  readonly step: CustomerStep
  /** The try that sent them here: our reference, as in its request. */
  readonly reference: XId
  /** The amount of the payment, which the page shows. */
  readonly amount: Money
  /** What customers call the method, in their language. */
  readonly methodLabel: string
  /** BCP 47, one of the languages of our own pages. */
  readonly language: string
}

/** Plain text; it is escaped when it is rendered. */
export interface SitePage {
  readonly title: string
  readonly text: string
  /** The issuing bank, on a page of the card's issuer. */
  readonly issuer?: string
  /** The facts of the payment to show, in this order; missing ones are left out. */
  readonly shows: readonly SiteFact[]
  /** The first is the primary button. */
  readonly buttons: readonly SiteButton[]
  /** Sent with the button, and so passed to `readReturn` or `complete`. */
  readonly hidden: Readonly<Record<string, string>>
}

export type SiteFact = 'merchant' | 'amount' | 'reference' | 'date' | 'card' | 'instalments'

export interface SiteButton {
  readonly name: string
  readonly value: string
  readonly label: string
  readonly icon?: 'check' | 'cross' | 'arrow' | 'clock'
}

/** What the provider's page passed to the customer's browser for the return. */
export interface PageReturn {
  readonly query: Readonly<Record<string, string>>
  /** Of a form POST. */
  readonly form: Readonly<Record<string, string>>
}

/** What a customer did on the page of a provider. */
export interface CustomerDecision {
  readonly action: 'approve' | 'decline' | 'cancel' | 'pending'
  /** The try that the page decided about, where it names one. A decision about another try has no effect. */
  readonly reference?: string
  /** The amount that the page showed. A decision about another amount than the payment's has no effect. */
  readonly amount?: Money
}
