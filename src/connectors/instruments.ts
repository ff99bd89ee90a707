/** What a payment is made with, as a provider is asked with it. Part of the connector contract; the rest is in contract.ts. */
import type {
  AuthorizationRequest,
  CustomerDecision,
  Hints,
  PageReturn,
  Unsent,
} from '#connectors/contract.ts'
import type { Money } from '#domain/money.ts'
import type { Secret } from '#domain/secret.ts'
import type { Method } from '#methods/rows.ts'

export interface CardData {
  readonly number: Secret<string>
  /** YYYYMM */
  readonly expiryDate?: string
  readonly cardholderName?: string
  /** In memory between the request and the call, never stored: a call that is made again goes without it. */
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

/** The cardholder pays in their own currency: what was promised to them. The acquirer settles with the merchant as ever. */
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
  /** The provider's own token of the stored method, where the approving payment brought one. */
  readonly providerToken?: string
}

export interface SandboxData {
  /** Shown below our card form. */
  readonly cards: readonly { readonly number: string; readonly description: string }[]
  /** What customers without a browser fill into the form of this method; undefined: nothing is known that it takes. */
  instrument(method: Method): { readonly card?: CardData; readonly account?: AccountData } | undefined
  /** A customer without a browser who does this: what the sandbox is told beforehand, and what its page hands back then. */
  customer?(action: CustomerDecision['action']): { readonly hints?: Hints; readonly returned: PageReturn }
}

/** The merchant wants the cardholder to be asked, so a customer who is sent away needs a way back. */
export const demandsChallenge = ({ card, threeDs, payment }: Unsent<AuthorizationRequest>): boolean =>
  card !== undefined &&
  payment.integrationType === 'DIRECT' &&
  threeDs?.challengePreference === 'MANDATE_CHALLENGE' &&
  !threeDs.skip &&
  threeDs.imported === undefined
