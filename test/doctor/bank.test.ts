/** `doctor` on bank files and customers' transfers, intact and after deliberate damage. */
import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { examineVault } from '#operations/merchants/examine-keys.ts'
import { seedDebits, testIbans } from '#test/support/bank/debits.ts'
import { statement, type TestEntry } from '#test/support/bank/files.ts'
import { type BankStage, openBankStage } from '#test/support/bank/stage.ts'
import { examineDamaged, nameDamage } from '#test/support/database/damage.ts'
import { masterKeyOf } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'
import { toMasterKey, toRing } from '#vault/master-key.ts'

let stage: BankStage
let number = 0

beforeAll(async () => {
  stage = await openBankStage()
  await makeTransfers()
})
afterAll(() => stage.close())

const arrive = (entry: Omit<TestEntry, 'reference'>) => {
  const reference = `entry ${++number}`
  const payer = { name: 'Ann Mueller', iban: testIbans.good }
  const path = stage.commands.file(`${reference}.xml`, statement([{ reference, payer, ...entry }]))
  return stage.import(path)
}

const batch = () => stage.batch(`${++number}`)

async function order(transId: string): Promise<string> {
  const { body } = await stage.gateway.call('POST', '/payments', {
    transId,
    amount: { value: 1000, currency: 'EUR' },
    paymentMethods: { integrationType: 'DIRECT', type: 'SEPACREDITTRANSFER', sepaCreditTransfer: {} },
  })
  return body.payId
}

const cancel = (payId: string) => stage.gateway.call('POST', `/payments/${payId}/cancellations`, {})

/** Each payment is named by its transId; two batches are made, and what comes after them waits. */
async function makeTransfers(): Promise<void> {
  const { gateway, accountId, commands } = stage
  const { databaseUrl, merchantId } = gateway
  await seedDebits(gateway.gateway.engine, { databaseUrl, merchantId, accountId, count: 2 })
  const paid = await order('too-much')
  await arrive({ cents: 1250, text: 'too-much' })
  await gateway.call('POST', `/payments/${paid}/refunds`, {
    ...{ transId: 'back', amount: { value: 300, currency: 'EUR' } },
  })
  const ended = await order('ended')
  await arrive({ cents: 400, text: 'ended' })
  await cancel(ended)
  await order('returned')
  await arrive({ cents: 1333, text: 'returned' })
  await batch()
  const [surplus] = await queryRows<{ id: string }>(
    databaseUrl,
    `SELECT replace(x_id::text, '-', '') AS id FROM bank_surplus WHERE amount = 333`,
  )
  const [debit] = await queryRows<{ id: string; amount: string }>(
    databaseUrl,
    `SELECT replace(x_id::text, '-', '') AS id, amount FROM bank_item WHERE type = 'DEBIT' LIMIT 1`,
  )
  await arrive({ cents: Number(debit?.amount), endToEndId: debit?.id ?? '' })
  const id = surplus?.id ?? ''
  await arrive({ cents: 333, endToEndId: id, reason: 'AC04' })
  await commands.json('bank', 'undelivered', '--account', accountId, '--again', id)
  await order('in-parts')
  for (const cents of [300, 800, 500]) await arrive({ cents, text: 'in-parts' })
  const late = await order('late')
  await cancel(late)
  await arrive({ cents: 100, text: 'late' })
  const queued = await order('queued')
  await arrive({ cents: 450, text: 'queued' })
  await cancel(queued)
}

const of = (transId: string): string => `pay_id = (SELECT pay_id FROM payment WHERE trans_id = '${transId}')`
const surplus = (change: string, amount: number): string =>
  `UPDATE bank_surplus SET ${change} WHERE amount = ${amount}`
const anyBatch = '(SELECT batch_id FROM bank_batch LIMIT 1)'
const transfers = `type = 'pain.001.001.09'`
const withoutLast = `DELETE FROM bank_file_part p WHERE ${transfers} AND position = (SELECT max(position)
  FROM bank_file_part WHERE ${transfers})`
const bookedFirst = `entry_key IN (SELECT booked_by FROM bank_item WHERE type = 'DEBIT')`
const laxParts = 'ALTER TABLE bank_file_part DROP CONSTRAINT bank_file_part_of_file'

test('the history has surplus payments in every state', async () => {
  const rows = await queryRows<{ x: string }>(
    stage.gateway.databaseUrl,
    `SELECT p.trans_id || ' ' || s.amount || CASE WHEN s.batch_id IS NULL THEN ' waits' ELSE '' END AS x
     FROM bank_surplus s JOIN payment p USING (merchant_id, pay_id) ORDER BY 1`,
  )
  expect(rows.map(({ x }) => x)).toEqual([
    'ended 400',
    'in-parts 100 waits',
    'in-parts 500 waits',
    'late 100 waits',
    'returned 333',
    'returned 333 waits',
    'too-much 250',
  ])
})

