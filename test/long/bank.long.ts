/** The bank over a long time and with much data: a year of debits to the cent, and a statement that fits into no memory. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readInstructions } from '#connectors/bank/read-initiation.ts'
import { keepLedger } from '#connectors/bank/simulated-ledger.ts'
import { giveOutNew } from '#operations/bank/give-out.ts'
import { makeBatch } from '#operations/bank/make-batch.ts'
import { simulateBank } from '#operations/bank/simulate-bank.ts'
import { readStoredFile } from '#operations/bank/store-file.ts'
import { seedDebits, testIbans } from '#test/support/bank/debits.ts'
import { statement } from '#test/support/bank/files.ts'
import { type BankStage, importFiles, openBankStage } from '#test/support/bank/stage.ts'
import type { CommandsHere } from '#test/support/command-here.ts'
import { tollgate } from '#test/support/command-line.ts'
import { masterKeyOf, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

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
    expect(await importFiles(files, bank)).toMatchObject({
      ...{ booked: 300, returned: 9, rejected: 0 },
      ...{ unmatched: [], bad: [] },
    })
  }
  const account = await bank.account(accountId)
  const instructions = []
  for (const file of await bank.files.list(account))
    instructions.push(...(await readInstructions(readStoredFile(file, bank))))
  const { entries } = keepLedger(instructions, '9999-12-31')
  const balance = entries.reduce(
    (sum, { direction, cents }) => sum + (direction === 'CRDT' ? cents : -cents),
    0,
  )
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

/** A command whose heap is bounded, in a process of its own: one that needs more ends. */
const inHeap = async (megabytes: number, ...words: string[]) => {
  const { code, stdout, stderr } = await tollgate([...words, '--json'], {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
    NODE_OPTIONS: `--max-old-space-size=${megabytes}`,
  })
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return JSON.parse(stdout)
}

test('a batch of 50,000 debits, their statement, and 50,000 entries of strangers need heaps of 80 MB', async () => {
  const count = 50_000
  const { databaseUrl, merchantId } = gateway
  await seedDebits(gateway.gateway.engine, { databaseUrl, merchantId, accountId, count })
  const { files } = await inHeap(80, 'bank', 'batch', '--account', accountId, '--out', commands.folder)
  expect(files).toMatchObject([{ payments: count }])
  const items = await queryRows<{ reference: string; cents: string }>(
    databaseUrl,
    `SELECT replace(x_id::text, '-', '') AS reference, amount AS cents FROM bank_item WHERE batch_id = '${files[0].batchId}'`,
  )
  const entries = items.flatMap(({ reference, cents }, at) => [
    { reference: `B${reference}`, cents: Number(cents), endToEndId: reference },
    { reference: `S${at}`, cents: 1, text: `a stranger's order ${at}` },
  ])
  const path = commands.file('many.xml', statement(entries))
  const report = await inHeap(80, 'bank', 'import', path)
  expect(report).toMatchObject({ booked: count, repeated: 0 })
  expect(report.unmatched).toHaveLength(count)
  const again = await inHeap(80, 'bank', 'import', path)
  expect(again).toMatchObject({ booked: 0, repeated: count })
  expect(again.unmatched).toHaveLength(count)
})

test('a statement of 200 MB is read by a process whose heap has 64 MB', async () => {
  // About 480 bytes each. A heap that is too small ends the process.
  const entries = 420_000
  const words = ['--max-old-space-size=64', 'test/support/bank/read-huge-statement.ts', String(entries)]
  const { stdout } = await promisify(execFile)(process.execPath, words)
  expect(Number(stdout)).toBe(entries + 1)
})
