/**
 * Further queries on stored methods: those that a known customer may choose from, and the replacement of a card.
 */
import type { CustomerId, MerchantId, StoredMethodId } from '#domain/ids.ts'
import { isStoredCard, type StoredCard, type StoredMethod } from '#lifecycle/customer.ts'
import type { CustomerReader } from '#storage/customers/customers.ts'
import type { Database } from '#storage/database.ts'
import { byOtherIndex, lookUp } from '#storage/planner.ts'

export interface CardReplacement {
  readonly merchantId: MerchantId
  /** The card as it is stored now. */
  readonly cardId: string
  /** The new card, whose row is already in the vault; the same card if only its expiry date is new. */
  readonly next: {
    readonly cardId: string
    readonly last4Digits: string
    readonly brand: string
    readonly expiryDate?: string
  }
  /** In the merchant's time. */
  readonly now: Date
}

export interface StoredMethods {
  /** A stored card, with its id in the vault and its pseudo number; undefined if the method is an account. */
  find(
    merchantId: MerchantId,
    customerId: CustomerId,
    methodId: StoredMethodId,
  ): Promise<StoredCard | undefined>
  /** The same for a card or an account. */
  findAny(
    merchantId: MerchantId,
    customerId: CustomerId,
    methodId: StoredMethodId,
  ): Promise<StoredMethod | undefined>
  /** The cards of the customer with this merchant's id; empty if there is none. */
  listRemembered(merchantId: MerchantId, merchantCustomerId: string): Promise<readonly StoredCard[]>
  /** Whether one of that customer's cards or accounts has this pseudo number. */
  holdsPseudoNumber(
    merchantId: MerchantId,
    merchantCustomerId: string,
    pseudoNumber: string,
  ): Promise<boolean>
  /** Replaces a card for every customer of the merchant who has stored it. Returns the number of rows. */
  replaceCard(replacement: CardReplacement): Promise<number>
}

export function createStoredMethods(
  { writers }: Database,
  customers: Pick<CustomerReader, 'findMethod' | 'listMethods' | 'byMerchantCustomerId'>,
): StoredMethods {
  return {
    async find(merchantId, customerId, methodId) {
      const found = await customers.findMethod(merchantId, customerId, methodId)
      return found && isStoredCard(found) ? found : undefined
    },

    findAny: (merchantId, customerId, methodId) => customers.findMethod(merchantId, customerId, methodId),

    async listRemembered(merchantId, merchantCustomerId) {
      const { customerId } = await customers.byMerchantCustomerId(merchantId, merchantCustomerId)
      const kept = (customerId && (await customers.listMethods(merchantId, customerId))) ?? []
      return kept.filter(isStoredCard)
    },

    async holdsPseudoNumber(merchantId, merchantCustomerId, pseudoNumber) {
      const { customerId } = await customers.byMerchantCustomerId(merchantId, merchantCustomerId)
      const kept = (customerId && (await customers.listMethods(merchantId, customerId))) ?? []
      return kept.some(
        method =>
          (isStoredCard(method) ? method.pseudoCardNumber : method.pseudoBankAccountNumber) === pseudoNumber,
      )
    },

    async replaceCard({ merchantId, cardId, next, now }) {
      // A customer who has stored both cards keeps the old row, because two rows must not become the same card. Rows
      // that hold the new card already get its new date.
      const { rowCount } = await writers.query(
        `UPDATE stored_method m SET card_id = v.card_id, last4_digits = $4, brand = $5,
           expiry_date = coalesce($6, m.expiry_date), updated_at = $7
         FROM (SELECT card_id FROM vault_card WHERE merchant_id = $1 AND card_id = $3 AND sealed IS NOT NULL
           AND delete_after_use_at IS NULL FOR SHARE) v
         WHERE ${byOtherIndex('m.merchant_id')} = $1 AND m.card_id::text IN ($2::uuid::text, $3::uuid::text) AND (
           m.card_id = $3 AND m.expiry_date IS DISTINCT FROM coalesce($6, m.expiry_date)
           OR m.card_id = $2 AND NOT EXISTS ${lookUp(`SELECT 1 FROM stored_method o
             WHERE o.merchant_id = $1 AND o.customer_id = m.customer_id AND o.held_id = $3`)})`,
        [merchantId, cardId, next.cardId, next.last4Digits, next.brand, next.expiryDate, now],
      )
      if (cardId === next.cardId && next.expiryDate === undefined) return rowCount ?? 0
      // Plans follow the card itself, also to the other method of a customer who has stored both cards. As a moved plan,
      // it is then charged with the new card's expiry date instead of its initial payment's.
      await writers.query(
        `UPDATE payment_plan pl SET card_id = v.card_id, version = version + 1, charged_method = coalesce(pl.charged_method,
           (SELECT p.method FROM payment p WHERE p.merchant_id = pl.merchant_id AND p.pay_id = pl.initial_pay_id))
         FROM (SELECT card_id FROM vault_card WHERE merchant_id = $1 AND card_id = $3 AND sealed IS NOT NULL
           AND delete_after_use_at IS NULL FOR SHARE) v
         WHERE ${byOtherIndex('pl.merchant_id')} = $1 AND pl.card_id::text = $2::uuid::text`,
        [merchantId, cardId, next.cardId],
      )
      return rowCount ?? 0
    },
  }
}
