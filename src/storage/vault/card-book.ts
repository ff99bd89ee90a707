/** Stores many cards of the vault at once, and reads their pseudo numbers. Seals and opens nothing. */
import type { MerchantId } from '#domain/ids.ts'
import type { CardRow } from '#storage/commit/change.ts'
import { cardColumns } from '#storage/commit/columns.ts'
import { fromCard } from '#storage/commit/rows.ts'
import { constraintOf, type Database } from '#storage/database.ts'
import { recordset, toRecordset } from '#storage/recordset.ts'

export interface KeptCard {
  readonly cardId: string
  readonly pseudoNumber: string
  readonly expiryDate?: string
  /** False once the number was destroyed, or is kept for one waiting payment only: its pseudo number is unknown. */
  readonly isHeld: boolean
}

export interface CardBook {
  /** Writes the cards that the vault lacks, atomically. False: a pseudo number was taken, and nothing was written. */
  keep(cards: readonly CardRow[]): Promise<boolean>
  /** The stored cards by card id. */
  read(merchantId: MerchantId, cardIds: readonly string[]): Promise<ReadonlyMap<string, KeptCard>>
  /** Sets the expiry date that the card's pseudo number stands for. */
  renew(merchantId: MerchantId, cardId: string, expiryDate: string): Promise<void>
}

export function createCardBook({ writers }: Database): CardBook {
  return {
    async keep(cards) {
      if (cards.length === 0) return true
      try {
        await writers.query({ ...keepStatement, values: [toRecordset(cardColumns, cards.map(fromCard))] })
        return true
      } catch (error) {
        if (constraintOf(error) === 'vault_card_by_pseudo_number') return false
        throw error
      }
    },
    async read(merchantId, cardIds) {
      // Read on a writer connection, to see rows that were stored a moment ago.
      const { rows } = await writers.query<{
        card_id: string
        pseudo_number: string
        expiry_date: string | null
        is_held: boolean
      }>({ ...readStatement, values: [merchantId, cardIds] })
      return new Map(
        rows.map(row => [
          row.card_id,
          {
            cardId: row.card_id,
            pseudoNumber: row.pseudo_number,
            expiryDate: row.expiry_date ?? undefined,
            isHeld: row.is_held,
          },
        ]),
      )
    },
    async renew(merchantId, cardId, expiryDate) {
      await writers.query({ ...renewStatement, values: [merchantId, cardId, expiryDate] })
    },
  }
}

/** Writes in the order of ids, so that two requests with the same cards wait for each other instead of deadlocking. */
const keepStatement = {
  name: 'vault_card_keep',
  text: `INSERT INTO vault_card (merchant_id, card_id, pseudo_number, key_version, sealed, expiry_date)
    SELECT DISTINCT ON (merchant_id, card_id) merchant_id, card_id, pseudo_number, key_version, sealed, expiry_date
    FROM ${recordset('$1', cardColumns)}
    ORDER BY merchant_id, card_id
    ON CONFLICT (merchant_id, card_id) DO UPDATE
    SET sealed = excluded.sealed, key_version = excluded.key_version, destroyed_at = NULL, delete_after_use_at = NULL
    WHERE vault_card.sealed IS NULL OR vault_card.delete_after_use_at IS NOT NULL`,
}

const readStatement = {
  name: 'vault_card_read',
  text: `SELECT card_id, pseudo_number, expiry_date, sealed IS NOT NULL AND delete_after_use_at IS NULL AS is_held
    FROM vault_card WHERE merchant_id = $1 AND card_id = ANY($2::uuid[])`,
}

const renewStatement = {
  name: 'vault_card_renew',
  text: `UPDATE vault_card SET expiry_date = $3
    WHERE merchant_id = $1 AND card_id = $2 AND expiry_date IS DISTINCT FROM $3`,
}
