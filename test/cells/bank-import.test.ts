/** Files of a bank where several cells have an account with its IBAN: each entry counts, and is listed, once. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { moveMerchant } from '#cells/move.ts'
import { bankSettings, creditorIban, seedDebits } from '#test/support/bank/debits.ts'
import { statement, statusReport } from '#test/support/bank/files.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { type CellStage, createCellStage } from '#test/support/database/cells.ts'
import { basic, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let stage: CellStage
let gateway: TestGateway
let commands: CommandsHere
let home: Shop
let away: Shop
beforeAll(async () => {
  stage = await createCellStage()
  gateway = await startTestGateway({ ...stage, cells: stage.cells.slice(1) })
  commands = commandsHere(stage.databaseUrl, {
    TOLLGATE_CELL_URLS: stage.otherUrl,
    TOLLGATE_MASTER_KEY: stage.keyText,
  })
  home = await openShop(0)
  away = await openShop(1)
})
afterAll(async () => {
  commands.remove()
  await gateway.stop()
  await stage.drop()
})

interface Shop {
  readonly merchantId: string
  readonly apiKey: string
  readonly accountId: string
}

/** With an account at a bank of the same IBAN unless another is given. */
async function openShop(cell: number, iban = creditorIban): Promise<Shop> {
  const { merchantId, apiKey } = await gateway.gateway.merchants.create('A shop')
  await moveMerchant({ cells: stage.cells, merchantId, to: cell })
  const settings = bankSettings.map(word => word.replace(creditorIban, iban))
  const account = ['--connector', 'bank', '--name', 'House bank', ...settings]
  const { accountId } = await commands.json('provider', 'add', merchantId, ...account)
  return { merchantId, apiKey, accountId }
}

const read = (name: string, text: string) => commands.json('bank', 'import', commands.file(name, text))

/** One debit in a file for the bank. */
async function debit(shop: Shop, cell: number) {
  const databaseUrl = stage.cells[cell]?.url ?? ''
  const { engine } = gateway.gateway.banks[cell] ?? gateway.gateway.bank
  await seedDebits(engine, { ...shop, databaseUrl, count: 1 })
  const { files } = await commands.json(
    'bank',
    'batch',
    '--account',
    shop.accountId,
    '--out',
    commands.folder,
  )
  const text = readFileSync(files[0].path, 'utf8')
  return {
    endToEndId: /<EndToEndId>(\w+)</.exec(text)?.[1] ?? '',
    messageId: /<MsgId>(\w+)</.exec(text)?.[1] ?? '',
    cents: files[0].sum,
  }
}

async function order({ merchantId, apiKey }: Shop, transId: string): Promise<string> {
  const { status, body, text } = await gateway.call(
    'POST',
    '/payments',
    {
      transId,
      amount: { value: 1000, currency: 'EUR' },
      paymentMethods: { integrationType: 'DIRECT', type: 'SEPACREDITTRANSFER', sepaCreditTransfer: {} },
    },
    { authorization: basic(merchantId, apiKey) },
  )
  if (status !== 200) throw new Error(text)
  return body.status
}

test('an entry that is booked in one cell is not listed for another, and one that fits nowhere is listed once', async () => {
  const [one, two] = [await debit(home, 0), await debit(away, 1)]
  const text = statement([
    { reference: 'HOME', cents: one.cents, endToEndId: one.endToEndId },
    { reference: 'AWAY', cents: two.cents, endToEndId: two.endToEndId },
    { reference: 'NOBODY', cents: 7, text: 'nobody waits for this' },
  ])
  expect(await read('both.xml', text)).toMatchObject({ booked: 2, unmatched: [{ reference: 'NOBODY' }] })
  const again = await read('again.xml', text)
  expect(again).toMatchObject({ booked: 0, repeated: 2, unmatched: [{ reference: 'NOBODY' }] })
})

test('a report on a message of one cell is not listed as foreign for the others, and a foreign one once', async () => {
  const { messageId, endToEndId } = await debit(away, 1)
  const rejected = statusReport(messageId, [{ endToEndId, reason: 'AC01' }])
  expect(await read('report.xml', rejected)).toMatchObject({ rejected: 1, unmatched: [] })
  const foreign = statusReport('D0', [{ endToEndId: 'E0', reason: 'AC01' }])
  expect(await read('foreign.xml', foreign)).toMatchObject({ rejected: 0, unmatched: [{ reference: 'D0' }] })
})

test('a file with statements of accounts in two cells is taken', async () => {
  const [first, second] = ['NL91ABNA0417164300', 'FR1420041010050500013M02606']
  await openShop(0, first)
  await openShop(1, second)
  const statements = [first, second].map(iban =>
    statement([{ reference: iban.slice(-4), cents: 9, text: 'from nobody' }], { iban }),
  )
  const [, other] = /(<Stmt>.*<\/Stmt>)/s.exec(statements[1] ?? '') ?? []
  const text = statements[0]?.replace('</Stmt>', `</Stmt>${other}`) ?? ''
  const { unmatched } = await read('two.xml', text)
  expect(unmatched.map(({ reference }: { reference: string }) => reference)).toEqual(['4300', '2606'])
})

test('a pipe, which only one cell could read, is refused; a file beside it is taken', async () => {
  const text = statement([{ reference: 'BESIDE', cents: 8, text: 'from nobody' }])
  const imported = await commands.run(
    ...['bank', 'import', '/dev/null', commands.file('beside.xml', text), '--json'],
  )
  expect(imported.code).toBe(1)
  expect(imported.stderr).toContain('/dev/null is a pipe or a device')
  expect(JSON.parse(imported.stdout)).toMatchObject({ unmatched: [{ reference: 'BESIDE' }] })
})

test('one transfer does not pay for orders with the same number in two cells', async () => {
  await order(home, 'cells-1001')
  await order(away, 'cells-1001')
  const text = statement([{ reference: 'SAME', cents: 1000, text: 'cells 1001' }])
  expect(await read('same.xml', text)).toMatchObject({ booked: 0, unmatched: [{ reference: 'SAME' }] })
})

test('a transfer that an earlier release has booked in one cell does not pay for an order of another', async () => {
  await order(away, 'cells-7')
  const text = statement([{ reference: 'FORMER', cents: 1000, text: 'cells 7' }])
  expect(await read('before.xml', text)).toMatchObject({ booked: 1, unmatched: [] })
  const renamed = stage.cells.map(({ url }) =>
    queryRows(
      url,
      "UPDATE bank_entry SET entry_key = 'CRDT|FORMER|' WHERE entry_key = 'CRDT|FORMER|1000EUR' RETURNING 1",
    ),
  )
  expect((await Promise.all(renamed)).flat()).toHaveLength(2)
  await order(home, 'cells-7')
  expect(await read('after.xml', text)).toMatchObject({ booked: 0, repeated: 1, unmatched: [] })
})
