/**
 * What a provider's page hands back, and the pages of a provider without a web site of its own: the connector says what stands
 * on them, and we serve them beside our own pages, in the same look. Part of the connector contract; the rest is in contract.ts.
 */
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money.ts'
import type { CustomerStep } from '#lifecycle/payment.ts'

/** The page that a customer has opened. */
export interface SiteQuestion {
  /** Where the action has sent them. `instructions`: they act elsewhere, and the page stands below what they are to do. */
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

/** Text only: we escape it. */
export interface SitePage {
  readonly title: string
  readonly text: string
  /** The bank that asks, where it is the page of the card's issuer. */
  readonly issuer?: string
  /** What of the payment is shown, in this order; a fact that the payment lacks is left out. */
  readonly shows: readonly SiteFact[]
  /** The first is the one that most customers want. */
  readonly buttons: readonly SiteButton[]
  /** Handed to the browser with the button, and so to `readReturn` or `complete`. */
  readonly hidden: Readonly<Record<string, string>>
}

export type SiteFact = 'merchant' | 'amount' | 'reference' | 'date' | 'card' | 'instalments'

export interface SiteButton {
  readonly name: string
  readonly value: string
  readonly label: string
  readonly icon?: 'check' | 'cross' | 'arrow' | 'clock'
}

/** What the provider's page handed to the customer's browser on the way back. */
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
