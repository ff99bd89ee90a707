/**
 * Erases personal data of payments, their operations and events, the answers stored under their idempotency keys, and
 * intents. Each payment is one transaction; erasing it again is harmless.
 */
import type { PoolClient } from 'pg'
import type { CustomerId, MerchantId } from '#domain/ids.ts'
import { erasePersonalData, personalMember } from '#domain/personal-data.ts'
import { type Database, inTransaction } from '#storage/database.ts'
import { chargedCustomer, foundByJson, merchantCustomer } from '#storage/payments/found-by.ts'

export interface Erasure {
  /** Payments that belong to a customer or name them; undefined if there is no such customer. */
  findPayments(merchantId: MerchantId, customerId: CustomerId): Promise<readonly string[] | undefined>
  erasePayment(merchantId: MerchantId, payId: string): Promise<void>
  /** Intents that name the customer and have led to no payment. */
  eraseIntentsOf(merchantId: MerchantId, customerId: CustomerId): Promise<void>
  /** Stored answers to changes of the customer record. */
  eraseCustomerAnswers(merchantId: MerchantId, customerId: CustomerId): Promise<void>
  listRetentions(): Promise<readonly Retention[]>
  /** The next payments past their retention period, in the order of their ids: after the given id, else from the mark on. */
  findOverdue(retention: Retention, now: Date, after: string | undefined): Promise<readonly string[]>
  /**
   * Moves the mark over these erased payments, up to the first whose retention has not ended, and returns how many it passed.
   * A payment is older than its id where a charge of a plan was made late: it is dated when it was due.
   */
  markErased(retention: Retention, payIds: readonly string[], now: Date): Promise<number>
  /** Intents that have led to no payment and whose retention has ended. */
  eraseOverdueIntents(retention: Retention, now: Date): Promise<void>
}

export interface Retention {
  readonly merchantId: MerchantId
  /** ISO 8601. */
  readonly personalDataFor: string
}

/** 200: a batch that does not hold up other work for long. */
const overdueAtOnce = 200

export function createErasure({ readers, writers }: Database): Erasure {
  return {
    async findPayments(merchantId, customerId) {
      const { rows: customers } = await readers.query<{ merchant_customer_id: string }>(
        'SELECT merchant_customer_id FROM customer WHERE merchant_id = $1 AND customer_id = $2',
        [merchantId, customerId],
      )
      if (!customers[0]) return undefined
      // Each part has an index of its own.
      const { rows } = await readers.query<{ pay_id: string }>(
        `SELECT p.pay_id FROM payment p
           WHERE p.merchant_id = $1 AND ${merchantCustomer} = $3
         UNION SELECT p.pay_id FROM payment p
           WHERE p.merchant_id = $1 AND ${chargedCustomer} = replace($2::text, '-', '')
         UNION SELECT p.pay_id FROM payment_plan l JOIN payment p ON p.merchant_id = l.merchant_id
             AND (p.plan_id = l.plan_id OR p.pay_id = l.initial_pay_id)
           WHERE l.merchant_id = $1 AND l.customer_id = $2::uuid`,
        [merchantId, customerId, customers[0].merchant_customer_id],
      )
      return rows.map(row => row.pay_id)
    },

    erasePayment: (merchantId, payId) =>
      inTransaction(writers, client => erasePayment(client, merchantId, payId)),

    async eraseIntentsOf(merchantId, customerId) {
      await inTransaction(writers, client =>
        eraseIntents(client, {
          merchantId,
          condition: `(i.request #>> '{customerInfo,merchantCustomerId}') = (SELECT c.merchant_customer_id
            FROM customer c WHERE c.merchant_id = $1 AND c.customer_id = $2)`,
          values: [customerId],
        }),
      )
    },

    async eraseCustomerAnswers(merchantId, customerId) {
      await inTransaction(writers, client => eraseAnswers(client, merchantId, `/customers/${customerId}`))
    },

    async listRetentions() {
      const { rows } = await readers.query<{ merchant_id: MerchantId; personal_data_for: string }>(
        'SELECT merchant_id, personal_data_for FROM merchant WHERE personal_data_for IS NOT NULL',
      )
      return rows.map(row => ({ merchantId: row.merchant_id, personalDataFor: row.personal_data_for }))
    },

    async findOverdue({ merchantId, personalDataFor }, now, after) {
      const { rows } = await readers.query<{ pay_id: string }>(
        `SELECT p.pay_id FROM merchant m JOIN payment p ON p.merchant_id = m.merchant_id
           AND (m.erased_up_to IS NULL OR p.pay_id > m.erased_up_to)
         WHERE m.merchant_id = $1 AND p.created_at < $2::timestamptz - $3::interval
           AND ($4::uuid IS NULL OR p.pay_id > $4)
         ORDER BY p.pay_id LIMIT ${overdueAtOnce}`,
        [merchantId, now, personalDataFor, after],
      )
      return rows.map(row => row.pay_id)
    },

    async markErased(retention, payIds, now) {
      const { merchantId } = retention
      const firstKept = await findFirstKept(readers, { retention, before: payIds.at(-1), now })
      const passed = firstKept === undefined ? payIds : payIds.filter(payId => payId < firstKept)
      if (passed.length === 0) return 0
      await writers.query(
        `UPDATE merchant SET erased_up_to = greatest(erased_up_to, $2::uuid) WHERE merchant_id = $1`,
        [merchantId, passed.at(-1)],
      )
      return passed.length
    },

    async eraseOverdueIntents({ merchantId, personalDataFor }, now) {
      await inTransaction(writers, client =>
        eraseIntents(client, {
          merchantId,
          condition: `i.pay_id IS NULL AND i.expires_at < $2 AND i.created_at < $2::timestamptz - $3::interval
            AND i.request::text ~ $4`,
          values: [now, personalDataFor, personalMember],
        }),
      )
    },
  }
}

