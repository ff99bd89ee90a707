/**
 * Every column that can hold text, and what happens to it when a customer's personal data is erased. A column that is
 * not on the list fails here: its author must decide, and erase it in src/storage/customers/ if it is about a customer.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

type Fate =
  /** Blanked, emptied or deleted with the customer. */
  | 'erased'
  /** Ids, codes, states, amounts and settings: they name no person. */
  | 'not personal'
  /** About operators, not about customers. */
  | 'staff'
  /** Books and bank files, which must be kept for years; sealed if they name a person. */
  | 'kept by law'
  /** The merchant's own free text and ids, which are returned as sent: erasing them is up to the merchant. */
  | 'of the merchant'
  /** Deleted automatically after hours or days. */
  | 'short-lived'

/** Per table: its columns by what happens to them. Merchant ids are in every table and omitted. */
const fates: Readonly<Record<string, Readonly<Partial<Record<Fate, string>>>>> = {
  api_key: { 'not personal': 'key_hash name scopes allow_from', staff: 'last_used_from' },
  api_key_address: { staff: 'address' },
  audit: { staff: 'actor came_from act object before after', 'not personal': 'hash' },
  audit_head: { 'not personal': 'hash' },
  bank_batch: { 'not personal': 'provider_account_id' },
  bank_entry: {
    'kept by law': 'sealed',
    'not personal': 'provider_account_id entry_key former_key state result currency',
  },
  bank_file: { 'not personal': 'type message_id sha256' },
  bank_file_part: { 'kept by law': 'sealed', 'not personal': 'type' },
  bank_import: { 'not personal': 'provider_account_id sha256' },
  bank_item: {
    'kept by law': 'mandate_id amendment',
    'not personal':
      'provider_account_id type block_id sequence_type booked_by returned_by return_reason rejected',
  },
  bank_mandate: {
    'kept by law': 'mandate_key',
    'not personal': 'provider_account_id creditor_id creditor_name end_reason',
  },
  bank_surplus: { 'kept by law': 'sealed', 'not personal': 'provider_account_id' },
  bin_range: { 'not personal': 'span brand co_brands product source issuer country currency' },
  customer: {
    erased: 'merchant_customer_id first_name last_name email phone_country phone_number billing_address',
  },
  dcc_quote: {
    'not personal':
      'bin merchant_currency cardholder_currency exchange_rate markup_percentage rate_source trans_id',
  },
  deleted_customer: { 'of the merchant': 'merchant_customer_id' },
  dispute: {
    'not personal':
      'dispute_id provider_dispute_id currency stage status reason_code reason_group kept events',
  },
  dispute_file: { erased: 'name sealed', 'not personal': 'dispute_id type' },
  event: { erased: 'body', 'not personal': 'url receiver status sent_to type' },
  event_attempt: { erased: 'answer' },
  event_delivery: { 'not personal': 'endpoint_id url status' },
  event_delivery_attempt: { erased: 'answer', 'not personal': 'endpoint_id' },
  exchange_rate: { 'not personal': 'currency per_euro source' },
  idempotency_key: { erased: 'answer_body', 'not personal': 'verb path key fingerprint' },
  installation: { 'not personal': 'name value' },
  limit_use: { 'short-lived': 'name' },
  merchant: {
    'not personal':
      'name webhook_kind webhook_url methods theme frame_origins declines_per_card declines_per_address ' +
      'payout_limit personal_data_for paid_late',
  },
  notice_item: { 'not personal': 'provider_account_id item_key kind reference state detail' },
  one_time_key: { 'short-lived': 'sealed_key' },
  operation: {
    erased: 'prepared provider details',
    'not personal': 'type state response_code key',
    'of the merchant': 'trans_id ref_nr',
  },
  operator: { staff: 'email role merchants refund_limits password_hash totp_sealed' },
  operator_link: { staff: 'token_hash totp_sealed' },
  operator_passkey: { staff: 'credential_id public_key' },
  operator_session: { staff: 'session_hash address browser' },
  ordered_fault: { 'not personal': 'rules' },
  payment: {
    erased: 'instrument details account email merchant_customer charged_customer link_id last_digits',
    'not personal':
      'method integration_type status currency capture_method kind awaits provider_account connector',
    'of the merchant': 'trans_id ref_nr order_reference invoice_id',
  },
  payment_intent: { erased: 'request', 'not personal': 'intent_id' },
  payment_mark: { 'not personal': 'status response_code' },
  payment_plan: {
    'not personal': 'type status currency recurring scheme_reference_id charged_method charged_account',
    'of the merchant': 'merchant_customer_id metadata cancellation_reason',
  },
  payout: { 'not personal': 'currency' },
  provider_account: { 'not personal': 'provider_account_id connector name settings' },
  provider_notice: { erased: 'sealed', 'not personal': 'provider_account_id' },
  provider_reference: { 'not personal': 'provider_account reference' },
  provider_secret: { 'not personal': 'provider_account_id name sealed' },
  route_rule: { 'not personal': 'provider_account_id types brands currencies countries' },
  schema_migration: { 'not personal': 'name checksum' },
  settlement_line: {
    'not personal':
      'provider_account_id settlement_id provider_reference type currency paid_currency transaction_id reference',
  },
  stored_method: { erased: 'type last4_digits brand expiry_date card_holder_name account_holder_name' },
  timer: { 'not personal': 'kind' },
  vault_account: { erased: 'pseudo_number sealed' },
  vault_card: { erased: 'pseudo_number sealed expiry_date' },
  vault_key: { 'not personal': 'wrapped master_key_id' },
  // A blocked address is forgotten when its window ends, after 31 days at most.
  velocity: { 'not personal': 'kind', 'short-lived': 'subject declines' },
  webhook_endpoint: { 'not personal': 'endpoint_id url types kind' },
  webhook_endpoint_secret: { 'not personal': 'endpoint_id sealed' },
  webhook_secret: { 'not personal': 'sealed' },
}

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const readColumns = async (condition: string): Promise<readonly string[]> =>
  (
    await queryRows<{ name: string }>(
      database.url,
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = current_schema() AND column_name <> 'merchant_id' AND ${condition} ORDER BY 1`,
    )
  ).map(({ name }) => name)

test('every column that can hold text is listed with what happens to it when a customer is erased', async () => {
  const columns = await readColumns(
    `data_type NOT IN ('bigint', 'integer', 'smallint', 'boolean', 'timestamp with time zone', 'double precision',
       'uuid', 'date')`,
  )
  const listed = Object.entries(fates).flatMap(([table, byFate]) =>
    Object.values(byFate).flatMap(names => names.split(' ').map(name => `${table}.${name}`)),
  )
  expect(listed.toSorted()).toEqual(columns.toSorted())
})
