/**
 * Deleting customers and stored methods for good, and the numbers that nobody keeps any more. A number that another
 * customer of the merchant keeps stays; one that an order still needs for its confirm is doomed and goes when that is over.
 */
import type { PoolClient } from 'pg'
import type { CustomerId, MerchantId, StoredMethodId } from '#domain/ids.ts'
import { inTransaction } from '#storage/customer-pages.ts'
import type { Database } from '#storage/database.ts'

/** The cards whose numbers are unknown from now on; undefined when there was nothing to delete. */
export type Deleted = { readonly forgottenCards: readonly string[] } | undefined

export interface CustomerDeletion {
  deleteCustomer(merchantId: MerchantId, customerId: CustomerId): Promise<Deleted>
  deleteMethod(merchantId: MerchantId, customerId: CustomerId, methodId: StoredMethodId): Promise<Deleted>
  /** Destroys doomed numbers that nobody waits for any more. Returns how many. */
  destroyDoomed(): Promise<number>
}

/** 1,000: a batch that holds no lock for long. */
const destroyedAtOnce = 1_000

/** An order that waits for its confirm has a timer for the end of its patience, which is how it is found. */
const isAwaited = `EXISTS (SELECT 1 FROM timer w JOIN payment p ON p.merchant_id = w.merchant_id AND p.pay_id = w.pay_id
  WHERE w.merchant_id = v.merchant_id AND w.kind = 'EXPIRE' AND p.card_id = v.card_id AND p.status = 'AUTHORIZE_REQUEST')`

const isKept = `EXISTS (SELECT 1 FROM stored_method m WHERE m.card_id::text = v.card_id::text
  AND m.merchant_id || '' = v.merchant_id)`

export function createCustomerDeletion({ writers }: Database): CustomerDeletion {
  return {
    deleteCustomer: (merchantId, customerId) =>
      again(() => inTransaction(writers, client => deleteCustomer(client, merchantId, customerId))),

    deleteMethod: (merchantId, customerId, methodId) =>
      again(() =>
        inTransaction(writers, async client => {
          // Their customer first, as every deletion does: two that meet wait instead of blocking each other.
          const { rows } = await client.query<{ card_id: string }>(
            `WITH owner AS (SELECT 1 FROM customer WHERE merchant_id = $1 AND customer_id = $2 FOR NO KEY UPDATE),
               gone AS (DELETE FROM stored_method WHERE merchant_id = $1 AND customer_id = $2 AND method_id = $3
                 AND EXISTS (SELECT 1 FROM owner) RETURNING card_id, last_used_at),
               dated AS (UPDATE customer SET last_used_at = greatest(customer.last_used_at, gone.last_used_at) FROM gone
                 WHERE merchant_id = $1 AND customer_id = $2)
             SELECT card_id FROM gone`,
            [merchantId, customerId, methodId],
          )
          if (rows[0])
            await suspendPlans(client, { merchantId, customerId, cardId: rows[0].card_id, methodId })
          return rows[0] && { forgottenCards: await forgetCards(client, merchantId, [rows[0].card_id]) }
        }),
      ),

    async destroyDoomed() {
      const { rowCount } = await writers.query(
        `UPDATE vault_card v SET sealed = NULL, destroyed_at = now(), doomed_at = NULL
         FROM (SELECT merchant_id, card_id FROM vault_card v WHERE doomed_at IS NOT NULL AND NOT ${isAwaited}
           AND NOT ${isKept} LIMIT $1 FOR UPDATE SKIP LOCKED) free
         WHERE v.merchant_id = free.merchant_id AND v.card_id = free.card_id`,
        [destroyedAtOnce],
      )
      return rowCount ?? 0
    },
  }
}

async function deleteCustomer(
  client: PoolClient,
  merchantId: MerchantId,
  customerId: CustomerId,
): Promise<Deleted> {
  // Whoever holds this alone is alone with the order of the merchant's customers: no birth, no parting.
  await client.query('SELECT 1 FROM customer_order WHERE merchant_id = $1 FOR UPDATE', [merchantId])
  const { rows: customers } = await client.query(
    'SELECT 1 FROM customer WHERE merchant_id = $1 AND customer_id = $2 FOR UPDATE',
    [merchantId, customerId],
  )
  if (customers.length === 0) return undefined
  const { rows } = await client.query<{ card_id: string; method_id: StoredMethodId }>(
    'DELETE FROM stored_method WHERE merchant_id = $1 AND customer_id = $2 RETURNING card_id, method_id',
    [merchantId, customerId],
  )
  for (const { card_id: cardId, method_id: methodId } of rows) {
    await suspendPlans(client, { merchantId, customerId, cardId, methodId })
  }
  await client.query(
    `WITH gone AS (DELETE FROM customer WHERE merchant_id = $1 AND customer_id = $2 RETURNING created_at)
     UPDATE customer_block b SET older = older - 1 FROM gone WHERE b.merchant_id = $1 AND b.first_at > gone.created_at`,
    [merchantId, customerId],
  )
  const cardIds = rows.map(row => row.card_id)
  return { forgottenCards: await forgetCards(client, merchantId, cardIds) }
}

/** Plans on a card that is gone cannot be charged any more. They keep the id of what they were made with. */
async function suspendPlans(
  client: PoolClient,
  method: { merchantId: MerchantId; customerId: CustomerId; cardId: string; methodId: StoredMethodId },
): Promise<void> {
  await client.query(
    `UPDATE payment_plan pl SET status = CASE pl.status WHEN 'ACTIVE' THEN 'SUSPENDED' ELSE pl.status END,
       card_id = NULL, ended_method_id = $4, version = version + 1,
       updated_at = greatest(pl.updated_at, (SELECT now() + clock_offset_ms * interval '1 millisecond' FROM merchant
         WHERE merchant_id = $1))
     WHERE pl.merchant_id || '' = $1 AND pl.customer_id = $2 AND pl.card_id = $3`,
    [method.merchantId, method.customerId, method.cardId, method.methodId],
  )
}

/** Takes the cards' rows alone, so that a payment which is about to store one of them comes wholly before or after. */
async function forgetCards(
  client: PoolClient,
  merchantId: MerchantId,
  cardIds: readonly string[],
): Promise<readonly string[]> {
  await client.query(
    `SELECT 1 FROM vault_card WHERE merchant_id = $1 AND card_id = ANY ($2::uuid[]) ORDER BY card_id FOR UPDATE`,
    [merchantId, cardIds],
  )
  const { rows } = await client.query<{ card_id: string }>(
    `UPDATE vault_card v SET sealed = CASE WHEN a.awaited THEN sealed END,
       destroyed_at = CASE WHEN NOT a.awaited THEN now() END, doomed_at = CASE WHEN a.awaited THEN now() END
     FROM (SELECT card_id, ${isAwaited} AS awaited FROM vault_card v
       WHERE merchant_id = $1 AND card_id = ANY ($2::uuid[]) AND sealed IS NOT NULL AND NOT ${isKept}) a
     WHERE v.merchant_id = $1 AND v.card_id = a.card_id RETURNING v.card_id`,
    [merchantId, cardIds],
  )
  return rows.map(row => row.card_id)
}

/** 5: each failure is somebody else's success, and those are few. */
const maximumTries = 5

const serverGaveUp = ['40P01', '40001', '23503']

/** A deadlock, or a card that was stored between two statements of ours, is over when we come again. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work()
    } catch (error) {
      const passing = serverGaveUp.includes(String((error as { code?: unknown }).code))
      if (!passing || tried === maximumTries) throw error
    }
  }
}
