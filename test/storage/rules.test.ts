/** The database refuses any row that violates a rule (a constraint), and names the rule. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway()
  const { body } = await gateway.call('POST', '/payments', cardPayment(), { 'idempotency-key': 'rules' })
  expect(body.status).toBe('OK')
  await queryRows(
    gateway.databaseUrl,
    `INSERT INTO event (merchant_id, pay_id, sequence, event_id, x_id, body, created_at, due_at)
     SELECT merchant_id, pay_id, 1, gen_random_uuid(), x_id, '{}', now(), now() + interval '1 day' FROM operation LIMIT 1`,
  )
})

afterAll(() => gateway.stop())

const long = (length: number): string => `repeat('x', ${length})`

/** For each rule, a change to a valid row that violates it. */
const breaches: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  payment: {
    payment_trans_id_check: `trans_id = ''`,
    payment_ref_nr_check: `ref_nr = ${long(41)}`,
    payment_method_check: `method = ${long(41)}`,
    payment_integration_type_check: `integration_type = 'OTHER'`,
    payment_status_check: `status = 'OTHER'`,
    payment_currency_check: `currency = 'eur'`,
    payment_amount_check: 'amount = 1000000000000',
    payment_authorized_check: 'authorized = -1',
    payment_capturing_check: 'capturing = -1',
    payment_captured_check: 'captured = -1',
    payment_reversing_check: 'reversing = -1',
    payment_reversed_check: 'reversed = -1',
    payment_refunding_check: 'refunding = -1',
    payment_refunded_check: 'refunded = -1',
    payment_returned_range: 'returned = -1',
    payment_disputed_range: 'disputed = -1',
    payment_capture_percent_check: 'capture_percent = 99',
    payment_capture_method_check: `capture_method = 'OTHER'`,
    payment_delayed_hours_check: 'delayed_hours = 697',
    payment_event_sequence_check: 'event_sequence = -1',
    payment_version_check: 'version = 0',
    payment_kind_check: `kind = 'OTHER'`,
    payment_awaits_check: `awaits = 'OTHER'`,
    payment_order_reference_check: `order_reference = ${long(256)}`,
    payment_invoice_id_check: `invoice_id = ${long(256)}`,
    payment_connector_length: `connector = ${long(65)}`,
    payment_provider_account_length: `provider_account = ${long(65)}`,
    payment_provider_whole: `provider_account = 'account', connector = NULL`,
    payment_captures_within_ceiling: 'captured = captured + 1',
    payment_refunds_within_captures: 'refunded = captured + 1',
    payment_returns_within_captures: 'returned = captured + 1',
    payment_credit_takes_nothing: `kind = 'CREDIT'`,
    payment_dead_holds_nothing: 'live = false',
    payment_failed_moved_nothing: `status = 'FAILED', live = false`,
    payment_delay_is_given: 'delayed_hours = 5',
  },
  operation: {
    operation_sequence_check: 'sequence = 0',
    operation_type_known: `type = 'OTHER'`,
    operation_state_check: `state = 'OTHER'`,
    operation_amount_check: 'amount = -1',
    operation_trans_id_check: `trans_id = ${long(65)}`,
    operation_ref_nr_check: `ref_nr = ${long(41)}`,
    operation_response_code_check: `response_code = '1234567'`,
  },
  vault_card: {
    vault_card_pseudo_number_check: `pseudo_number = '4111111111111111'`,
    vault_card_sealed_check: `sealed = ${long(129)}::bytea`,
    vault_card_expiry_date_check: `expiry_date = '12/30'`,
    vault_card_check: 'sealed = NULL',
    vault_card_destroyed_once: 'sealed = NULL, destroyed_at = now(), delete_after_use_at = now()',
  },
  idempotency_key: {
    idempotency_key_verb_check: `verb = 'GET'`,
    idempotency_key_path_check: `path = ${long(257)}`,
    idempotency_key_key_check: `key = ''`,
    idempotency_key_fingerprint_check: `fingerprint = 'x'`,
    idempotency_key_answer_status_check: 'answer_status = 199',
    idempotency_key_check: 'answer_body = NULL',
  },
  event: {
    event_sequence_check: 'sequence = 0',
    event_url_check: `url = ${long(2049)}`,
    event_status_check: `status = 'OTHER'`,
    event_attempts_check: 'attempts = -1',
    event_tries_check: 'tries = -1',
    event_round_check: 'round = -1',
    event_sent_to_check: `sent_to = ${long(2049)}`,
    event_check: 'tries = 1',
    event_pending_is_due: 'due_at = NULL',
    event_type_length: `type = ${long(41)}`,
  },
}

