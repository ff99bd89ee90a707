/** Invalid, foreign and truncated bank files, and processes that crash while files are written or read. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Bank, BankCrashPoint } from '#operations/bank/bank.ts'
import { giveOutNew } from '#operations/bank/give-out.ts'
import { makeBatch } from '#operations/bank/make-batch.ts'
import { bankSettings, seedDebits } from '#test/support/bank/debits.ts'
import { statement, statusReport } from '#test/support/bank/files.ts'
import { type BankStage, importFiles, openBankStage } from '#test/support/bank/stage.ts'
import type { CommandsHere } from '#test/support/command-here.ts'
import type { TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let stage: BankStage
let gateway: TestGateway
let commands: CommandsHere
let accountId: string
/** The point at which the next process crashes. */
let crashAt: BankCrashPoint | undefined
let bank: Bank
beforeAll(async () => {
  stage = await openBankStage()
  ;({ gateway, commands, accountId } = stage)
  bank = {
    ...gateway.gateway.bank,
    testCrash: point => {
      if (point === crashAt) throw new Error(`died at ${point}`)
    },
  }
})
afterEach(() => {
  crashAt = undefined
})
afterAll(() => stage.close())

const seed = (count: number) =>
  seedDebits(gateway.gateway.engine, {
    databaseUrl: gateway.databaseUrl,
    merchantId: gateway.merchantId,
    accountId,
    count,
  })
const referencesIn = (path: string) =>
  [...readFileSync(path, 'utf8').matchAll(/<EndToEndId>(\w+)</g)].map(m => m[1] ?? '')

test('invalid files get one sentence each and change nothing; a valid one among them is imported', async () => {
  const good = statement([{ reference: 'GOOD', cents: 1, text: 'nobody waits for this' }])
  const bad: [string, string | Uint8Array, string][] = [
    ['text.xml', 'MT940', 'is not well-formed XML'],
    ['version.xml', good.replace('camt.053.001.08', 'camt.053.001.12'), 'is camt.053 in version 12'],
    [
      'stranger.xml',
      statement([], { iban: 'NL91ABNA0417164300' }),
      'is a statement of the account ending in 4300',
    ],
    [
      'bomb.xml',
      `<!DOCTYPE a [<!ENTITY b "c">]>${good.slice(good.indexOf('<Document'))}`,
      'has a document type',
    ],
    ['cut.xml', good.slice(0, -80), 'is cut off before its end'],
    ['latin.xml', Buffer.from(good.replace('nobody', 'nöbödy'), 'latin1'), 'is not encoded in UTF-8'],
    ['decimals.xml', good.replace('>0.01<', '>0.01000<'), 'has an amount with 5 decimals'],
    [
      'space.xml',
      good.replace('<Stmt>', '<Stmt xmlns="urn:other">'),
      'has an element Stmt of another name space',
    ],
  ]
  const paths = bad.map(([name, content]) => commands.file(name, content))
  const before = await queryRows(gateway.databaseUrl, 'SELECT count(*) FROM bank_entry')
  const missing = join(commands.folder, 'missing.xml')
  const { code, stdout, stderr } = await commands.run(
    'bank',
    'import',
    ...paths,
    missing,
    commands.folder,
    '--json',
  )
  expect(code).toBe(1)
  for (const [name, , sentence] of bad)
    expect(stderr.split('\n').find(line => line.includes(name))).toContain(`${name} ${sentence}`)
  expect(stderr).toContain('missing.xml does not exist')
  expect(stderr).toContain(`${commands.folder} is a folder and not a file`)
  expect(JSON.parse(stdout)).toEqual({
    ...{ booked: 0, rejected: 0, returned: 0, repeated: 0 },
    unmatched: [],
  })
  expect(await queryRows(gateway.databaseUrl, 'SELECT count(*) FROM bank_entry')).toEqual(before)
  const mixed = await commands.run(
    'bank',
    'import',
    paths[0] ?? '',
    commands.file('good.xml', good),
    '--json',
  )
  expect(mixed.code).toBe(1)
  expect(JSON.parse(mixed.stdout)).toMatchObject({ unmatched: [{ reference: 'GOOD' }] })
})

test('every unmatched entry is listed, and again when the file is imported again', async () => {
  const references = Array.from({ length: 450 }, (_, at) => `LIST-${at}`)
  const entries = references.map(reference => ({ reference, cents: 1, text: 'for nobody' }))
  const path = commands.file('list.xml', statement(entries))
  for (let time = 0; time < 2; time++) {
    const { unmatched } = await commands.json('bank', 'import', path)
    const listed = unmatched.map(({ reference }: { reference: string }) => reference)
    expect(listed.toSorted()).toEqual(references.toSorted())
  }
  const { stdout } = await commands.run('bank', 'import', path)
  expect(stdout).toContain('fits nothing of ours: 450\n')
  expect(stdout.match(/^ {2}LIST-\d+ {2}2026-11-17 {2}CRDT {2}1 EUR {2}for nobody$/gm)).toHaveLength(450)
})

