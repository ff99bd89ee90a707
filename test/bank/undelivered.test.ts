/** Surplus that could not be given back to customers: the transfer was returned, or the bank rejected it. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closeUndelivered, giveBackAgain } from '#operations/bank/undelivered.ts'
import { testIbans } from '#test/support/bank/debits.ts'
import { statement, statusReport, type TestEntry } from '#test/support/bank/files.ts'
import { type BankStage, importFiles, openBankStage, textOf } from '#test/support/bank/stage.ts'
import type { CommandsHere } from '#test/support/command-here.ts'

let stage: BankStage
let commands: CommandsHere
let account: readonly string[]
beforeAll(async () => {
  stage = await openBankStage()
  commands = stage.commands
  account = ['--account', stage.accountId]
})
afterAll(() => stage.close())

let number = 0
const write = (...entries: readonly Omit<TestEntry, 'reference'>[]): string => {
  const name = `file ${++number}`
  const numbered = entries.map((entry, at) => ({ reference: `${name}-${at}`, ...entry }))
  return commands.file(`${name}.xml`, statement(numbered))
}
const importEntries = (...entries: readonly Omit<TestEntry, 'reference'>[]) => stage.import(write(...entries))

/** Writes all waiting payments into a file for the bank. */
async function batch() {
  const files = await stage.batch(`out ${++number}`)
  const text = files[0] ? textOf(files[0]) : ''
  const endToEndIds = [...text.matchAll(/<EndToEndId>(\w+)</g)].map(([, id]) => id ?? '')
  return { files, text, endToEndIds, messageId: /<MsgId>(\w+)</.exec(text)?.[1] ?? '' }
}

async function payTooMuch(surplus: number) {
  const transId = `order ${++number}`
  const { body } = await stage.gateway.call('POST', '/payments', {
    transId,
    amount: { value: 1000, currency: 'EUR' },
    paymentMethods: { integrationType: 'DIRECT', type: 'SEPACREDITTRANSFER', sepaCreditTransfer: {} },
  })
  const payer = { name: 'Ann Mueller', iban: testIbans.good }
  await importEntries({ cents: 1000 + surplus, text: transId, payer })
  return { transId, payId: body.payId }
}

/** A surplus in a file for the bank. */
async function sentBack(surplus = 250) {
  const paid = await payTooMuch(surplus)
  const { endToEndIds, messageId } = await batch()
  const xId = endToEndIds.at(-1) ?? ''
  const shown = { accountId: stage.accountId, ...paid, xId, amount: { value: surplus, currency: 'EUR' } }
  return { ...paid, xId, messageId, shown }
}

const expectBooksHold = async () => {
  const range = ['--from', '2026-01-01', '--to', '2199-01-01']
  expect(await commands.json('reconcile', ...account, ...range)).toEqual({
    ...{ oursWithoutTheirs: [], theirsWithoutOurs: [], amountsDiffer: [] },
  })
  expect(await commands.json('doctor')).toMatchObject({ healthy: true })
}

const listed = async () => (await commands.json('bank', 'undelivered', ...account)).undelivered
const listedOf = async (payId: string) =>
  (await listed()).filter((one: { payId: string }) => one.payId === payId)

test('a returned surplus is reported by the import once, and stays in the list', async () => {
  const { xId, payId, shown } = await sentBack()
  const booked = { cents: 250, direction: 'DBIT', endToEndId: xId } as const
  expect(await importEntries(booked)).toMatchObject({ booked: 1, undelivered: [] })
  expect(await listedOf(payId)).toEqual([])
  const back = write({ cents: 250, endToEndId: xId, reason: 'AC04' })
  const told = { ...shown, sentOn: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), reason: 'AC04' }
  expect(await stage.import(back)).toEqual({
    ...{ booked: 0, rejected: 0, returned: 1, repeated: 0, unmatched: [] },
    undelivered: [told],
  })
  expect(await stage.import(back)).toMatchObject({ repeated: 1, undelivered: [] })
  // The statement repeats the notification's entry under another reference.
  const again = await importEntries({ cents: 250, endToEndId: xId, reason: 'AC04' })
  expect(again).toMatchObject({ returned: 0, repeated: 1, undelivered: [] })
  expect(await listedOf(payId)).toEqual([told])
  expect((await batch()).files).toEqual([])
  await expectBooksHold()
})

