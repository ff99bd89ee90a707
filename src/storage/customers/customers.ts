/**
 * Reads customers and their stored methods. Every query is scoped by merchant.
 */
import assert from 'node:assert/strict'
import type { CustomerId, MerchantId, StoredMethodId } from '#domain/ids.ts'
import type { Customer, StoredMethod } from '#lifecycle/customer.ts'
import { methodsMax } from '#schemas/customer.ts'
import type { Database } from '#storage/database.ts'
import { byOtherIndex } from '#storage/planner.ts'

export interface CustomerLookUp {
  /** Undefined: the merchant has no customer with this id. */
  readonly customerId?: CustomerId
  /** A new customer may not get an earlier creation time, because the customers before it have been counted. */
  readonly openSince: Date
}

export interface CustomerReader {
  byMerchantCustomerId(merchantId: MerchantId, merchantCustomerId: string): Promise<CustomerLookUp>
  find(merchantId: MerchantId, customerId: CustomerId): Promise<Customer | undefined>
  /** The last used one first; undefined if there is no such customer. */
  listMethods(merchantId: MerchantId, customerId: CustomerId): Promise<readonly StoredMethod[] | undefined>
  findMethod(
    merchantId: MerchantId,
    customerId: CustomerId,
    methodId: StoredMethodId,
  ): Promise<StoredMethod | undefined>
}

export interface CustomerRow {
  merchant_id: MerchantId
  customer_id: CustomerId
  merchant_customer_id: string
  first_name: string | null
  last_name: string | null
  email: string
  phone_country: string | null
  phone_number: string | null
  billing_address: Customer['billingAddress'] | null
  created_at: Date
  updated_at: Date
  last_used_at: Date
  version: number
}

export const customerColumns = `c.merchant_id, c.customer_id, c.merchant_customer_id, c.first_name, c.last_name, c.email,
  c.phone_country, c.phone_number, c.billing_address, c.created_at, c.updated_at, c.last_used_at, c.version`

export const toCustomer = (row: CustomerRow): Customer => ({
  merchantId: row.merchant_id,
  customerId: row.customer_id,
  merchantCustomerId: row.merchant_customer_id,
  firstName: row.first_name ?? undefined,
  lastName: row.last_name ?? undefined,
  email: row.email,
  phone:
    row.phone_country === null || row.phone_number === null
      ? undefined
      : { countryCode: row.phone_country, number: row.phone_number },
  billingAddress: row.billing_address ?? undefined,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  lastUsedAt: row.last_used_at,
  version: row.version,
})

interface MethodRow {
  merchant_id: MerchantId
  customer_id: CustomerId
  method_id: StoredMethodId
  type: string
  card_id: string | null
  /** For cards only. */
  brand: string | null
  /** For accounts only. */
  account_id: string | null
  pseudo_number: string
  last4_digits: string
  expiry_date: string | null
  card_holder_name: string | null
  account_holder_name: string | null
  created_at: Date
  updated_at: Date
  last_used_at: Date
}

function toMethod(row: MethodRow): StoredMethod {
  const method = toKept(row)
  const { card_id: cardId, account_id: accountId, brand, pseudo_number: pseudoNumber } = row
  if (cardId !== null && brand !== null) {
    const expiryDate = row.expiry_date ?? undefined
    const cardHolderName = row.card_holder_name ?? undefined
    return { ...method, cardId, pseudoCardNumber: pseudoNumber, brand, expiryDate, cardHolderName }
  }
  assert(accountId, `the stored method ${row.method_id} leads to no card and to no account`)
  const accountHolderName = row.account_holder_name ?? undefined
  return { ...method, accountId, pseudoBankAccountNumber: pseudoNumber, accountHolderName }
}

const toKept = (row: MethodRow) => ({
  merchantId: row.merchant_id,
  customerId: row.customer_id,
  methodId: row.method_id,
  type: row.type,
  last4Digits: row.last4_digits,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  lastUsedAt: row.last_used_at,
})

const methods = `SELECT m.*, coalesce(v.pseudo_number, a.pseudo_number) AS pseudo_number FROM stored_method m
  LEFT JOIN vault_card v ON v.merchant_id = m.merchant_id AND v.card_id = m.card_id
  LEFT JOIN vault_account a ON a.merchant_id = m.merchant_id AND a.account_id = m.account_id`

/** A time before the first customer of any merchant. */
const beginning = new Date(0)

export function createCustomerReader({ readers, writers }: Database): CustomerReader {
  const find: CustomerReader['find'] = async (merchantId, customerId) => {
    const { rows } = await readers.query<CustomerRow & { method_used_at: Date | null }>({
      name: 'customer_by_id',
      text: `SELECT ${customerColumns}, (SELECT max(m.last_used_at) FROM stored_method m
                 WHERE m.merchant_id = c.merchant_id AND m.customer_id = c.customer_id) AS method_used_at
               FROM customer c WHERE c.merchant_id = $1 AND c.customer_id = $2`,
      values: [merchantId, customerId],
    })
    const [row] = rows
    if (!row) return undefined
    // The last use of a stored method is recorded with the method.
    const usedAt = [row.last_used_at, row.method_used_at ?? row.last_used_at]
    return { ...toCustomer(row), lastUsedAt: new Date(Math.max(...usedAt.map(Number))) }
  }

  return {
    find,

    async byMerchantCustomerId(merchantId, merchantCustomerId) {
      const { rows } = await readers.query<{ customer_id: CustomerId | null; open_since: Date | null }>({
        name: 'customer_by_merchant_customer_id',
        text: `SELECT (SELECT customer_id FROM customer WHERE ${byOtherIndex('merchant_id')} = $1
                  AND merchant_customer_id = $2) AS customer_id,
                 (SELECT date_trunc('milliseconds', open_at + interval '999 microseconds') FROM customer_order
                  WHERE merchant_id = $1) AS open_since`,
        values: [merchantId, merchantCustomerId],
      })
      const { customer_id: customerId, open_since: openSince } = rows[0] ?? {}
      if (!openSince) {
        // The merchant's first customer is about to be created. A concurrent insert by another process inserts the same
        // row.
        await writers.query(
          `WITH block AS (INSERT INTO customer_block (merchant_id, first_at, older) VALUES ($1, $2, 0)
             ON CONFLICT DO NOTHING)
           INSERT INTO customer_order (merchant_id, open_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
          [merchantId, beginning],
        )
      }
      return { ...(customerId ? { customerId } : {}), openSince: openSince ?? beginning }
    },

    async listMethods(merchantId, customerId) {
      const { rows } = await readers.query<MethodRow>({
        name: 'stored_methods',
        text: `${methods} WHERE m.merchant_id = $1 AND m.customer_id = $2
               ORDER BY m.last_used_at DESC, m.method_id DESC LIMIT ${methodsMax}`,
        values: [merchantId, customerId],
      })
      if (rows.length === 0 && !(await find(merchantId, customerId))) return undefined
      return rows.map(toMethod)
    },

    async findMethod(merchantId, customerId, methodId) {
      const { rows } = await readers.query<MethodRow>({
        name: 'stored_method',
        text: `${methods} WHERE m.merchant_id = $1 AND m.customer_id = $2 AND m.method_id = $3`,
        values: [merchantId, customerId, methodId],
      })
      return rows[0] && toMethod(rows[0])
    },
  }
}