test('control characters in a customer’s text do not reach the operator’s terminal', async () => {
  const path = commands.file('turned.xml', statement([{ reference: 'TURNED', cents: 1, text: 'a\u202eb' }]))
  const { stdout } = await commands.run('bank', 'import', path)
  expect(stdout).toContain('  TURNED  2026-11-17  CRDT  1 EUR  a\\u202eb\n')
})

test('several accounts with one IBAN: an entry is listed only if it matches none of them', async () => {
  await seed(1)
  const account = await bank.account(accountId)
  await makeBatch(account, undefined, bank)
  const [file] = await giveOutNew(account, join(commands.folder, 'shared'), bank)
  const [endToEndId] = referencesIn(file?.path ?? '')
  const other = await gateway.gateway.merchants.create('Neighbour')
  const add = ['provider', 'add', other.merchantId, '--connector', 'bank', '--name', 'Same bank']
  await commands.json(...add, ...bankSettings)
  const entries = [
    { reference: 'SHARED', cents: 1001, endToEndId },
    { reference: 'NOBODY', cents: 5, text: 'for nobody' },
  ]
  const path = commands.file('shared.xml', statement(entries))
  expect(await commands.json('bank', 'import', path)).toMatchObject({
    booked: 1,
    repeated: 0,
    unmatched: [{ reference: 'NOBODY' }],
  })
  expect(await commands.json('bank', 'import', path)).toMatchObject({
    booked: 0,
    repeated: 1,
    unmatched: [{ reference: 'NOBODY' }],
  })
})

test.each(['together', 'one after the other'])(
  'the sum of a block that is booked before one of its debits is rejected is applied, %s',
  async way => {
    await seed(3)
    const account = await bank.account(accountId)
    await makeBatch(account, undefined, bank)
    const [file] = await giveOutNew(account, join(commands.folder, `sum ${way}`), bank)
    const text = readFileSync(file?.path ?? '', 'utf8')
    const blockId = /<PmtInfId>(\w+)</.exec(text)?.[1]
    const messageId = /<MsgId>(\w+)</.exec(text)?.[1] ?? ''
    const [rejected = ''] = referencesIn(file?.path ?? '')
    const paths = [
      commands.file(`sum ${way}.xml`, statement([{ reference: `SUM ${way}`, cents: 2005, blockId }])),
      commands.file(`no ${way}.xml`, statusReport(messageId, [{ endToEndId: rejected, reason: 'AM04' }])),
    ]
    const reports =
      way === 'together'
        ? [await importFiles(paths, bank)]
        : [await importFiles(paths.slice(0, 1), bank), await importFiles(paths.slice(1), bank)]
    expect(reports.at(-1)).toMatchObject({ booked: 2, rejected: 1, repeated: 0, unmatched: [] })
    expect(reports.flatMap(({ unmatched }) => unmatched)).toHaveLength(way === 'together' ? 0 : 1)
  },
)

test('a sum that names only the message is booked only if it equals the sum of the message', async () => {
  await seed(2)
  const account = await bank.account(accountId)
  await makeBatch(account, undefined, bank)
  const [file] = await giveOutNew(account, join(commands.folder, 'message'), bank)
  const messageId = /<MsgId>(\w+)</.exec(readFileSync(file?.path ?? '', 'utf8'))?.[1]
  const wrong = commands.file('wrong.xml', statement([{ reference: 'WRONG', cents: 2002, messageId }]))
  expect(await commands.json('bank', 'import', wrong)).toMatchObject({ unmatched: [{ reference: 'WRONG' }] })
  const right = commands.file('right.xml', statement([{ reference: 'RIGHT', cents: 2003, messageId }]))
  expect(await commands.json('bank', 'import', right)).toMatchObject({ booked: 2, unmatched: [] })
})

test.each(['after', 'before'])(
  'a sum that the bank reverses %s its booking is known returns every payment, and is never taken for a booking',
  async order => {
    await seed(2)
    const account = await bank.account(accountId)
    await makeBatch(account, undefined, bank)
    const [file] = await giveOutNew(account, join(commands.folder, `taken back ${order}`), bank)
    const text = readFileSync(file?.path ?? '', 'utf8')
    const blockId = /<PmtInfId>(\w+)</.exec(text)?.[1]
    const sum = { cents: 2003, blockId }
    const booked = commands.file(`there ${order}.xml`, statement([{ reference: `THERE ${order}`, ...sum }]))
    const reversal = statement([{ reference: `BACK ${order}`, direction: 'DBIT', ...sum }])
    const back = commands.file(`back ${order}.xml`, reversal)
    const counts = { rejected: 0, unmatched: [] }
    if (order === 'after') {
      expect(await importFiles([booked], bank)).toMatchObject({ ...counts, booked: 2, returned: 0 })
      expect(await importFiles([back], bank)).toMatchObject({ ...counts, booked: 0, returned: 2 })
    } else {
      expect(await importFiles([back], bank)).toMatchObject({ ...counts, booked: 2, returned: 2 })
      expect(await importFiles([booked], bank)).toMatchObject({ ...counts, booked: 0, repeated: 2 })
    }
    expect(await importFiles([back], bank)).toMatchObject({ ...counts, booked: 0, returned: 0 })
    const xIds = referencesIn(file?.path ?? '').join(',')
    const payments = await queryRows(
      gateway.databaseUrl,
      `SELECT p.captured::int, (SELECT sum(o.amount)::int FROM operation o WHERE o.merchant_id = p.merchant_id
         AND o.pay_id = p.pay_id AND o.type = 'RETURN' AND o.state = 'OK') AS returned
       FROM payment p JOIN bank_item i USING (merchant_id, pay_id)
       WHERE i.x_id = ANY ('{${xIds}}'::uuid[]) ORDER BY p.captured`,
    )
    expect(payments).toEqual([
      { captured: 1001, returned: 1001 },
      { captured: 1002, returned: 1002 },
    ])
  },
)

