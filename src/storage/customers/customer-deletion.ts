/**
 * Deletes customers and stored methods for good, and destroys the card and account numbers that no other customer of
 * the merchant keeps. A number that a pending payment still needs is marked with `delete_after_use_at` and destroyed
 * once no payment needs it.
 */

import type { PoolClient } from 'pg'
import type { CustomerId, MerchantId, StoredMethodId } from '#domain/ids.ts'
import { textAt } from '#domain/json.ts'
import { type Database, inTransaction } from '#storage/database.ts'
import { byOtherIndex } from '#storage/planner.ts'

/** The ids of the cards and accounts whose numbers were destroyed; undefined if there was nothing to delete. */
export type Deleted = { readonly forgotten: readonly string[] } | undefined

export interface CustomerDeletion {
  deleteCustomer(merchantId: MerchantId, customerId: CustomerId): Promise<Deleted>
  deleteMethod(merchantId: MerchantId, customerId: CustomerId, methodId: StoredMethodId): Promise<Deleted>
  /** Destroys the numbers marked `delete_after_use_at` that no payment needs any more. Returns how many. */
  deleteUnused(): Promise<number>
}

/** 1,000: a batch that holds no lock for long. */
const destroyedAtOnce = 1_000

/** The tables that hold numbers, and the column by which other tables refer to them. */
const vaults = [
  { table: 'vault_card', id: 'card_id' },
  { table: 'vault_account', id: 'account_id' },
] as const

type VaultOf = (typeof vaults)[number]

/**
 * Whether a payment still needs the number. A payment that waits for its confirm or its customer is found by its expiry
 * timer. One that waits for the next file to a bank is found by its batch timer; its debit or transfer cannot be
 * written without the number.
 */
const isAwaited = ({
  id,
}: VaultOf): string => `EXISTS (SELECT 1 FROM timer w JOIN payment p ON p.merchant_id = w.merchant_id AND p.pay_id = w.pay_id
  WHERE w.merchant_id = v.merchant_id AND w.kind IN ('EXPIRE', 'BATCH') AND p.${id} = v.${id}
    AND (w.kind = 'BATCH' OR p.status = 'AUTHORIZE_REQUEST' OR p.status = 'PENDING' AND p.awaits = 'CUSTOMER'))`

const isKept = ({
  id,
}: VaultOf): string => `EXISTS (SELECT 1 FROM stored_method m WHERE m.${id}::text = v.${id}::text
  AND ${byOtherIndex('m.merchant_id')} = v.merchant_id)`

export function createCustomerDeletion({ writers }: Database): CustomerDeletion {
  return {
    deleteCustomer: (merchantId, customerId) =>
      again(() => inTransaction(writers, client => deleteCustomer(client, merchantId, customerId))),

    deleteMethod: (merchantId, customerId, methodId) =>
      again(() =>
        inTransaction(writers, async client => {
          // Locks the customer first, like every deletion, so that two deletions wait for each other instead of
          // deadlocking.
          const { rows } = await client.query<{ held_id: string }>(
            `WITH owner AS (SELECT 1 FROM customer WHERE merchant_id = $1 AND customer_id = $2 FOR NO KEY UPDATE),
               gone AS (DELETE FROM stored_method WHERE merchant_id = $1 AND customer_id = $2 AND method_id = $3
                 AND EXISTS (SELECT 1 FROM owner) RETURNING held_id, last_used_at),
               dated AS (UPDATE customer SET last_used_at = greatest(customer.last_used_at, gone.last_used_at) FROM gone
                 WHERE merchant_id = $1 AND customer_id = $2)
             SELECT held_id FROM gone`,
            [merchantId, customerId, methodId],
          )
          if (rows[0])
            await suspendPlans(client, { merchantId, customerId, heldId: rows[0].held_id, methodId })
          return rows[0] && { forgotten: await forgetNumbers(client, merchantId, [rows[0].held_id]) }
        }),
      ),

    async deleteUnused() {
      let destroyed = 0
      for (const vault of vaults) {
        const { table, id } = vault
        const { rowCount } = await writers.query(
          `UPDATE ${table} v SET sealed = NULL, destroyed_at = now(), delete_after_use_at = NULL
           FROM (SELECT merchant_id, ${id} FROM ${table} v WHERE delete_after_use_at IS NOT NULL AND NOT ${isAwaited(vault)}
             AND NOT ${isKept(vault)} LIMIT $1 FOR UPDATE SKIP LOCKED) free
           WHERE v.merchant_id = free.merchant_id AND v.${id} = free.${id}`,
          [destroyedAtOnce],
        )
        destroyed += rowCount ?? 0
      }
      return destroyed
    },
  }
}

