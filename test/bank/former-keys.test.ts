/**
 * Entries that an earlier release stored under other keys are recognised in another file by import, settlement and
 * doctor.
 */
import { createReadStream } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TransactionFact } from '#connectors/bank/bank-facts.ts'
import { readBankFile } from '#connectors/bank/read-bank-file.ts'
import { creditorIban, testIbans } from '#test/support/bank/debits.ts'
import { statement, type TestEntry } from '#test/support/bank/files.ts'
import { type BankStage, importFiles, openBankStage } from '#test/support/bank/stage.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let stage: BankStage
beforeAll(async () => {
  stage = await openBankStage()
})
afterAll(() => stage.close())

const payer = { name: 'Ann', iban: testIbans.good }

async function order(transId: string): Promise<string> {
  const { status, body, text } = await stage.gateway.call('POST', '/payments', {
    transId,
    amount: { value: 1000, currency: 'EUR' },
    paymentMethods: { integrationType: 'DIRECT', type: 'SEPACREDITTRANSFER', sepaCreditTransfer: {} },
  })
  if (status !== 200) throw new Error(text)
  return body.payId
}

const record = async (payId: string) =>
  (await stage.gateway.call('GET', `/payments/getByPayId/${payId}`)).body

let number = 0
const write = (...entries: TestEntry[]): string => stage.commands.file(`s${++number}.xml`, statement(entries))
const importNow = (path: string) => stage.import(path)
const settleNow = (path: string) => stage.commands.json('settlements', 'import', stage.accountId, path)

async function transactionsIn(path: string): Promise<TransactionFact[]> {
  const found: TransactionFact[] = []
  for await (const facts of readBankFile(createReadStream(path)))
    found.push(...facts.filter(fact => fact.kind === 'transaction'))
  return found
}

/** Like `bank import` of an earlier release, which used the former key of each entry. */
async function importThen(path: string): Promise<void> {
  const { bank } = stage.gateway.gateway
  const { merchantId, accountId } = await bank.account(stage.accountId)
  const entries = (await transactionsIn(path)).map(async ({ formerKey, ...fact }) => {
    const [entryId, key] = [bank.engine.newId(), formerKey ?? fact.key]
    const plain = Buffer.from(JSON.stringify({ ...fact, key }))
    const sealed = await bank.records.seal('bank entry', merchantId, entryId, plain)
    const { bookedOn, amount } = fact
    const row = { merchantId, accountId, entryId, key, bookedOn, isSum: false }
    return { ...row, amount: amount.value, currency: amount.currency, ...sealed }
  })
  const file = { sha256: () => path, accounts: () => [] }
  await bank.entries.takeFile(file, async keep => void (await keep(await Promise.all(entries))))
  await importFiles([stage.commands.file('nothing.xml', statement([]))], bank)
}

/** Like `settlements import` of an earlier release. */
async function settleThen(path: string): Promise<void> {
  await settleNow(path)
  for (const { key, formerKey } of await transactionsIn(path))
    await queryRows(
      stage.gateway.databaseUrl,
      `UPDATE settlement_line SET provider_reference = 'E|${formerKey}' WHERE provider_reference = 'E|${key}' RETURNING 1`,
    )
}

const expectReconciled = async () => {
  const range = ['--from', '2026-01-01', '--to', '2199-01-01']
  expect(await stage.commands.json('reconcile', '--account', stage.accountId, ...range)).toEqual({
    oursWithoutTheirs: [],
    theirsWithoutOurs: [],
    amountsDiffer: [],
  })
  expect(await stage.commands.json('doctor')).toMatchObject({ healthy: true })
}

