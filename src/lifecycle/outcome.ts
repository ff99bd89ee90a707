/** The six possible outcomes of a provider call. */
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'

/**
 * `unreached`: the request certainly never arrived, so sending it again is safe. `unknown`: the operation may have
 * happened, and counts as if it had until a notice, an inquiry or an undo tells more.
 */
export type Outcome =
  | {
      readonly kind: 'approved'
      readonly provider: ProviderFacts
      /** For a capture: the provider says that it has released the amount that the capture left open. */
      readonly restReleased?: boolean
    }
  | {
      readonly kind: 'declined'
      readonly detail: string
      readonly provider: ProviderFacts
      /** The provider's page expired unpaid. Not a real decline: if the payment is still open, it gets a new page. */
      readonly pageEnded?: boolean
      /**
       * The provider refused the caller (credentials, permissions), not the operation: this call did nothing and says
       * nothing about the fate of an earlier one.
       */
      readonly callRefused?: boolean
    }
  | {
      readonly kind: 'pending'
      readonly provider: ProviderFacts
      /** The provider will collect the money on a later day: the payment shows CAPTURE_REQUEST. */
      readonly scheduled?: boolean
    }
  | { readonly kind: 'unreached' }
  | {
      readonly kind: 'unknown'
      /**
       * Why an answer was not understood, e.g. a field or value that a new version of the provider's API has changed.
       */
      readonly reason?: string
    }

export type Declined = Extract<Outcome, { kind: 'declined' }>

/** The sixth outcome: the provider waits until the customer has acted. Only authorisations have it. */
export interface CustomerActionOutcome {
  readonly kind: 'action'
  readonly action: CustomerAction
  readonly provider: ProviderFacts
  /** When the provider's page expires, in real time. A customer who comes later gets a new page. */
  readonly expiresAt?: Date
}

export type CustomerAction =
  /** Send the customer to an address of the provider or the issuer. */
  | {
      readonly type: 'redirect'
      readonly url: string
      readonly verb: 'GET' | 'POST'
      readonly fields?: Readonly<Record<string, string>>
      /** A 3-D Secure challenge, which the page announces as such to the customer. */
      readonly challenge?: boolean
    }
  /** Show what to do: pay to this account, scan this code, take this voucher to a shop. */
  | {
      readonly type: 'instructions'
      readonly instructions: Instructions
      /** Sandboxes only: where a developer simulates what the customer does at a till or in online banking. */
      readonly testUrl?: string
    }

export interface Instructions {
  readonly reference?: string
  /** Text for a QR code. */
  readonly qrCode?: string
  readonly barcode?: string
  readonly iban?: string
  readonly bic?: string
  readonly bankName?: string
  readonly accountHolderName?: string
  readonly entity?: string
  readonly downloadUrl?: string
  readonly deadline?: Date
}

/** What a provider reports about one operation. Stored unchanged; the API shows the fields that its contract names. */
export interface ProviderFacts {
  /** Reference and amount as the provider echoes them. If they differ from the request, the outcome is unknown. */
  readonly echo: { readonly reference: XId; readonly amount: Money }
  readonly transactionId?: string
  readonly responseCode?: string
  readonly responseText?: string
  readonly approvalCode?: number
  readonly schemeReferenceId?: string
  /** The provider's own token for the card or account, if it stores one for later payments. */
  readonly providerToken?: string
  /** For a failed refund: the card or account can never receive it, so another try would fail too. */
  readonly undeliverable?: boolean
  /**
   * Fields that only some providers return, under their API names; methods/result-fields.ts says where each is shown.
   */
  readonly fields?: Readonly<Record<string, unknown>>
  /** Added by us: what the customer was asked to do, kept until the operation is decided. */
  readonly action?: StoredAction
}

/** A customer action as it is stored: times are ISO texts. */
export type StoredAction =
  | (Extract<CustomerAction, { type: 'redirect' }> & {
      readonly expiresAt?: string
      /** The provider has reported that its page ended, even before the announced time. */
      readonly hasEnded?: boolean
    })
  | {
      readonly type: 'instructions'
      readonly instructions: Omit<Instructions, 'deadline'> & { readonly deadline?: string }
      readonly testUrl?: string
      readonly expiresAt?: string
    }