/** The first payment beyond the mark whose retention has not ended. */
async function findFirstKept(
  reader: Database['readers'],
  { retention, before, now }: { retention: Retention; before: string | undefined; now: Date },
): Promise<string | undefined> {
  const { rows } = await reader.query<{ pay_id: string }>(
    `SELECT p.pay_id FROM merchant m JOIN payment p ON p.merchant_id = m.merchant_id
       AND (m.erased_up_to IS NULL OR p.pay_id > m.erased_up_to)
     WHERE m.merchant_id = $1 AND p.created_at >= $2::timestamptz - $3::interval AND p.pay_id < $4
     ORDER BY p.pay_id LIMIT 1`,
    [retention.merchantId, now, retention.personalDataFor, before],
  )
  return rows[0]?.pay_id
}

const rewrite = (json: string | null): string | null =>
  json === null ? null : JSON.stringify(erasePersonalData(JSON.parse(json)))

async function erasePayment(client: PoolClient, merchantId: string, payId: string): Promise<void> {
  const key = [merchantId, payId]
  const { rows } = await client.query<Record<'details' | 'instrument' | 'account', string | null>>(
    `SELECT details::text, instrument::text, account::text FROM payment WHERE merchant_id = $1 AND pay_id = $2
     FOR NO KEY UPDATE`,
    key,
  )
  if (!rows[0]) return
  const { details, instrument, account } = rows[0]
  // Raise the version, so that a concurrent operation does not write the erased data back.
  await client.query(
    `UPDATE payment SET details = $3, instrument = $4, account = $5, ${foundByJson}, version = version + 1
     WHERE merchant_id = $1 AND pay_id = $2`,
    [...key, rewrite(details), rewrite(instrument), rewrite(account)],
  )
  await eraseOperations(client, key)
  const { rows: events } = await client.query<{ sequence: number; body: string }>(
    'SELECT sequence, body::text FROM event WHERE merchant_id = $1 AND pay_id = $2',
    key,
  )
  for (const { sequence, body } of events)
    await client.query(
      'UPDATE event SET body = $4 WHERE merchant_id = $1 AND pay_id = $2 AND sequence = $3',
      [...key, sequence, rewrite(body)],
    )
  await eraseIntents(client, { merchantId, condition: 'i.pay_id = $2', values: [payId] })
  await eraseTraces(client, key)
  await eraseAnswers(client, merchantId, `/payments/${payId.replaceAll('-', '')}`)
}

interface OperationRow {
  readonly sequence: number
  readonly details: string
  readonly prepared: string
  readonly provider: string | null
  readonly key: { readonly verb: string; readonly path: string; readonly key: string } | null
}