async function deleteCustomer(
  client: PoolClient,
  merchantId: MerchantId,
  customerId: CustomerId,
): Promise<Deleted> {
  // While this exclusive lock is held, no customer of the merchant is created and no block is split.
  await client.query('SELECT 1 FROM customer_order WHERE merchant_id = $1 FOR UPDATE', [merchantId])
  const { rows: customers } = await client.query(
    'SELECT 1 FROM customer WHERE merchant_id = $1 AND customer_id = $2 FOR UPDATE',
    [merchantId, customerId],
  )
  if (customers.length === 0) return undefined
  const { rows } = await client.query<{ held_id: string; method_id: StoredMethodId }>(
    'DELETE FROM stored_method WHERE merchant_id = $1 AND customer_id = $2 RETURNING held_id, method_id',
    [merchantId, customerId],
  )
  for (const { held_id: heldId, method_id: methodId } of rows) {
    await suspendPlans(client, { merchantId, customerId, heldId, methodId })
  }
  await suspendRest(client, merchantId, customerId)
  await client.query(
    `WITH gone AS (DELETE FROM customer WHERE merchant_id = $1 AND customer_id = $2
         RETURNING merchant_id, customer_id, merchant_customer_id, created_at),
       remembered AS (INSERT INTO deleted_customer (merchant_id, customer_id, merchant_customer_id)
         SELECT merchant_id, customer_id, merchant_customer_id FROM gone)
     UPDATE customer_block b SET older = older - 1 FROM gone WHERE b.merchant_id = $1 AND b.first_at > gone.created_at`,
    [merchantId, customerId],
  )
  const heldIds = rows.map(row => row.held_id)
  return { forgotten: await forgetNumbers(client, merchantId, heldIds) }
}

/** The time of a change to the plans of merchant $1, in the merchant's time. */
const changedAt = `greatest(pl.updated_at, (SELECT now() + clock_offset_ms * interval '1 millisecond' FROM merchant
  WHERE merchant_id = $1))`

/**
 * Suspends the plans of a deleted card or account. They keep the id of the stored method. A plan that was never moved
 * charges the account of its initial payment.
 */
async function suspendPlans(
  client: PoolClient,
  method: { merchantId: MerchantId; customerId: CustomerId; heldId: string; methodId: StoredMethodId },
): Promise<void> {
  await client.query(
    `UPDATE payment_plan pl SET status = CASE WHEN pl.status IN ('ACTIVE', 'PAUSED') THEN 'SUSPENDED' ELSE pl.status END,
       card_id = NULL, ended_method_id = $4, version = version + 1, updated_at = ${changedAt}
     WHERE ${byOtherIndex('pl.merchant_id')} = $1 AND pl.customer_id = $2 AND pl.status NOT IN ('CANCELLED', 'COMPLETED')
       AND (pl.card_id = $3 OR (pl.charged_account ->> 'accountId')::uuid = $3
         OR pl.charged_method IS NULL AND pl.card_id IS NULL AND EXISTS (SELECT 1 FROM payment p WHERE p.merchant_id = pl.merchant_id
           AND p.pay_id = pl.initial_pay_id AND p.account_id = $3))`,
    [method.merchantId, method.customerId, method.heldId, method.methodId],
  )
}

