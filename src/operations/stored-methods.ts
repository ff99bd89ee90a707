/** The little that the account updater must know of customers' stored payment methods. Whoever keeps those hands it in. */
import type { MerchantId } from '#domain/ids.ts'

export interface StoredCard {
  readonly cardId: string
  /** YYYYMM */
  readonly expiryDate?: string
}

/** The card that takes the place of another; the same one where only its date is new. */
export interface CardReplacement extends StoredCard {
  readonly first6Digits: string
  readonly last4Digits: string
  readonly brand: string
}

export interface StoredMethods {
  /** Undefined: the merchant has no such customer, or the customer no such card. */
  find(
    merchantId: MerchantId,
    method: { readonly gatewayCustomerId: string; readonly paymentMethodId: string },
  ): Promise<StoredCard | undefined>
  /** Every stored method of the merchant that holds this card holds the other one from now on. */
  replaceCard(merchantId: MerchantId, cardId: string, by: CardReplacement): Promise<void>
}

/** For a gateway without stored payment methods: nobody has any. */
export const noStoredMethods: StoredMethods = {
  find: async () => undefined,
  replaceCard: async () => undefined,
}
