/**
 * The SQL for customers: creation, uses and changes. Payments of one busy customer must not wait for each other, so it
 * waits only for the locks that guard a new customer or method against a deletion, and these are shared.
 */

import { byOtherIndex, lookUp } from '#storage/planner.ts'
import type { Columns } from '#storage/recordset.ts'

const key = [
  ['merchant_id', 'text'],
  ['customer_id', 'uuid'],
] as const

const data = [
  ['first_name', 'text'],
  ['last_name', 'text'],
  ['email', 'text'],
  ['phone_country', 'text'],
  ['phone_number', 'text'],
  ['billing_address', 'json'],
] as const

const used = [
  ...key,
  ['card_id', 'uuid'],
  ['account_id', 'uuid'],
  // The card or account, whichever is set.
  ['held_id', 'uuid'],
  ['type', 'text'],
  ['expiry_date', 'text'],
  ['card_holder_name', 'text'],
  ['account_holder_name', 'text'],
  ['used_at', 'timestamptz'],
] as const

const sameCustomer = 't.merchant_id = i.merchant_id AND t.customer_id = i.customer_id'
const sameMethod = `${sameCustomer} AND t.held_id = i.held_id`
const accepted = 'i.c NOT IN (SELECT c FROM refused)'

const names = (columns: Columns): string => columns.map(([name]) => name).join(', ')

const customerColumns = [
  ...key,
  ['merchant_customer_id', 'text'],
  ...data,
  ['created_at', 'timestamptz'],
] as const

const methodColumns = [...used, ['method_id', 'uuid'], ['last4_digits', 'text'], ['brand', 'text']] as const

/** The changes whose card or account is new to its customer, exists in the vault and is locked there. */
const aliveAndNew = 'SELECT c FROM vault_card_alive UNION ALL SELECT c FROM vault_account_alive'

const last = (column: string): string =>
  `(array_agg(i.${column} ORDER BY i.c DESC) FILTER (WHERE i.${column} IS NOT NULL))[1] AS ${column}`

/** Merges all uses of a method into one row, because a statement updates a row only once. */
const allUses = `SELECT i.merchant_id, i.customer_id, i.held_id, max(i.used_at) AS used_at, ${last('type')},
    ${last('expiry_date')}, ${last('card_holder_name')}, ${last('account_holder_name')}
  FROM method_use_in i WHERE ${accepted} GROUP BY i.merchant_id, i.customer_id, i.held_id`

export const customerParts = {
  customer: {
    columns: customerColumns,
    write: () => `INSERT INTO customer (${names(customerColumns)}, updated_at, last_used_at, version)
      SELECT ${names(customerColumns)}, created_at, created_at, 1 FROM customer_in i WHERE ${accepted}`,
  },
  customerUse: {
    columns: [...key, ['used_at', 'timestamptz'], ['alone', 'boolean']] as const,
    // Skip a locked row: it is being updated by a payment of about the same time, or by another change. Waiting would
    // make the time a few milliseconds more exact, but process a customer's payments one at a time.
    write: () => `UPDATE customer t SET last_used_at = greatest(t.last_used_at, i.used_at)
      FROM (SELECT u.merchant_id, u.customer_id, u.used_at FROM customer_use_in u CROSS JOIN LATERAL (
          SELECT 1 FROM customer k WHERE k.merchant_id = u.merchant_id AND k.customer_id = u.customer_id
          FOR NO KEY UPDATE SKIP LOCKED) held
        WHERE u.alone AND u.c NOT IN (SELECT c FROM refused)) i
      WHERE ${sameCustomer}`,
  },
  customerUpdate: {
    columns: [
      ...key,
      ...data,
      ['updated_at', 'timestamptz'],
      ['version', 'integer'],
      ['expected_version', 'integer'],
    ] as const,
    // The guard is the update; see customerUpdateGuard.
    write: undefined,
  },
  method: {
    columns: methodColumns,
    // If the same card or account arrives twice at once, the first row wins. One that was stored already is not
    // inserted again: a request may have deleted it since, and its number with it.
    write:
      () => `INSERT INTO stored_method (merchant_id, customer_id, method_id, type, card_id, account_id, last4_digits,
        brand, expiry_date, card_holder_name, account_holder_name, created_at, updated_at, last_used_at)
      SELECT DISTINCT ON (merchant_id, customer_id, held_id) merchant_id, customer_id, method_id, type, card_id,
        account_id, last4_digits, brand, expiry_date, card_holder_name, account_holder_name, used_at, used_at, used_at
      FROM method_in i WHERE ${accepted} AND i.c IN (${aliveAndNew}) ORDER BY merchant_id, customer_id, held_id
      ON CONFLICT (merchant_id, customer_id, held_id) DO NOTHING`,
  },
  methodUse: {
    columns: used,
    // Wait for a row lock to write a new type, expiry date or name, but not to write the last use.
    write: () => `UPDATE stored_method t SET last_used_at = greatest(t.last_used_at, i.used_at),
        type = coalesce(i.type, t.type), expiry_date = coalesce(i.expiry_date, t.expiry_date),
        card_holder_name = coalesce(i.card_holder_name, t.card_holder_name),
        account_holder_name = coalesce(i.account_holder_name, t.account_holder_name),
        updated_at = CASE WHEN ${renews} THEN i.used_at ELSE t.updated_at END
      FROM (${allUses}) i WHERE ${sameMethod}
        AND (${renews} OR (t.held_id, t.customer_id) IN (SELECT held_id, customer_id FROM method_free))`,
  },
} satisfies Record<string, { columns: Columns; write: (() => string) | undefined }>

