/**
 * `bank batch` and `bank import` as processes of their own, killed while they work: no debit is lost, none lies in two files,
 * and none is booked twice.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bankSettings, seedDebits, testIbans } from '#test/support/bank/debits.ts'
import { statement } from '#test/support/bank/files.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

let gateway: TestGateway
let commands: CommandsHere
let accountId: string
let client: pg.Client
beforeAll(async () => {
  gateway = await startTestGateway()
  commands = commandsHere(gateway.databaseUrl, { TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl) })
  const account = ['provider', 'add', gateway.merchantId, '--connector', 'bank', '--name', 'House bank']
  accountId = (await commands.json(...account, ...bankSettings)).accountId
  client = new pg.Client(gateway.databaseUrl)
  await client.connect()
})
afterAll(async () => {
  expect(await commands.json('doctor')).toMatchObject({ healthy: true })
  await client.end()
  commands.remove()
  await gateway.stop()
})

/** Starts the real program and kills it as soon as the condition holds. Says whether it was killed before its end. */
async function killWhen(words: readonly string[], holds: () => Promise<boolean>): Promise<boolean> {
  const child = spawn(process.execPath, ['bin/tollgate.js', ...words], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: gateway.databaseUrl,
      TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
    },
    stdio: 'ignore',
  })
  const closed = once(child, 'close')
  let ended = false
  void closed.then(() => {
    ended = true
  })
  while (!ended && !(await holds()));
  child.kill('SIGKILL')
  const [, signal] = await closed
  return signal === 'SIGKILL'
}

