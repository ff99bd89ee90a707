/** A merchant with an account at a bank, and debits that wait for the next file: many at once, for tests and the bench. */
import { randomUUIDv7 } from 'node:crypto'
import pg from 'pg'
import type { MerchantId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import type { Engine } from '#operations/engine.ts'

export const creditorIban = 'DE02120300000000202051'
export const creditorId = 'DE98ZZZ09999999999'

export const bankSettings: readonly string[] = [
  ...['--set', 'creditorName=Müller & Söhne GmbH'],
  ...['--set', `creditorIban=${creditorIban}`],
  ...['--set', `creditorId=${creditorId}`],
]

/** Test accounts with an outcome at the simulated bank: booked, rejected, returned after two days. */
export const testIbans = {
  good: 'DE89370400440532013000',
  rejected: 'DE62370400440532013001',
  returned: 'DE35370400440532013002',
} as const

export interface Seed {
  readonly databaseUrl: string
  readonly merchantId: string
  readonly accountId: string
  readonly count: number
  readonly iban?: string
  /** The amount of the first debit; each following one is a cent more, up to a hundred. */
  readonly cents?: number
  readonly name?: string
  /** YYYY-MM-DD: the day that was announced when the debit was asked for. Without it the batch announces it. */
  readonly dueDate?: string
}

/** Debits as captures leave them, written straight into the tables: a hundred thousand take seconds. */
export async function seedDebits({ accounts }: Pick<Engine, 'accounts'>, seed: Seed): Promise<void> {
  const { merchantId, accountId, count, iban = testIbans.good, cents = 1_000, name = 'Zoë Ångström' } = seed
  const admitted = await accounts.admit(merchantId as MerchantId, new Secret(iban))
  if (!admitted) throw new Error('the account was not admitted')
  const client = new pg.Client(seed.databaseUrl)
  await client.connect()
  try {
    const { row } = admitted
    if (row)
      await client.query(
        `INSERT INTO vault_account (merchant_id, account_id, pseudo_number, key_version, sealed)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
        [merchantId, row.accountId, row.pseudoNumber, row.keyVersion, row.sealed],
      )
    const account = { accountId: admitted.accountId, last4Digits: iban.slice(-4), accountHolderName: name }
    await client.query(seedStatement, [
      merchantId,
      accountId,
      newIds(count),
      cents,
      admitted.accountId,
      JSON.stringify(account),
      seed.dueDate === undefined ? null : JSON.stringify({ fields: { dueDate: seed.dueDate, creditorId } }),
      newIds(count),
      newIds(count),
    ])
  } finally {
    await client.end()
  }
}

/**
 * In order, so that the amounts rise with the ids. Made here and not in the statement, because PostgreSQL has no function for
 * it before version 18.
 */
const newIds = (count: number): readonly string[] =>
  Array.from({ length: count }, () => randomUUIDv7()).sort()

const seedStatement = `WITH made AS MATERIALIZED (SELECT pay_id, auth_id, capture_id, $4::bigint + n % 100 AS amount, now() AS at
      FROM unnest($3::uuid[], $8::uuid[], $9::uuid[]) WITH ORDINALITY AS given (pay_id, auth_id, capture_id, n)),
    payments AS (INSERT INTO payment (merchant_id, pay_id, kind, trans_id, method, integration_type, status, live, currency,
        amount, authorized, capturing, captured, reversing, reversed, refunding, refunded, capture_percent, capture_method,
        closed_for_capture, details, event_sequence, created_at, updated_at, version, account_id, account, provider_account,
        connector, authorization_expires_at)
      SELECT $1, pay_id, 'PAYMENT', 'T-' || replace(pay_id::text, '-', ''), 'DIRECTDEBIT', 'DIRECT', 'CAPTURE_REQUEST', true,
        'EUR', amount, amount, amount, 0, 0, 0, 0, 0, 100, 'AUTOMATIC', false, '{}', 0, at, at, 1, $5::uuid,
        ($6::jsonb || jsonb_build_object('mandateId', 'M-' || replace(pay_id::text, '-', ''), 'dateOfSignature',
          to_char(at, 'DD.MM.YYYY')))::json, $2, 'bank', NULL FROM made),
    operations AS (INSERT INTO operation (merchant_id, pay_id, sequence, x_id, type, state, amount, trans_id, response_code,
        prepared, details, created_at, updated_at, provider)
      SELECT $1, pay_id, 1, auth_id, 'AUTHORIZATION', 'OK', amount, 'T-' || replace(pay_id::text, '-', ''), '00000000', '{}'::json,
        json_build_object('captureXId', replace(capture_id::text, '-', '')), at, at, NULL::json FROM made
      UNION ALL
      SELECT $1, pay_id, 2, capture_id, 'CAPTURE', 'PENDING', amount, 'T-' || replace(pay_id::text, '-', ''), '00000002',
        '{}'::json, '{}'::json, at, at, $7::json FROM made),
    marks AS (INSERT INTO payment_mark (merchant_id, pay_id, created_at, status, response_code)
      SELECT $1, pay_id, at, 'CAPTURE_REQUEST', '00000002' FROM made)
  INSERT INTO timer (merchant_id, pay_id, x_id, kind, run_at, attempt)
  SELECT $1, pay_id, capture_id, 'BATCH', '9000-01-01', 0 FROM made`
