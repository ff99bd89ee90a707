/** Unanswered operations of a merchant that is moved to another cell. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { withOpenMove } from '#storage/cells/move-rows.ts'
import { markName } from '#storage/payments/unanswered.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let from: TestDatabase
let to: TestDatabase
let merchantId: string
beforeAll(async () => {
  from = await createTestDatabase()
  to = await createTestDatabase()
  const gateway = await startTestGateway({ databaseUrl: from.url })
  merchantId = gateway.merchantId
  const { status } = await gateway.call('POST', '/payments', cardPayment())
  expect(status).toBe(200)
  // From here on only the test looks for unanswered operations.
  await gateway.stop()
})
afterAll(async () => {
  await from.drop()
  await to.drop()
})
beforeEach(() => queryRows(to.url, 'DELETE FROM installation WHERE name = $1', [markName]))

const sentAt = '2026-01-02T03:04:05.678Z'

const leaveUnanswered = () =>
  queryRows(from.url, "UPDATE operation SET state = 'SENT', process = 1, sent_at = $1", [sentAt])

const mark = (value: string) =>
  queryRows(to.url, 'INSERT INTO installation (name, value) VALUES ($1, $2)', [markName, value])

/** Copies the merchant, and rolls the deletion in the old cell back, so that the next test can copy it again. */
async function copy(): Promise<string | undefined> {
  await withOpenMove({ from: from.url, to: to.url, merchantId }, move => move.commitCopy())
  const [row] = await queryRows<{ value: string }>(to.url, 'SELECT value FROM installation WHERE name = $1', [
    markName,
  ])
  return row?.value
}

test.each([
  ['is taken back to an older operation', '2026-03-01T00:00:00.000Z', sentAt],
  ['is taken back when an earlier release wrote it', '2026-03-01 00:00:00+00', sentAt],
  ['stays where it is before a newer operation', '2025-12-31T00:00:00.000Z', '2025-12-31T00:00:00.000Z'],
])('the search for unanswered operations %s', async (_, before, after) => {
  await leaveUnanswered()
  await mark(before)
  expect(new Date((await copy()) ?? '').toISOString()).toBe(after)
})

test('without a mark the search finds every operation, so no mark is written', async () => {
  await leaveUnanswered()
  expect(await copy()).toBeUndefined()
})

test('no process of the new cell owns an unanswered operation', async () => {
  await leaveUnanswered()
  await copy()
  // A card payment is an authorisation and a capture.
  expect(await queryRows(to.url, 'SELECT type, state, process FROM operation ORDER BY sequence')).toEqual([
    { type: 'AUTHORIZATION', state: 'SENT', process: null },
    { type: 'CAPTURE', state: 'SENT', process: null },
  ])
})