const finds = async (text: string): Promise<boolean> => ((await client.query(text)).rowCount ?? 0) > 0
const isRunning = (words: string) => () =>
  finds(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
     AND state <> 'idle' AND query LIKE '%${words}%'`,
  )

const seed = (count: number) =>
  seedDebits(gateway.gateway.engine, {
    databaseUrl: gateway.databaseUrl,
    merchantId: gateway.merchantId,
    accountId,
    count,
  })
const out = () => join(commands.folder, 'out')
const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
const referencesIn = (folder: string): string[] =>
  namesIn(folder)
    .filter(name => name.endsWith('.xml'))
    .flatMap(name =>
      [...readFileSync(join(folder, name), 'utf8').matchAll(/<EndToEndId>(\w+)</g)].map(m => m[1] ?? ''),
    )

/** Enough that each step takes long enough to be killed in. */
const debits = 3_000

test('bank batch, killed at every step', async () => {
  const isMade = () => finds('SELECT 1 FROM bank_file WHERE given_at IS NULL')
  const moments = {
    collecting: isRunning('bank_item'),
    writing: isRunning('bank_file_part'),
    committed: isMade,
    half: async () => namesIn(out()).some(name => name.endsWith('.part')),
    written: async () => (await isMade()) && namesIn(out()).some(name => name.endsWith('.xml')),
  }
  const batch = ['bank', 'batch', '--account', accountId, '--out', out()]
  let [killed, seeded] = [0, 0]
  for (const holds of Object.values(moments)) {
    await seed(debits)
    seeded += debits
    if (await killWhen(batch, holds)) killed += 1
  }
  expect(killed).toBeGreaterThan(0)
  await commands.json(...batch)
  const references = referencesIn(out())
  expect(references).toHaveLength(seeded)
  expect(new Set(references).size).toBe(seeded)
  const { rows } = await client.query<{ items: string; waiting: string }>(
    `SELECT (SELECT count(*) FROM bank_item) AS items, (SELECT count(*) FROM timer WHERE kind = 'BATCH') AS waiting`,
  )
  expect(rows).toEqual([{ items: String(seeded), waiting: '0' }])
  const again = join(commands.folder, 'again')
  await commands.json('bank', 'files', '--account', accountId, '--out', again)
  expect(referencesIn(again).toSorted()).toEqual(references.toSorted())
})

test('bank import, killed at every step', async () => {
  const { rows: items } = await client.query<{ reference: string; cents: string }>(
    `SELECT replace(x_id::text, '-', '') AS reference, amount AS cents FROM bank_item`,
  )
  const entries = items.map(({ reference, cents }) => ({
    reference: `B${reference}`,
    cents: Number(cents),
    endToEndId: reference,
  }))
  const path = commands.file('booked.xml', statement(entries))
  const countIn = async (state: string): Promise<number> =>
    Number((await client.query('SELECT count(*) FROM bank_entry WHERE state = $1', [state])).rows[0].count)
  const moments = [
    isRunning('INSERT INTO bank_entry'),
    async () => (await countIn('NEW')) > 0,
    async () => (await countIn('APPLIED')) > items.length / 4,
    async () => (await countIn('APPLIED')) > items.length / 2,
  ]
  let killed = 0
  for (const holds of moments) if (await killWhen(['bank', 'import', path], holds)) killed += 1
  expect(killed).toBeGreaterThan(0)
  await commands.json('bank', 'import', path)
  const report = await commands.json('bank', 'import', path)
  expect(report).toEqual({
    ...{ booked: 0, rejected: 0, returned: 0, repeated: items.length },
    unmatched: [],
  })
  const { rows } = await client.query<{ captured: string; settled: string; net: string }>(
    `SELECT (SELECT sum(captured) FROM payment) AS captured, (SELECT sum(amount) FROM bank_item) AS settled,
       (SELECT sum(net) FROM settlement_line) AS net`,
  )
  const [books] = rows
  expect(books?.captured).toBe(books?.settled)
  expect(books?.net).toBe(books?.settled)
})

/** One order that is paid so often: each payment but the first is a surplus. */
const surpluses = 400

async function sendSurplusBack(): Promise<readonly string[]> {
  await gateway.call('POST', '/payments', {
    transId: 'often',
    amount: { value: 1000, currency: 'EUR' },
    paymentMethods: { integrationType: 'DIRECT', type: 'SEPACREDITTRANSFER', sepaCreditTransfer: {} },
  })
  const payer = { name: 'Ann Mueller', iban: testIbans.good }
  const paid = Array.from({ length: surpluses + 1 }, (_, at) => ({
    reference: `P${at}`,
    ...{ cents: 1000, text: 'often', payer },
  }))
  await commands.json('bank', 'import', commands.file('paid.xml', statement(paid)))
  const folder = join(commands.folder, 'surplus')
  await commands.json('bank', 'batch', '--account', accountId, '--out', folder)
  return referencesIn(folder)
}

test('bank import of surplus that comes back, killed at every step, tells all of it', async () => {
  const references = await sendSurplusBack()
  expect(references).toHaveLength(surpluses)
  const back = references.map(endToEndId => ({
    reference: `B${endToEndId}`,
    ...{ cents: 1000, endToEndId, reason: 'AC04' },
  }))
  const path = commands.file('surplus-back.xml', statement(back))
  const countItems = async (condition: string): Promise<number> =>
    Number((await client.query(`SELECT count(*) FROM bank_item WHERE ${condition}`)).rows[0].count)
  const returned = 'returned_by IS NOT NULL'
  const moments = [0, surpluses / 2, surpluses - 1].map(
    count => async () => (await countItems(returned)) > count,
  )
  let killed = 0
  for (const holds of moments) if (await killWhen(['bank', 'import', path], holds)) killed += 1
  expect(killed).toBeGreaterThan(0)
  // The last one may have told everything before it was killed.
  const { rows } = await client.query<{ reference: string }>(
    `SELECT replace(x_id::text, '-', '') AS reference FROM bank_item WHERE told_at IS NOT NULL`,
  )
  const before = rows.map(({ reference }) => reference)
  const { undelivered = [] } = await commands.json('bank', 'import', path)
  const told = undelivered.map(({ xId }: { xId: string }) => xId)
  expect([...before, ...told].toSorted()).toEqual(references.toSorted())
  expect(await commands.json('bank', 'import', path)).not.toHaveProperty('undelivered')
  const listed = await commands.json('bank', 'undelivered', '--account', accountId)
  expect(listed.undelivered).toHaveLength(surpluses)
})
