/** What is read out of errors of the database. */
import { expect, test } from 'vitest'
import { constraintOf } from '#storage/database.ts'

test.each([
  ['payment_live_by_trans_id', 'payment_live_by_trans_id'],
  ['payment_live_by_trans_id_102049', 'payment_live_by_trans_id'],
  ['vault_key_pkey1', 'vault_key_pkey1'],
  [undefined, undefined],
])('the constraint %s is %s, whichever shard of Citus reports it', (constraint, expected) => {
  expect(constraintOf({ constraint })).toBe(expected)
})
