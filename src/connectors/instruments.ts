/**
 * The card, account or wallet of a payment, as it is sent to a provider. Part of the connector contract; the rest is in
 * contract.ts.
 */
import type {
  AuthorizationRequest,
  CustomerDecision,
  Hints,
  PageReturn,
  Unsent,
} from '#connectors/contract.ts'
import type { Money } from '#domain/money/money.ts'
import type { Secret } from '#domain/secret.ts'
import type { Method } from '#methods/rows.ts'

export interface CardData {
  readonly number: Secret<string>
  /** YYYYMM */
  readonly expiryDate?: string
  readonly cardholderName?: string
  /** In memory between the request and the call, never stored: a repeated call omits it. */
  readonly securityCode?: Secret<string>
}

export interface ThreeDsRequest {
  readonly skip?: boolean
  readonly challengePreference?: string
  readonly exemption?: string
  /** An authentication that the merchant made elsewhere, without its proof. */
  readonly imported?: Readonly<Record<string, string>>
  /** The cryptogram of that authentication. In memory between the request and the call, never stored. */
  readonly authenticationValue?: Secret<string>
}

export interface AccountData {
  /** IBAN */
  readonly number: Secret<string>
  readonly holderName: string
  /** BIC */
  readonly code?: string
  readonly bankName?: string
  readonly mandateId?: string
  /** DD.MM.YYYY */
  readonly dateOfSignature?: string
}

export interface WalletData {
  /** Names the key that the payload was encrypted for. */
  readonly merchantIdentifier: string
  /** JSON text of an object. Passed on as it came, never stored. */
  readonly payload: Secret<string>
}

/**
 * The cardholder pays in their own currency: the terms promised to them. The acquirer settles with the merchant as
 * usual.
 */
export interface ConversionTerms {
  readonly quoteId: string
  readonly cardholderAmount: Money
  readonly exchangeRate: string
  readonly markupPercentage: string
}

export interface CredentialUse {
  readonly type: 'RECURRING' | 'UNSCHEDULED'
  readonly initial: boolean
  readonly initiator: 'CUSTOMER' | 'MERCHANT'
  readonly schemeReferenceId?: string
  /** The provider's own token of the stored method, if the approved payment returned one. */
  readonly providerToken?: string
}

export interface SandboxData {
  /** Shown below our card form. */
  readonly cards: readonly { readonly number: string; readonly description: string }[]
  /** Test data for the form of this method, for customers without a browser; undefined: none is known. */
  instrument(method: Method): { readonly card?: CardData; readonly account?: AccountData } | undefined
  /**
   * For a simulated customer without a browser who takes this action: the hints sent beforehand, and what the page
   * returns.
   */
  customer?(action: CustomerDecision['action']): { readonly hints?: Hints; readonly returned: PageReturn }
}

/** The merchant demands a challenge, so a customer who is redirected needs a return address. */
export const demandsChallenge = ({ card, threeDs, payment }: Unsent<AuthorizationRequest>): boolean =>
  card !== undefined &&
  payment.integrationType === 'DIRECT' &&
  threeDs?.challengePreference === 'MANDATE_CHALLENGE' &&
  !threeDs.skip &&
  threeDs.imported === undefined