async function eraseOperations(client: PoolClient, key: readonly string[]): Promise<void> {
  const { rows } = await client.query<OperationRow>(
    `SELECT sequence, details::text, prepared::text, provider::text, key FROM operation
     WHERE merchant_id = $1 AND pay_id = $2`,
    [...key],
  )
  for (const { sequence, details, prepared, provider, key: joined } of rows) {
    await client.query(
      `UPDATE operation SET details = $4, prepared = $5, provider = $6
       WHERE merchant_id = $1 AND pay_id = $2 AND sequence = $3`,
      [...key, sequence, rewrite(details), rewrite(prepared), rewrite(provider)],
    )
    if (joined) await eraseAnswer(client, { merchant_id: key[0] ?? '', ...joined })
  }
}

async function eraseIntents(
  client: PoolClient,
  found: { readonly merchantId: string; readonly condition: string; readonly values: readonly unknown[] },
): Promise<void> {
  const { merchantId } = found
  const { rows } = await client.query<{ intent_id: string; request: string }>(
    `SELECT i.intent_id, i.request::text FROM payment_intent i WHERE i.merchant_id = $1 AND ${found.condition}
     FOR NO KEY UPDATE OF i`,
    [merchantId, ...found.values],
  )
  for (const { intent_id: intentId, request } of rows) {
    await client.query('UPDATE payment_intent SET request = $3 WHERE merchant_id = $1 AND intent_id = $2', [
      merchantId,
      intentId,
      rewrite(request),
    ])
    await eraseAnswers(client, merchantId, `/payment-intents/${intentId}`)
  }
}

/** Erases the answers of requests to this path and those below it: "0" is the character after "/". */
async function eraseAnswers(client: PoolClient, merchantId: string, path: string): Promise<void> {
  for (const verb of ['PATCH', 'POST']) {
    const { rows } = await client.query<KeyName>(
      `SELECT merchant_id, verb, path, key FROM idempotency_key
       WHERE merchant_id = $1 AND verb = $2 AND (path = $3 OR path COLLATE "C" >= $3 || '/' AND path COLLATE "C" < $3 || '0')`,
      [merchantId, verb, path],
    )
    for (const row of rows) await eraseAnswer(client, row)
  }
}

interface KeyName {
  readonly merchant_id: string
  readonly verb: string
  readonly path: string
  readonly key: string
}

async function eraseAnswer(client: PoolClient, name: KeyName): Promise<void> {
  const key = [name.merchant_id, name.verb, name.path, name.key]
  const { rows } = await client.query<{ answer_body: string | null }>(
    `SELECT answer_body FROM idempotency_key WHERE merchant_id = $1 AND verb = $2 AND path = $3 AND key = $4
     FOR NO KEY UPDATE`,
    key,
  )
  const body = rows[0]?.answer_body
  if (body)
    await client.query(
      `UPDATE idempotency_key SET answer_body = $5 WHERE merchant_id = $1 AND verb = $2 AND path = $3 AND key = $4`,
      [...key, rewrite(body)],
    )
}

/**
 * Erases personal data outside the payment itself: what receivers answered to its events, raw notices of
 * providers, and evidence in its disputes. Notices that still wait to be applied and evidence in open disputes stay.
 */
async function eraseTraces(client: PoolClient, key: readonly string[]): Promise<void> {
  for (const table of ['event_attempt', 'event_delivery_attempt']) {
    await client.query(
      `UPDATE ${table} SET answer = '' WHERE merchant_id = $1 AND pay_id = $2 AND answer <> ''`,
      [...key],
    )
  }
  await client.query(
    `UPDATE provider_notice n SET sealed = NULL WHERE n.merchant_id = $1 AND n.sealed IS NOT NULL
       AND n.notice_id IN (SELECT i.notice_id FROM provider_reference r JOIN notice_item i
         ON i.merchant_id = r.merchant_id AND i.provider_account_id = r.provider_account AND i.reference = r.reference
         WHERE r.merchant_id = $1 AND r.pay_id = $2)
       AND NOT EXISTS (SELECT 1 FROM notice_item w
         WHERE w.merchant_id = n.merchant_id AND w.notice_id = n.notice_id AND w.due_at IS NOT NULL)`,
    [...key],
  )
  await client.query(
    `DELETE FROM dispute_file f USING dispute d WHERE d.merchant_id = $1 AND d.pay_id = $2
       AND d.status NOT IN ('OPEN', 'UNDER_REVIEW') AND f.merchant_id = d.merchant_id AND f.dispute_id = d.dispute_id`,
    [...key],
  )
}