test.each(Object.entries(breaches))('every rule of %s refuses what breaks it', async (table, changes) => {
  const [{ rules } = { rules: '' }] = await queryRows<{ rules: string }>(
    gateway.databaseUrl,
    `SELECT prosrc AS rules FROM pg_proc WHERE proname = '${table}_follows_rules'`,
  )
  expect([...rules.matchAll(/THEN '(\w+)'/g)].map(([, rule]) => rule).toSorted()).toEqual(
    Object.keys(changes).toSorted(),
  )
  for (const [rule, change] of Object.entries(changes)) {
    const refusal = await queryRows(gateway.databaseUrl, `UPDATE ${table} SET ${change}`).catch(
      error => error,
    )
    expect(refusal).toBeInstanceOf(pg.DatabaseError)
    expect([refusal.code, refusal.table, refusal.constraint]).toEqual(['23514', table, rule])
    // The message must not show the contents of the row.
    expect(refusal.detail).toBeUndefined()
  }
  await queryRows(gateway.databaseUrl, `UPDATE ${table} SET merchant_id = merchant_id`)
})

const spellings: readonly (readonly [table: string, column: string, wrong: readonly string[]])[] = [
  ['payment', 'currency', ['EU', 'EURO', 'EU1', 'EuR', 'ÄÖÜ', 'EU\n']],
  ['operation', 'response_code', ['1234567', '123456789', '1234567x', '1234567\n', '１２３４５６７８']],
  [
    'vault_card',
    'pseudo_number',
    ['012345678901234', '01234567890123456', '1123456789012345', '012345678901234x'],
  ],
  ['vault_card', 'expiry_date', ['20301', '2030123', '2030-1']],
  ['idempotency_key', 'fingerprint', ['a'.repeat(63), 'a'.repeat(65), 'A'.repeat(64), 'g'.repeat(64)]],
]

test.each(spellings)('%s.%s is refused if a single letter is wrong', async (table, column, wrong) => {
  for (const text of wrong) {
    const refusal = await queryRows(gateway.databaseUrl, `UPDATE ${table} SET ${column} = '${text}'`).catch(
      error => error,
    )
    expect(refusal).toMatchObject({ code: '23514', constraint: `${table}_${column}_check` })
  }
})

test('the previous release and this one see the same time of deletion under the old and the new column name', async () => {
  const write = (change: string) =>
    queryRows(
      gateway.databaseUrl,
      `UPDATE vault_card SET ${change} RETURNING doomed_at::text AS old, delete_after_use_at::text AS new`,
    )
  const early = '2030-01-01 00:00:00+00'
  const late = '2031-01-01 00:00:00+00'
  expect(await write(`doomed_at = '${early}'`)).toEqual([{ old: early, new: early }])
  expect(await write(`delete_after_use_at = '${late}'`)).toEqual([{ old: late, new: late }])
  expect(await write('doomed_at = NULL')).toEqual([{ old: null, new: null }])
  await write(`doomed_at = '${early}'`)
  expect(await write('delete_after_use_at = NULL')).toEqual([{ old: null, new: null }])
})

test('half of each page of the table payment stays free for the second write', async () => {
  const sql = `SELECT reloptions FROM pg_class WHERE oid = 'payment'::regclass`
  expect(await queryRows(gateway.databaseUrl, sql)).toEqual([{ reloptions: ['fillfactor=50'] }])
})