/**
 * The plans of a deleted customer that lead to no stored method: those of wallets, those whose method the provider stores, and
 * those on a card that the customer did not want to be kept for the next payment.
 */
async function suspendRest(
  client: PoolClient,
  merchantId: MerchantId,
  customerId: CustomerId,
): Promise<void> {
  await client.query(
    `UPDATE payment_plan pl SET status = 'SUSPENDED', card_id = NULL, version = version + 1, updated_at = ${changedAt}
     WHERE ${byOtherIndex('pl.merchant_id')} = $1 AND pl.customer_id = $2
       AND (pl.status IN ('ACTIVE', 'PAUSED') OR pl.status = 'SUSPENDED' AND pl.card_id IS NOT NULL)`,
    [merchantId, customerId],
  )
}

/**
 * Locks the rows of the cards and accounts exclusively, so that a payment that is about to store one of them comes
 * entirely before or after. An id exists in one of the two vaults only, so each is searched for all ids.
 */
async function forgetNumbers(
  client: PoolClient,
  merchantId: MerchantId,
  heldIds: readonly string[],
): Promise<readonly string[]> {
  const forgotten: string[] = []
  for (const vault of vaults) {
    const { table, id } = vault
    await client.query(
      `SELECT 1 FROM ${table} WHERE merchant_id = $1 AND ${id} = ANY ($2::uuid[]) ORDER BY ${id} FOR UPDATE`,
      [merchantId, heldIds],
    )
    const { rows } = await client.query<{ held_id: string }>(
      `WITH a AS MATERIALIZED (SELECT ${id}, ${isAwaited(vault)} AS awaited, now() AS moment FROM ${table} v
         WHERE merchant_id = $1 AND ${id} = ANY ($2::uuid[]) AND sealed IS NOT NULL AND NOT ${isKept(vault)})
       UPDATE ${table} v SET sealed = CASE WHEN a.awaited THEN sealed END,
         destroyed_at = CASE WHEN NOT a.awaited THEN a.moment END,
         delete_after_use_at = CASE WHEN a.awaited THEN a.moment END
       FROM a WHERE v.merchant_id = $1 AND v.${id} = a.${id} RETURNING v.${id} AS held_id`,
      [merchantId, heldIds],
    )
    forgotten.push(...rows.map(row => row.held_id))
  }
  if (forgotten.length > 0) await suspendPlansWithoutNumber(client, merchantId, forgotten)
  return forgotten
}

/**
 * Suspends plans that charge a number stored for another customer: plans without a customer, and those of customers who
 * have not stored the card. They keep their reference, because the number may be stored again; the merchant then resumes
 * them.
 */
async function suspendPlansWithoutNumber(
  client: PoolClient,
  merchantId: MerchantId,
  forgotten: readonly string[],
): Promise<void> {
  const found = [
    'pl.card_id::text = ANY ($2::uuid[]::text[])',
    `pl.card_id IS NULL AND pl.charged_method IS NULL AND EXISTS (
       SELECT 1 FROM payment p WHERE p.merchant_id = pl.merchant_id AND p.pay_id = pl.initial_pay_id
         AND p.account_id::text = ANY ($2::uuid[]::text[]))`,
  ]
  for (const condition of found) {
    await client.query(
      `UPDATE payment_plan pl SET status = 'SUSPENDED', version = version + 1, updated_at = ${changedAt}
       WHERE ${byOtherIndex('pl.merchant_id')} = $1 AND pl.status IN ('ACTIVE', 'PAUSED') AND ${condition}`,
      [merchantId, forgotten],
    )
  }
}

/** 5: each failure means that another transaction succeeded, and there are few of them. */
const maximumTries = 5

const serverGaveUp = ['40P01', '40001', '23503']

/** Retries after a deadlock, or after a card was stored between two of our statements. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work()
    } catch (error) {
      const passing = serverGaveUp.includes(textAt(error, 'code') ?? '')
      if (!passing || tried === maximumTries) throw error
    }
  }
}
