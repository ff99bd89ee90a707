/** The bank over a long time and with much data: a year of debits to the cent, and a statement that fits into no memory. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readBankFile } from '#connectors/bank/read-bank-file.ts'
import { readInstructions } from '#connectors/bank/read-initiation.ts'
import { balanceOf } from '#connectors/bank/simulated-files.ts'
import { keepLedger } from '#connectors/bank/simulated-ledger.ts'
import { giveOutNew } from '#operations/bank/give-out.ts'
import { emptyReport, importAll } from '#operations/bank/import-file.ts'
import { makeBatch } from '#operations/bank/make-batch.ts'
import { simulateBank } from '#operations/bank/simulate-bank.ts'
import { readStoredFile } from '#operations/bank/store-file.ts'
import { seedDebits, testIbans } from '#test/support/bank.ts'
import { type BankStage, openBankStage } from '#test/support/bank-stage.ts'
import type { CommandsHere } from '#test/support/command-here.ts'
import type { TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/invariants.ts'

let stage: BankStage
let gateway: TestGateway
let commands: CommandsHere
let accountId: string
beforeAll(async () => {
  stage = await openBankStage()
  ;({ gateway, commands, accountId } = stage)
})
afterAll(() => stage.close())

/** 300 debits a month, 3 % of them returned. */
const monthly = { good: 291, returned: 9 }

test('a year of debits: our books and the bank’s ledger are equal to the cent', async () => {
  const { bank, engine } = gateway.gateway
  const seed = (iban: string, count: number) =>
    seedDebits(engine, {
      databaseUrl: gateway.databaseUrl,
      merchantId: gateway.merchantId,
      accountId,
      count,
      iban,
    })
  for (let month = 0; month < 12; month++) {
    await seed(testIbans.good, monthly.good)
    await seed(testIbans.returned, monthly.returned)
    const account = await bank.account(accountId)
    await makeBatch(account, undefined, bank)
    await giveOutNew(account, join(commands.folder, 'out'), bank)
    await gateway.call('POST', '/test/clock', { advance: 'P30D' })
    const files = await simulateBank(await bank.account(accountId), join(commands.folder, 'in'), bank)
    const report = emptyReport()
    expect(await importAll(files, report, bank)).toEqual([])
    expect(report).toMatchObject({ booked: 300, returned: 9, rejected: 0, unmatched: [] })
  }
  const account = await bank.account(accountId)
  const instructions = []
  for (const file of await bank.files.list(account))
    instructions.push(...(await readInstructions(readStoredFile(file, bank))))
  const balance = balanceOf(keepLedger(instructions, '9999-12-31').entries)
  const [books] = await queryRows<{ taken: string; fees: string }>(
    gateway.databaseUrl,
    `SELECT (SELECT sum(captured - returned) FROM payment) AS taken,
       (SELECT sum(fee) FROM settlement_line WHERE type = 'FEE') AS fees`,
  )
  expect(Number(books?.taken) - Number(books?.fees)).toBe(balance)
  const [lines] = await queryRows<{ net: string }>(
    gateway.databaseUrl,
    'SELECT sum(net) AS net FROM settlement_line',
  )
  expect(Number(lines?.net)).toBe(balance)
  expect(await commands.json('doctor')).toMatchObject({ healthy: true })
})

/** 200 MB of entries, made while they are read. */
async function* hugeStatement(entries: number): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr><MsgId>M</MsgId></GrpHdr>
<Stmt><Id>S</Id><Acct><Id><IBAN>DE02120300000000202051</IBAN></Id></Acct>`)
  for (let from = 0; from < entries; from += 100) {
    let text = ''
    for (let n = from; n < from + 100; n++)
      text += `<Ntry><Amt Ccy="EUR">1.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2026-11-17</Dt></BookgDt><AcctSvcrRef>R${n}</AcctSvcrRef><NtryDtls><TxDtls><Refs><EndToEndId>E${n}</EndToEndId></Refs><RltdPties><Dbtr><Pty><Nm>Somebody with a name of usual length</Nm></Pty></Dbtr></RltdPties><RmtInf><Ustrd>${'text '.repeat(20)}${n}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>\n`
    yield Buffer.from(text)
  }
  yield Buffer.from('</Stmt></BkToCstmrStmt></Document>')
}

test('a statement of 200 MB is read in flat memory', async () => {
  // About 480 bytes each.
  const entries = 420_000
  let [read, peak] = [0, 0]
  const base = process.memoryUsage().heapUsed
  for await (const facts of readBankFile(hugeStatement(entries))) {
    read += facts.length
    if (read % 10_000 < 100) peak = Math.max(peak, process.memoryUsage().heapUsed)
  }
  expect(read).toBe(entries + 1)
  // 150 MB: what the collector leaves lying between two runs, less than the statement itself.
  expect(peak - base).toBeLessThan(150e6)
})
