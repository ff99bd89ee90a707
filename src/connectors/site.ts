/**
 * The return parameters of a provider's page, and pages that we serve for a provider without a web site: the connector
 * describes their content, and they have the design of our own pages. Part of the connector contract; contract.ts
 * re-exports these types.
 */
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type { CustomerStep } from '#lifecycle/payment.ts'

/** The page that a customer has opened. */
export interface SiteQuestion {
  /** The customer's step. `instructions`: they pay elsewhere, and the form is shown below the instructions. */
  readonly step: CustomerStep
  /** Our reference of the try that sent the customer here. */
  readonly reference: XId
  /** The amount of the payment, which the page shows. */
  readonly amount: Money
  /** The name of the method in the customer's language. */
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
  /** The facts about the payment to show, in this order. Unknown ones are left out. */
  readonly shows: readonly SiteFact[]
  /** The first is the primary button. */
  readonly buttons: readonly SiteButton[]
  /** Hidden form fields, which reach `readReturn` or `complete` with the pressed button. */
  readonly hidden: Readonly<Record<string, string>>
}

export type SiteFact = 'merchant' | 'amount' | 'reference' | 'date' | 'card' | 'instalments'

export interface SiteButton {
  readonly name: string
  readonly value: string
  readonly label: string
  readonly icon?: 'check' | 'cross' | 'arrow' | 'clock'
}

/** The parameters with which the provider's page sent the customer's browser back. */
export interface PageReturn {
  readonly query: Readonly<Record<string, string>>
  /** The fields of a form POST. */
  readonly form: Readonly<Record<string, string>>
}

/** The customer's decision on a provider's page. */
export interface CustomerDecision {
  readonly action: 'approve' | 'decline' | 'cancel' | 'pending'
  /** The reference of the decided try, if the page returns one. A decision about another try has no effect. */
  readonly reference?: string
  /** The amount that the page showed. If the payment's amount has changed since, the decision has no effect. */
  readonly amount?: Money
}