test('a booked transfer and its surplus are recognised in another file', async () => {
  const payId = await order('before-update')
  const entry = { reference: 'OLD', payer, cents: 1200, text: 'before-update' }
  await importThen(write(entry))
  expect(await record(payId)).toMatchObject({ status: 'OK', amount: { receivedValue: 1200 } })
  // The other one has the same reference and was left out then.
  const both = write({ ...entry, cents: 300, text: 'charges' }, entry)
  for (const _ of [1, 2])
    expect(await importNow(both)).toMatchObject({ booked: 0, repeated: 1, unmatched: [{ reference: 'OLD' }] })
  expect(await record(payId)).toMatchObject({ status: 'OK', amount: { receivedValue: 1200 } })
  expect(await settleNow(write(entry))).toMatchObject({ lines: 1, added: 0 })
  await expectReconciled()
})

test('the settlement does not count booked entries twice', async () => {
  await order('settled-later')
  const path = write({ reference: 'LATER', payer, cents: 1000, text: 'settled-later' })
  await importThen(path)
  expect(await settleNow(path)).toMatchObject({ lines: 1, added: 0 })
  await expectReconciled()
})

test('imported settlement lines are replaced by the lines of the payment', async () => {
  await order('settled-before')
  const path = write({ reference: 'BEFORE', payer, cents: 1000, text: 'settled-before' })
  await settleThen(path)
  expect(await importNow(path)).toMatchObject({ booked: 1 })
  await expectReconciled()
})

test('a return, with its charge and beside one under the same reference, is settled once', async () => {
  const returned = {
    reference: 'BACK',
    direction: 'DBIT',
    cents: 1300,
    charges: 300,
    reason: 'AC04',
  } as const
  const path = write(returned, { reference: 'BACK', direction: 'DBIT', cents: 250 })
  await settleThen(path)
  expect(await settleNow(path)).toMatchObject({ lines: 3, added: 0 })
})

test('an entry whose former key differed per file is recognised as the booked one', async () => {
  const payId = await order('told-twice')
  const transactions = ['told-twice', 'something else'].map(
    (text, at) => `<TxDtls><Refs><AcctSvcrRef>T${at}</AcctSvcrRef></Refs><Amt Ccy="EUR">10.00</Amt>
      <RmtInf><Ustrd>${text}</Ustrd></RmtInf></TxDtls>`,
  )
  const notification = (
    id: string,
  ) => `<Ntfctn><Id>${id}</Id><Acct><Id><IBAN>${creditorIban}</IBAN></Id></Acct>
    <Ntry><Amt Ccy="EUR">20.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-17</Dt></BookgDt>
    <NtryDtls>${transactions.join('')}</NtryDtls></Ntry></Ntfctn>`
  const day = (...ids: string[]) =>
    stage.commands.file(
      `${ids.join('')}.xml`,
      `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.054.001.08"><BkToCstmrDbtCdtNtfctn><GrpHdr><MsgId>M</MsgId></GrpHdr>
       ${ids.map(notification).join('')}</BkToCstmrDbtCdtNtfctn></Document>`,
    )
  await importThen(day('NOON'))
  await importThen(day('EVENING'))
  expect(await importNow(day('EVENING', 'NOON'))).toMatchObject({
    booked: 0,
    unmatched: [{ text: 'something else' }],
  })
  expect(await record(payId)).toMatchObject({ status: 'OK', amount: { receivedValue: 1000 } })
})

test('a fee with the reference of a transfer that an earlier release has booked is not taken for the transfer', async () => {
  const payId = await order('former-fee')
  const entry = { reference: 'FORMER-FEE', payer, cents: 1000, text: 'former-fee' }
  await importThen(write(entry))
  const fee = { ...entry, cents: 300, text: 'fee' }
  const unmatched = [{ reference: 'FORMER-FEE' }]
  expect(await importNow(write(fee))).toMatchObject({ booked: 0, repeated: 0, unmatched })
  expect(await importNow(write(fee, entry))).toMatchObject({ booked: 0, repeated: 1, unmatched })
  expect(await record(payId)).toMatchObject({ status: 'OK', amount: { receivedValue: 1000 } })
})
