/** How errors of the database are classified. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createBreaker, DatabaseSilent } from '#storage/breaker.ts'
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

test('a server that accepts connections and says nothing counts as silent after the first one', async () => {
  const sockets: Socket[] = []
  const server = createServer(socket => void sockets.push(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const pool = new pg.Pool({ host: '127.0.0.1', port, connectionTimeoutMillis: 20 })
  const breaker = createBreaker(`postgresql://127.0.0.1:${port}/silent`)
  breaker.guard(pool)
  const failure = () => pool.query('SELECT 1').catch((error: unknown) => error)
  expect(isConnectionLost(await failure())).toBe(true)
  expect(await failure()).toBeInstanceOf(DatabaseSilent)
  breaker.close()
  for (const socket of sockets) socket.destroy()
  server.close()
  await pool.end()
})

test.each(['23505', '42601', '22P02', '53100'])(
  'the code %s does not mean that the connection is lost',
  code => expect(isConnectionLost(Object.assign(new Error('no'), { code }))).toBe(false),
)
