/** How errors of the database are classified. */
import pg from 'pg'
import { expect, test } from 'vitest'
import { DatabaseSilent } from '#storage/breaker.ts'
import { constraintOf, isConnectionLost, isNeverSent } from '#storage/database.ts'

test.each([
  ['payment_live_by_trans_id', 'payment_live_by_trans_id'],
  ['payment_live_by_trans_id_102049', 'payment_live_by_trans_id'],
  ['vault_key_pkey1', 'vault_key_pkey1'],
  [undefined, undefined],
])('the constraint %s is %s, whichever shard of Citus reports it', (constraint, expected) => {
  expect(constraintOf({ constraint })).toBe(expected)
})

test.each([
  [
    'duplicate key value violates unique constraint "payment_live_by_trans_id_102047"',
    'payment_live_by_trans_id',
  ],
  [
    'doppelter Schlüsselwert verletzt Unique-Constraint „idempotency_key_pkey_102031“',
    'idempotency_key_pkey',
  ],
  ['deadlock detected', undefined],
])('the constraint is read from the message of a Citus worker node: %s', (message, expected) => {
  expect(constraintOf(Object.assign(new Error(message), { code: '23505' }))).toBe(expected)
})

test('a query on a closed pool, while this process stops, counts as a lost connection', async () => {
  const pool = new pg.Pool()
  await pool.end()
  const client = new pg.Client()
  await client.end()
  for (const late of [pool.query('SELECT 1'), client.query('SELECT 1')])
    expect(isConnectionLost(await late.catch((error: unknown) => error))).toBe(true)
})

test.each([
  '57P01',
  '57P03',
  '57P05',
  '25P03',
  '25006',
  '08006',
  'ECONNREFUSED',
  'ERR_STREAM_DESTROYED',
  'CIINF',
])('the code %s means that the connection is lost', code =>
  expect(isConnectionLost(Object.assign(new Error('gone'), { code }))).toBe(true),
)

test.each([
  ['ECONNREFUSED', true],
  ['57P03', true],
  ['ECONNRESET', false],
  ['57P01', false],
  ['EPIPE', false],
])('after the code %s a statement was certainly not sent: %s', (code, expected) =>
  expect(isNeverSent(Object.assign(new Error('gone'), { code }))).toBe(expected),
)

test('a statement is never sent to a silent database or without a connection, but may be sent before a timeout', () => {
  expect(isNeverSent(new DatabaseSilent())).toBe(true)
  expect(isNeverSent(new Error('timeout exceeded when trying to connect'))).toBe(true)
  expect(isNeverSent(new Error('Query read timeout'))).toBe(false)
})

test.each(['23505', '42601', '22P02', '53100'])(
  'the code %s does not mean that the connection is lost',
  code => expect(isConnectionLost(Object.assign(new Error('no'), { code }))).toBe(false),
)
