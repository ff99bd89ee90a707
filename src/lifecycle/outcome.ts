/** What a provider can have said about an operation, in the five words the whole house uses. */
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money.ts'

/**
 * `unreached` is certain: the request never arrived, so sending it again is safe. `unknown` may have happened:
 * only an inquiry may turn it into another outcome, and until then it counts as if it had.
 */
export type Outcome =
  | { readonly kind: 'approved'; readonly provider: ProviderFacts }
  | { readonly kind: 'declined'; readonly detail: string; readonly provider: ProviderFacts }
  | { readonly kind: 'pending'; readonly provider: ProviderFacts }
  | { readonly kind: 'unreached' }
  | { readonly kind: 'unknown' }

/** What a provider tells about one operation. Stored as it is, shown where the contract says so. */
export interface ProviderFacts {
  /** The provider's echo of what it was asked, compared with what we asked before anything is believed. */
  readonly echo: { readonly reference: XId; readonly amount: Money }
  readonly transactionId?: string
  readonly responseCode?: string
  readonly responseText?: string
  readonly approvalCode?: number
  readonly schemeReferenceId?: string
  /** What only some providers tell, by the names of the contract; methods/result-fields.ts says where each is shown. */
  readonly fields?: Readonly<Record<string, unknown>>
}