type CustomerPart = keyof typeof customerParts

const renews = `(t.type IS DISTINCT FROM coalesce(i.type, t.type)
  OR t.expiry_date IS DISTINCT FROM coalesce(i.expiry_date, t.expiry_date)
  OR t.card_holder_name IS DISTINCT FROM coalesce(i.card_holder_name, t.card_holder_name)
  OR t.account_holder_name IS DISTINCT FROM coalesce(i.account_holder_name, t.account_holder_name))`

function lockNew(vault: 'vault_card' | 'vault_account', id: 'card_id' | 'account_id'): string {
  return `${vault}_alive AS MATERIALIZED (SELECT i.c FROM method_in i CROSS JOIN LATERAL (SELECT 1 FROM ${vault} v
    WHERE v.merchant_id = i.merchant_id AND v.${id} = i.${id} AND v.sealed IS NOT NULL AND v.delete_after_use_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM stored_method t WHERE ${sameMethod}) FOR SHARE) held)`
}

/**
 * Locks rows before the guards decide. Lateral subqueries, so that every query plan goes from the change to its row.
 */
const locks: Partial<Record<CustomerPart, string>> = {
  // A shared lock: only splitting the block and deleting a customer lock the row exclusively. A new customer that
  // waited for a split, and whose time is now before the open block, is refused.
  customer: `customer_open AS MATERIALIZED (SELECT i.c FROM customer_in i CROSS JOIN LATERAL (SELECT 1 FROM customer_order o
    WHERE o.merchant_id = i.merchant_id AND o.open_at <= i.created_at FOR SHARE) held)`,
  // Prevents the destruction of the number while it is being stored as a new method.
  method: `${lockNew('vault_card', 'card_id')}, ${lockNew('vault_account', 'account_id')}`,
  methodUse: `method_free AS MATERIALIZED (SELECT i.held_id, i.customer_id FROM method_use_in i CROSS JOIN LATERAL (
    SELECT 1 FROM stored_method t WHERE ${sameMethod} FOR NO KEY UPDATE SKIP LOCKED) held)`,
}

/** Selects refused changes as `c` and `why`. The unique index and the foreign key are the last guard. */
const refusals: Partial<Record<CustomerPart, string>> = {
  customer: `SELECT i.c, 'customer_changed' AS why FROM customer_in i WHERE i.c NOT IN (SELECT c FROM customer_open)
    OR EXISTS ${lookUp(`SELECT 1 FROM customer t WHERE ${byOtherIndex('t.merchant_id')} = i.merchant_id
      AND t.merchant_customer_id = i.merchant_customer_id`)}
    OR EXISTS (SELECT 1 FROM customer_in t WHERE t.merchant_id = i.merchant_id
      AND t.merchant_customer_id = i.merchant_customer_id AND t.c < i.c)`,
  customerUse: `SELECT i.c, 'customer_changed' AS why FROM customer_use_in i WHERE NOT EXISTS (
    SELECT 1 FROM customer t WHERE ${sameCustomer})`,
  method: `SELECT i.c, 'card_gone' AS why FROM method_in i WHERE i.c NOT IN (${aliveAndNew})
    AND NOT EXISTS (SELECT 1 FROM stored_method t WHERE ${sameMethod})`,
}

const pick = (texts: Partial<Record<CustomerPart, string>>, present: readonly string[]): string[] =>
  Object.entries(texts).flatMap(([part, text]) => (present.includes(part) ? [text] : []))

export const customerLocks = (present: readonly string[]): string[] => pick(locks, present)

export const customerRefusals = (present: readonly string[]): string[] => pick(refusals, present)

/** A change by the merchant. As for payments, the version guards it, and the update itself is the guard. */
export const customerUpdateGuard = {
  input: 'customer_update_in',
  updated: 'customer_updated',
  why: 'customer_changed',
  cte: `customer_updated AS (UPDATE customer t
      SET ${data.map(([name]) => `${name} = i.${name}`).join(', ')}, updated_at = i.updated_at, version = i.version
      FROM customer_update_in i
      WHERE ${sameCustomer} AND t.version = i.expected_version AND i.c NOT IN (SELECT c FROM taken) RETURNING i.c)`,
}