test.each(['payment', 'message'])(
  'two imports of one rejection of a %s at the same moment count it once',
  async rejects => {
    await seed(2)
    const account = await bank.account(accountId)
    await makeBatch(account, undefined, bank)
    const [file] = await giveOutNew(account, join(commands.folder, `rejected ${rejects}`), bank)
    const messageId = /<MsgId>(\w+)</.exec(readFileSync(file?.path ?? '', 'utf8'))?.[1] ?? ''
    const [endToEndId = ''] = referencesIn(file?.path ?? '')
    const report = statusReport(messageId, rejects === 'payment' ? [{ endToEndId, reason: 'AC01' }] : [])
    const text = rejects === 'payment' ? report : report.replace('PART', 'RJCT')
    const path = commands.file(`rejected ${rejects}.xml`, text)
    let other: ReturnType<typeof importFiles> | undefined
    const { items } = bank
    /** The other import begins and ends after this one has read what it is about to mark. */
    const meanwhile = async <Found>(found: Promise<Found>): Promise<Found> => {
      const read = await found
      other ??= importFiles([path], bank)
      await other
      return read
    }
    const find: typeof items.find = (...question) => meanwhile(items.find(...question))
    const page: typeof items.page = (...question) => meanwhile(items.page(...question))
    const wrapped = rejects === 'payment' ? { ...items, find } : { ...items, page }
    const first = await importFiles([path], { ...bank, items: wrapped })
    const count = rejects === 'payment' ? 1 : 2
    expect([(await other)?.rejected, first.rejected]).toEqual([count, 0])
  },
)

test('two concurrent batches write a payment into one file only', async () => {
  await seed(3)
  const account = await bank.account(accountId)
  await makeBatch(account, undefined, bank)
  const give = (folder: string, by: Bank) => giveOutNew(account, join(commands.folder, folder), by)
  const waiting = `SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted`
  let second: ReturnType<typeof give> | undefined
  let isDone = false
  const testCrash = async (): Promise<void> => {
    second = give('second', bank).finally(() => {
      isDone = true
    })
    // The other batch has written its file too, or waits for the lock.
    await vi.waitUntil(
      async () => isDone || (await queryRows(gateway.databaseUrl, waiting)).length > 0,
      30_000,
    )
  }
  const first = await give('first', { ...bank, testCrash })
  expect(first).toMatchObject([{ payments: 3 }])
  expect(await second).toEqual([])
})

describe('a crash', () => {
  const batch = async (folder: string) => {
    const account = await bank.account(accountId)
    await makeBatch(account, undefined, bank)
    return giveOutNew(account, join(commands.folder, folder), bank)
  }

  test.each(['batchStored', 'fileWritten'] as const)(
    'at %s neither loses a debit nor writes it twice',
    async point => {
      await seed(3)
      crashAt = point
      await expect(batch(point)).rejects.toThrow('died')
      crashAt = undefined
      await seed(2)
      const files = await batch(point)
      expect(files.map(({ payments }) => payments)).toEqual([3, 2])
      const references = files.flatMap(({ path }) => referencesIn(path))
      expect(new Set(references).size).toBe(5)
    },
  )

  test.each(['fileTaken', 'entryApplied'] as const)('at %s is repaired by the next import', async point => {
    await seed(3)
    const [file] = await batch(`import-${point}`)
    const references = referencesIn(file?.path ?? '')
    const text = statement(
      references.map((endToEndId, at) => ({ reference: `${point}-${at}`, cents: 1001 + at, endToEndId })),
    )
    const path = commands.file(`${point}.xml`, text)
    crashAt = point
    await expect(importFiles([path], bank)).rejects.toThrow('died')
    crashAt = undefined
    await importFiles([path], bank)
    const states = await queryRows<{ state: string }>(
      gateway.databaseUrl,
      `SELECT o.state FROM operation o JOIN bank_item i USING (merchant_id, x_id)
       WHERE i.x_id = ANY ('{${references.join(',')}}'::uuid[])`,
    )
    expect(states.map(({ state }) => state)).toEqual(['OK', 'OK', 'OK'])
    expect(await importFiles([path], bank)).toMatchObject({ booked: 0, repeated: 3, unmatched: [] })
  })

  test('leaves nothing for the doctor to find', async () => {
    expect(await commands.json('doctor')).toMatchObject({ healthy: true })
  })
})