test('a return in two files of one import is reported once', async () => {
  const { xId, shown } = await sentBack()
  const back = { cents: 250, endToEndId: xId, reason: 'AC06' }
  const report = await stage.import(write(back), write(back))
  expect(report).toMatchObject({ booked: 1, returned: 1, repeated: 1 })
  expect(report.undelivered).toEqual([{ ...shown, sentOn: expect.any(String), reason: 'AC06' }])
})

test('a rejected surplus is reported with the reason of the status report', async () => {
  const { xId, messageId, shown } = await sentBack()
  const report = statusReport(messageId, [{ endToEndId: xId, reason: 'AC01' }])
  const path = commands.file(`report ${++number}.xml`, report)
  const rejected = await stage.import(path)
  expect(rejected).toMatchObject({ rejected: 1, undelivered: [{ ...shown, reason: 'AC01' }] })
  expect(await stage.import(path)).toMatchObject({ rejected: 0, undelivered: [] })
})

test('the rejection of a whole file is reported payment by payment', async () => {
  const [one, other] = [await payTooMuch(110), await payTooMuch(120)]
  const { messageId } = await batch()
  const report = statusReport(messageId, []).replace(
    '<GrpSts>PART</GrpSts>',
    '<GrpSts>RJCT</GrpSts><StsRsnInf><Rsn><Cd>AM04</Cd></Rsn></StsRsnInf>',
  )
  const rejected = await stage.import(commands.file(`report ${++number}.xml`, report))
  expect(rejected).toMatchObject({ rejected: 2, unmatched: [] })
  const told = rejected.undelivered.map(({ payId, amount, reason }) => ({
    ...{ payId, amount, reason },
  }))
  const expected = [
    { payId: one.payId, amount: { value: 110, currency: 'EUR' }, reason: 'AM04' },
    { payId: other.payId, amount: { value: 120, currency: 'EUR' }, reason: 'AM04' },
  ]
  expect(told).toHaveLength(2)
  expect(told).toEqual(expect.arrayContaining(expected))
})

test('a returned refund fails with its event, and is no undelivered surplus', async () => {
  const { payId } = await payTooMuch(0)
  const amount = { value: 300, currency: 'EUR' }
  await stage.gateway.call('POST', `/payments/${payId}/refunds`, { transId: `back ${++number}`, amount })
  const { endToEndIds } = await batch()
  const back = { cents: 300, endToEndId: endToEndIds[0] ?? '', reason: 'AC04' }
  expect(await importEntries(back)).toMatchObject({ returned: 1, undelivered: [] })
})

test('the list shows payment, amount and reason, but not the customer’s name or account', async () => {
  const { xId, payId, transId } = await sentBack()
  const { stdout } = await commands.run(
    ...['bank', 'import', write({ cents: 250, endToEndId: xId, reason: 'AC04' })],
  )
  expect(stdout).toContain('surplus that did not reach its payer: 1\n')
  const line = new RegExp(`  ${payId}  ${transId}  ${xId}  250 EUR  sent \\S+  AC04\n`)
  expect(stdout).toMatch(line)
  expect(stdout).toContain(`tollgate bank undelivered --account ${stage.accountId}`)
  const list = await commands.run('bank', 'undelivered', ...account)
  expect(list.stdout).toMatch(line)
  expect(stdout + list.stdout).not.toMatch(/Mueller|DE89/)
})

test('a return recorded by an import that crashed is reported by the next one', async () => {
  const { xId, shown } = await sentBack()
  const { bank } = stage.gateway.gateway
  const dying = {
    ...bank,
    testCrash: (point: string) => {
      if (point === 'entryApplied') throw new Error('died')
    },
  }
  const path = write({ cents: 250, endToEndId: xId, reason: 'AC04' })
  await expect(importFiles([path], dying)).rejects.toThrow('died')
  expect(await stage.import(path)).toMatchObject({
    returned: 0,
    undelivered: [{ ...shown, reason: 'AC04' }],
  })
  expect(await stage.import(path)).toMatchObject({ undelivered: [] })
})

test('a return whose import crashed while reporting it is reported by the next one', async () => {
  const { xId, shown } = await sentBack()
  const { bank } = stage.gateway.gateway
  const told = () => Promise.reject(new Error('died'))
  const path = write({ cents: 250, endToEndId: xId, reason: 'AC04' })
  const dying = { ...bank, undelivered: { ...bank.undelivered, told } }
  await expect(importFiles([path], dying)).rejects.toThrow('died')
  expect(await stage.import(path)).toMatchObject({ undelivered: [{ ...shown }] })
})

