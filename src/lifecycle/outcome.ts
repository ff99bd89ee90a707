/** The six outcomes that a call to a provider can have. */
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'

/**
 * `unreached` is certain: the request never arrived, so sending it again is safe. `unknown` may have happened:
 * only a notice, an inquiry or an undo may turn it into another outcome, and until then it counts as if it had.
 */
export type Outcome =
  | {
      readonly kind: 'approved'
      readonly provider: ProviderFacts
      /** Of a capture: the provider says that it has released what the capture left open. */
      readonly restReleased?: boolean
    }
  | {
      readonly kind: 'declined'
      readonly detail: string
      readonly provider: ProviderFacts
      /** The provider's page expired unpaid. This is not a decline: a payment that stays open longer gets a new page. */
      readonly pageEnded?: boolean
      /** The provider refused the caller, not the operation: this call did nothing and says nothing about an earlier one. */
      readonly callRefused?: boolean
    }
  | {
      readonly kind: 'pending'
      readonly provider: ProviderFacts
      /** The money moves on a known later day: the payment shows that its capture is requested. */
      readonly scheduled?: boolean
    }
  | { readonly kind: 'unreached' }
  | {
      readonly kind: 'unknown'
      /**
       * Why a received answer was not understood: a field or value that another version of the provider's API has
       * changed.
       */
      readonly reason?: string
    }

export type Declined = Extract<Outcome, { kind: 'declined' }>

/** The sixth outcome: the provider continues once the customer has acted. Only authorisations have it. */
export interface CustomerActionOutcome {
  readonly kind: 'action'
  readonly action: CustomerAction
  readonly provider: ProviderFacts
  /** When the provider's page ends; a customer who comes later gets a new one. Real time. */
  readonly expiresAt?: Date
}

export type CustomerAction =
  /** Send the customer to an address of the provider or the issuer. */
  | {
      readonly type: 'redirect'
      readonly url: string
      readonly verb: 'GET' | 'POST'
      readonly fields?: Readonly<Record<string, string>>
      /** 3-D Secure: shown as such to the customer. */
      readonly challenge?: boolean
    }
  /** Show what to do: pay to this account, scan this code, take this voucher to a shop. */
  | {
      readonly type: 'instructions'
      readonly instructions: Instructions
      /** Of a sandbox: where a developer says what the customer did elsewhere, at a till or in online banking. */
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

/** What a provider reports about one operation. Stored unchanged, shown where the contract says so. */
export interface ProviderFacts {
  /** Reference and amount as the provider repeats them; an answer that differs from the request is not trusted. */
  readonly echo: { readonly reference: XId; readonly amount: Money }
  readonly transactionId?: string
  readonly responseCode?: string
  readonly responseText?: string
  readonly approvalCode?: number
  readonly schemeReferenceId?: string
  /** The provider's own token of the card or account, where it keeps one for later payments. */
  readonly providerToken?: string
  /** Of a refund that failed: the account or card can never take it, so that another try is in vain. */
  readonly undeliverable?: boolean
  /** What only some providers return, by the names of the contract; methods/result-fields.ts says where each is shown. */
  readonly fields?: Readonly<Record<string, unknown>>
  /** Ours: what the customer was asked to do, kept until the operation is decided. */
  readonly action?: StoredAction
}

/** An action as it lies in the database: times are text. */
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
