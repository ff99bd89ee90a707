/**
 * The card, account or wallet of a payment, as sent to a provider. Part of the connector contract; contract.ts
 * re-exports these types.
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
  /** Held in memory until the call and never stored, so a repeated call omits it. */
  readonly securityCode?: Secret<string>
}

export interface ThreeDsRequest {
  readonly skip?: boolean
  readonly challengePreference?: string
  readonly exemption?: string
  /** The data of an authentication that the merchant made elsewhere, without its cryptogram. */
  readonly imported?: Readonly<Record<string, string>>
  /** The cryptogram of that authentication. Held in memory until the call and never stored. */
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
  /** The wallet's JSON object as text. Passed on unchanged, never stored. */
  readonly payload: Secret<string>
}

/**
 * The terms promised to a cardholder who pays in their own currency (DCC). The acquirer settles with the merchant as
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
  /** The provider's own token for the stored method, if it returned one with the approval. */
  readonly providerToken?: string
}

export interface SandboxData {
  /** The test cards to show below our card form. */
  readonly cards: readonly { readonly number: string; readonly description: string }[]
  /** Test data for this method's form, used for simulated customers; undefined: there is none. */
  instrument(method: Method): { readonly card?: CardData; readonly account?: AccountData } | undefined
  /**
   * For a simulated customer who takes this action: the hints to send beforehand, and the parameters that the page
   * returns.
   */
  customer?(action: CustomerDecision['action']): { readonly hints?: Hints; readonly returned: PageReturn }
}

/** Whether the merchant demands a challenge, so that the redirected customer needs a return address. */
export const demandsChallenge = ({ card, threeDs, payment }: Unsent<AuthorizationRequest>): boolean =>
  card !== undefined &&
  payment.integrationType === 'DIRECT' &&
  threeDs?.challengePreference === 'MANDATE_CHALLENGE' &&
  !threeDs.skip &&
  threeDs.imported === undefined