test.each<[string, string[], ...string[]]>([
  ['SELECT 1', []],
  [surplus('amount = 251', 250), ['surplus-fits-transfer', 'surplus-in-its-file']],
  [surplus('amount = 600', 500), ['surplus-fits-transfer']],
  [`UPDATE bank_surplus SET amount = 334 WHERE amount = 333 AND batch_id IS NULL`, ['surplus-fits-transfer']],
  [surplus('batch_id = NULL', 250), ['surplus-in-its-file']],
  [surplus(`batch_id = ${anyBatch}`, 500), ['surplus-in-its-file']],
  [surplus(`pay_id = (SELECT pay_id FROM payment WHERE trans_id = 'late')`, 500), ['surplus-fits-transfer']],
  [surplus(`provider_account_id = 'acc_000000000000000000000000'`, 500), ['surplus-fits-transfer']],
  [surplus('x_id = gen_random_uuid()', 500), ['surplus-goes-back', 'surplus-fits-transfer']],
  ['DELETE FROM bank_surplus WHERE amount = 250', ['surplus-goes-back', 'surplus-in-its-file']],
  [`DELETE FROM bank_surplus WHERE ${of('late')}`, ['surplus-goes-back']],
  [`DELETE FROM timer WHERE kind = 'BATCH' AND ${of('queued')}`, ['surplus-goes-back']],
  [`UPDATE bank_entry SET amount = 1350 WHERE amount = 1250`, ['transfer-is-counted', 'transfer-is-settled']],
  [
    `UPDATE operation SET provider = replace(provider::text, '1250', '1260')::json WHERE ${of('too-much')}`,
    ['transfer-is-counted', 'surplus-fits-transfer'],
  ],
  [`UPDATE bank_item SET amount = 251 WHERE amount = 250`, ['bank-file-sums', 'surplus-in-its-file']],
  ['DELETE FROM bank_item WHERE amount = 250', ['bank-file-sums', 'surplus-in-its-file']],
  ['DELETE FROM bank_item WHERE amount = 300', ['unanswered-asked', 'bank-file-sums']],
  [`UPDATE bank_entry SET currency = 'USD' WHERE amount = 1250`, ['transfer-is-counted']],
  [
    `UPDATE settlement_line SET gross = gross - 1 WHERE type = 'RESERVE' AND ${of('in-parts')}`,
    ['transfer-is-settled'],
  ],
  [`DELETE FROM settlement_line WHERE type = 'CORRECTION' AND ${of('late')}`, ['transfer-is-settled']],
  ['DELETE FROM bank_mandate', ['bank-item-has-mandate']],
  [`UPDATE bank_file SET message_id = 'other' WHERE ${transfers}`, ['bank-file-names']],
  [`DELETE FROM bank_entry WHERE ${bookedFirst}`, ['bank-booking-has-entry']],
  [`UPDATE bank_entry SET amount = 999 WHERE ${bookedFirst}`, ['bank-booking-has-entry']],
  ['DELETE FROM bank_file_part', ['bank-file-parts']],
  [`DELETE FROM bank_file_part WHERE position = 1 AND ${transfers}`, ['bank-file-parts']],
  [`DELETE FROM bank_file_part WHERE position = 0 AND ${transfers}`, ['bank-file-parts']],
  [withoutLast, ['bank-file-parts']],
  ['DELETE FROM bank_batch', ['bank-file-parts']],
  [`DELETE FROM bank_file WHERE ${transfers}`, ['bank-file-sums', 'bank-file-parts'], laxParts],
  [
    `UPDATE bank_file_part SET batch_id = gen_random_uuid() WHERE ${transfers}`,
    ['bank-file-parts'],
    laxParts,
  ],
])('after %s the doctor finds %j', async (damage, expected, ...before) => {
  expect(await nameDamage(stage.gateway.databaseUrl, ...before, damage)).toEqual(expected)
})

test('a file that an earlier release stored in a single part counts as complete', async () => {
  const upgraded = `UPDATE schema_migration SET applied_at = now() + interval '1 hour'
    WHERE name = '0041-bank-entries-waiting.sql'`
  const inOnePart = 'DELETE FROM bank_file_part WHERE position > 0'
  expect(await nameDamage(stage.gateway.databaseUrl, inOnePart)).toEqual(['bank-file-parts'])
  expect(await nameDamage(stage.gateway.databaseUrl, upgraded, inOnePart)).toEqual([])
})

test.each([
  ['bank_file_part', 'bank-file-opens'],
  ['bank_entry', 'bank-entry-opens'],
  ['bank_surplus', 'bank-surplus-opens'],
])('changed sealed data in %s is found as %s', async (table, expected) => {
  const { databaseUrl } = stage.gateway
  const ring = toRing(toMasterKey(masterKeyOf(databaseUrl), 'the test key'))
  const damage = `UPDATE ${table} SET sealed = set_byte(sealed, 20, get_byte(sealed, 20) # 1)`
  const examineMore = (client: pg.ClientBase) => examineVault(client, ring)
  expect(await examineDamaged(databaseUrl, [], examineMore)).toEqual([])
  const found = await examineDamaged(databaseUrl, [damage], examineMore)
  expect(found.map(({ name }) => name)).toEqual([expected])
})