const returned = async (surplus?: number) => {
  const sent = await sentBack(surplus)
  await importEntries({ cents: surplus ?? 250, endToEndId: sent.xId, reason: 'AC04' })
  return sent
}

test('--again puts the surplus into the next batch under a new reference, once', async () => {
  const { xId, payId } = await returned(333)
  const again = await commands.json('bank', 'undelivered', ...account, '--again', xId)
  expect(again).toMatchObject({ payId, amount: { value: 333, currency: 'EUR' } })
  expect(again.xId).not.toBe(xId)
  expect(await listedOf(payId)).toEqual([])
  const twice = await commands.run('bank', 'undelivered', ...account, '--again', xId)
  expect(twice.code).toBe(1)
  expect(twice.stderr).toContain(`no surplus ${xId} waits for you`)
  const { files, text, endToEndIds } = await batch()
  expect(files).toMatchObject([{ payments: 1, sum: 333 }])
  expect(endToEndIds).toEqual([again.xId])
  expect(text).toContain(`<IBAN>${testIbans.good}</IBAN>`)
  expect((await batch()).files).toEqual([])
  const second = await importEntries({ cents: 333, endToEndId: again.xId, reason: 'AC06' })
  expect(second.undelivered).toMatchObject([{ payId, xId: again.xId, reason: 'AC06' }])
  const { data } = (await stage.gateway.call('GET', `/settlements?payId=${payId}`)).body
  const corrections = data.filter(({ type }: { type: string }) => type === 'CORRECTION')
  const gross = corrections.map((line: { gross: number }) => line.gross)
  expect(gross.toSorted((a: number, b: number) => a - b)).toEqual([-333, -333, 333, 333, 333])
  await expectBooksHold()
})

test('--again and --done concurrently: one of them wins', async () => {
  const { xId, payId } = await returned(444)
  const { bank } = stage.gateway.gateway
  const place = { account: await bank.account(stage.accountId), bank }
  const runs = await Promise.allSettled([
    giveBackAgain(xId, place),
    closeUndelivered(xId, place),
    giveBackAgain(xId, place),
  ])
  const won = runs.findIndex(({ status }) => status === 'fulfilled')
  expect(runs.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await listedOf(payId)).toEqual([])
  expect((await batch()).files).toMatchObject(won === 1 ? [] : [{ payments: 1, sum: 444 }])
})

test('--done removes the surplus from the list, for operators who have paid it in another way', async () => {
  await batch()
  const { xId, payId } = await returned()
  expect(await commands.json('bank', 'undelivered', ...account, '--done', xId)).toMatchObject({ xId, payId })
  expect(await listedOf(payId)).toEqual([])
  expect((await batch()).files).toEqual([])
  const audited = await commands.json('audit', 'list', '--act', 'bank.undelivered.done')
  expect(audited.at(-1)).toMatchObject({ object: xId, before: { payId, reason: 'AC04' } })
})

test('a surplus under way, or an id that is no surplus, can be neither sent again nor marked as done', async () => {
  const { xId } = await sentBack()
  for (const id of [xId, 'f'.repeat(32), 'nonsense'])
    for (const option of ['--again', '--done']) {
      const { code, stderr } = await commands.run('bank', 'undelivered', ...account, option, id)
      expect(code).toBe(1)
      expect(stderr).toContain(`no surplus ${id} waits for you`)
    }
})

test.each<[string, Partial<TestEntry>]>([
  ['with its reason', { reason: 'AC04' }],
  ['as the reversal of an entry', { isReversal: true }],
  ['by its transaction code', { subFamily: 'RRTN' }],
])(
  'a return without our reference, told %s, pays nothing although its text names the payment: it is listed',
  async (_, told) => {
    await batch()
    const { transId, payId } = await sentBack()
    const payer = { name: 'Ann Mueller', iban: testIbans.good }
    const report = await importEntries({ cents: 250, text: transId, payer, ...told })
    expect(report).toMatchObject({ booked: 0, returned: 0, unmatched: [{ text: transId }], undelivered: [] })
    const { body } = await stage.gateway.call('GET', `/payments/getByPayId/${payId}`)
    expect(body).toMatchObject({ status: 'OK', amount: { receivedValue: 1250 } })
    expect((await batch()).files).toEqual([])
  },
)
