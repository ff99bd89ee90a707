/** The part of customers' stored payment methods that the account updater needs. */
import { type MerchantId, parseCustomerId, parseStoredMethodId } from '#domain/ids.ts'
import type { StoredMethods as CustomersMethods } from '#storage/customers/stored-methods.ts'

export interface StoredCard {
  readonly cardId: string
  /** YYYYMM */
  readonly expiryDate?: string
}

/** The card that replaces another one; the same card if only its expiry date is new. */
export interface CardReplacement extends StoredCard {
  readonly first6Digits: string
  readonly last4Digits: string
  readonly brand: string
  /** The merchant's time. */
  readonly now: Date
}

export interface StoredMethods {
  /** Undefined: the merchant has no such customer, or the customer no such card. */
  find(
    merchantId: MerchantId,
    method: { readonly gatewayCustomerId: string; readonly paymentMethodId: string },
  ): Promise<StoredCard | undefined>
  /** Replaces this card by the other one in every stored method of the merchant. */
  replaceCard(merchantId: MerchantId, cardId: string, by: CardReplacement): Promise<void>
}

/** The stored methods as the updater sees them. A malformed id finds nothing. */
export const storedMethodsOf = (vault: CustomersMethods): StoredMethods => ({
  async find(merchantId, { gatewayCustomerId, paymentMethodId }) {
    const customerId = parseCustomerId(gatewayCustomerId)
    const methodId = parseStoredMethodId(paymentMethodId)
    const stored = customerId && methodId && (await vault.find(merchantId, customerId, methodId))
    return stored?.cardId === undefined ? undefined : { cardId: stored.cardId, expiryDate: stored.expiryDate }
  },
  async replaceCard(merchantId, cardId, { now, ...next }) {
    await vault.replaceCard({ merchantId, cardId, next, now })
  },
})
