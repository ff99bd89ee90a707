/**
 * An import that crashes after any of its writes: the next import of the file leads to the same payment, settlement
 * lines, events and outgoing money as an import without a crash.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { PayId, XId } from '#domain/ids.ts'
import { addDays, dayOf } from '#domain/time/calendar.ts'
import type { Bank } from '#operations/bank/bank.ts'
import { giveOutNew } from '#operations/bank/give-out.ts'
import { makeBatch } from '#operations/bank/make-batch.ts'
import { settleByInquiry } from '#operations/payments/provider-calls/settle-by-inquiry.ts'
import { seedDebits, testIbans } from '#test/support/bank/debits.ts'
import { statement, statusReport, type TestEntry } from '#test/support/bank/files.ts'
import { type BankStage, importFiles, openBankStage } from '#test/support/bank/stage.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let stage: BankStage
beforeAll(async () => {
  stage = await openBankStage()
})
afterAll(() => stage.close())

/** The contents of a file, and the payment that they concern. */
interface Scene {
  readonly payId: string
  readonly file: string
}

let scenes = 0

async function order(type: 'SEPACREDITTRANSFER' | 'INVOICE'): Promise<{ payId: string; name: string }> {
  const name = `scene ${++scenes}`
  const method = type === 'INVOICE' ? { invoice: {} } : { sepaCreditTransfer: {} }
  const { body, status, text } = await stage.gateway.call('POST', '/payments', {
    transId: name,
    amount: { value: 1000, currency: 'EUR' },
    ...(type === 'INVOICE' ? { captureMethod: { type: 'MANUAL' } } : {}),
    paymentMethods: { integrationType: 'DIRECT', type, ...method },
  })
  if (status >= 300) throw new Error(text)
  return { payId: body.payId, name }
}

const write = (entries: readonly Omit<TestEntry, 'reference'>[]): string => {
  const name = `file ${++scenes}`
  const numbered = entries.map((entry, at) => ({ reference: `${name}-${at}`, ...entry }))
  return stage.commands.file(`${name}.xml`, statement(numbered))
}

const payer = { name: 'Ann Mueller', iban: testIbans.good }
const arriving = (text: string, ...amounts: number[]): string =>
  write(amounts.map(cents => ({ cents, text, payer })))

async function awaited(type: 'SEPACREDITTRANSFER' | 'INVOICE', ...amounts: number[]): Promise<Scene> {
  const { payId, name } = await order(type)
  return { payId, file: arriving(name, ...amounts) }
}

async function ended(type: 'SEPACREDITTRANSFER' | 'INVOICE', ...amounts: number[]): Promise<Scene> {
  const { payId, name } = await order(type)
  await stage.gateway.call('POST', `/payments/${payId}/cancellations`, {})
  return { payId, file: arriving(name, ...amounts) }
}

async function paidTwice(): Promise<Scene> {
  const { payId, name } = await order('SEPACREDITTRANSFER')
  await importFiles([arriving(name, 1000)], stage.gateway.gateway.bank)
  return { payId, file: arriving(name, 1000) }
}

interface Sent {
  readonly payId: string
  readonly endToEndId: string
  readonly messageId: string
}

/** The reference of the one payment in the next batch. */
async function batchOne(): Promise<Sent> {
  const [only] = await batchAll()
  if (!only) throw new Error('the batch is empty')
  return only
}

async function batchAll(): Promise<readonly Sent[]> {
  const { bank } = stage.gateway.gateway
  const account = await bank.account(stage.accountId)
  await makeBatch(account, undefined, bank)
  const [file] = await giveOutNew(account, join(stage.commands.folder, `batch ${++scenes}`), bank)
  const text = readFileSync(file?.path ?? '', 'utf8')
  const [, messageId = ''] = /<MsgId>(\w+)</.exec(text) ?? []
  const references = [...text.matchAll(/<EndToEndId>(\w+)</g)].map(match => match[1] ?? '')
  return queryRows<Sent>(
    stage.gateway.databaseUrl,
    `SELECT replace(pay_id::text, '-', '') AS "payId", replace(x_id::text, '-', '') AS "endToEndId",
       '${messageId}' AS "messageId"
     FROM bank_item WHERE x_id::text = ANY(SELECT r::uuid::text FROM unnest('{${references}}'::text[]) r) ORDER BY amount`,
  )
}

async function debit(): Promise<Sent> {
  await seed(1)
  return batchOne()
}

async function seed(count: number): Promise<void> {
  const { databaseUrl, merchantId, gateway } = stage.gateway
  await seedDebits(gateway.engine, {
    databaseUrl,
    merchantId,
    accountId: stage.accountId,
    count,
    // Late enough for the batch, which would otherwise choose another day and announce that.
    dueDate: addDays(dayOf(new Date()), 30),
  })
}

async function refunded() {
  const { payId, name } = await order('SEPACREDITTRANSFER')
  await importFiles([arriving(name, 1000)], stage.gateway.gateway.bank)
  const amount = { value: 1000, currency: 'EUR' }
  await stage.gateway.call('POST', `/payments/${payId}/refunds`, { transId: `${name} back`, amount })
  return { ...(await batchOne()), payId }
}

const stories: Readonly<Record<string, () => Promise<Scene>>> = {
  'the whole amount': () => awaited('SEPACREDITTRANSFER', 1000),
  'the whole amount of an invoice': () => awaited('INVOICE', 1000),
  'more than the amount': () => awaited('SEPACREDITTRANSFER', 1250),
  'two parts that are more than the amount': () => awaited('SEPACREDITTRANSFER', 400, 700),
  'the amount a second time': paidTwice,
  'the whole amount after the end': () => ended('SEPACREDITTRANSFER', 1100),
  'an invoice after the end': () => ended('INVOICE', 1000),
  'a part after the end': () => ended('SEPACREDITTRANSFER', 300),
  'a debit that is booked': async () => {
    const { payId, endToEndId } = await debit()
    return { payId, file: write([{ cents: 1001, endToEndId }]) }
  },
  'a debit that is rejected': async () => {
    const { payId, endToEndId, messageId } = await debit()
    const report = statusReport(messageId, [{ endToEndId, reason: 'AC04' }])
    return { payId, file: stage.commands.file(`${endToEndId}.xml`, report) }
  },
  'a debit whose batch was booked before another one of it is rejected': async () => {
    await seed(2)
    const [first, second] = await batchAll()
    if (!first || !second) throw new Error('there are not two debits in the batch')
    const { payId, messageId } = first
    const booked = write([{ cents: 1001, blockId: `${messageId}01` }])
    await importFiles([booked], stage.gateway.gateway.bank)
    const report = statusReport(messageId, [{ endToEndId: second.endToEndId, reason: 'AM04' }])
    return { payId, file: stage.commands.file(`${second.endToEndId}.xml`, report) }
  },
  'a debit that comes back with a charge': async () => {
    const { payId, endToEndId } = await debit()
    const back = { cents: 1301, charges: 300, direction: 'DBIT' as const, reason: 'AC04', endToEndId }
    return { payId, file: write([{ cents: 1001, endToEndId }, back]) }
  },
  'a refund that is booked and comes back': async () => {
    const { payId, endToEndId } = await refunded()
    const booked = { cents: 1000, direction: 'DBIT' as const, endToEndId }
    return { payId, file: write([booked, { cents: 1000, reason: 'AC04', endToEndId }]) }
  },
  'a surplus that is booked and comes back': () =>
    surplusSent(({ endToEndId }) =>
      write([
        { cents: 250, direction: 'DBIT', endToEndId },
        { cents: 250, reason: 'AC04', endToEndId },
      ]),
    ),
  'a surplus that is rejected': () =>
    surplusSent(({ endToEndId, messageId }) =>
      stage.commands.file(`${endToEndId}.xml`, statusReport(messageId, [{ endToEndId, reason: 'AC04' }])),
    ),
}

/** A surplus in a file for the bank, and the bank's report about it. */
async function surplusSent(
  tell: (sent: { endToEndId: string; messageId: string }) => string,
): Promise<Scene> {
  const { payId, file } = await awaited('SEPACREDITTRANSFER', 1250)
  await importFiles([file], stage.gateway.gateway.bank)
  return { payId, file: tell(await batchOne()) }
}

const sumOf = (lines: readonly { type: string; gross: number }[], type: string): number =>
  lines.filter(line => line.type === type).reduce((sum, { gross }) => sum + gross, 0)

/** Recovers the operations that a dead process had sent, as the next start does. */
async function recover({ payId }: Scene): Promise<void> {
  const { bank } = stage.gateway.gateway
  const { merchant } = await bank.account(stage.accountId)
  const sent = await queryRows<{ x_id: string }>(
    stage.gateway.databaseUrl,
    `SELECT replace(x_id::text, '-', '') AS x_id FROM operation WHERE pay_id = '${payId}'::uuid AND state = 'SENT'`,
  )
  for (const { x_id } of sent) {
    const unanswered = { merchant, payId: payId as PayId, xId: x_id as XId, inquiry: 0 }
    await settleByInquiry(unanswered, bank.engine)
  }
  // Late money is tried to be given back again before the file is imported again.
  await queryRows(
    stage.gateway.databaseUrl,
    `UPDATE timer SET run_at = now() - interval '1 minute' WHERE pay_id = '${payId}'::uuid AND kind = 'GIVE_BACK'`,
  )
  await stage.gateway.gateway.timerWorker.runDue()
}

/** Everything that the file has changed, without the ids that differ between scenes. */
async function whatBecameOf({ payId }: Scene) {
  const { gateway } = stage
  const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
  const lines = (await gateway.call('GET', `/settlements?payId=${payId}`)).body.data
  const events = (await gateway.call('GET', `/events?payId=${payId}`)).body.data
  const select = (columns: string, table: string) =>
    queryRows(
      gateway.databaseUrl,
      `SELECT ${columns} FROM ${table} WHERE pay_id = '${payId}'::uuid ORDER BY ${columns}`,
    )
  return {
    status: body.status,
    amount: body.amount,
    operations: body.operations.map((entry: Record<string, unknown>) => [
      entry.type,
      entry.status,
      entry.responseCode,
    ]),
    // The order of two parts is not fixed, so a reserve is not distinguished from the line that releases it.
    lines: lines
      .filter(({ type }: { type: string }) => type !== 'RESERVE')
      .map(
        ({ type, gross, fee, xId }: Record<string, unknown>) =>
          `${type} ${gross} ${fee} ${xId !== undefined}`,
      )
      .toSorted(),
    reserve: sumOf(lines, 'RESERVE'),
    events: events.map(({ type }: { type: string }) => type).toSorted(),
    surplus: await select('amount', 'bank_surplus'),
    queued: await select('kind', 'timer'),
    items: await select(
      'type, amount, booked_by IS NOT NULL, returned_by IS NOT NULL, return_reason, rejected, told_at IS NOT NULL',
      'bank_item',
    ),
    entries: await select('state', 'bank_entry'),
  }
}

/** A bank store whose process dies after this many writes: from then on it does nothing. */
function dyingBank(writes: number): Bank {
  let left = writes
  const mortal =
    <Given extends unknown[], Result>(act: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      if (left === 0) throw new Error('died')
      const result = await act(...given)
      left -= 1
      if (left === 0) throw new Error('died')
      return result
    }
  const { bank } = stage.gateway.gateway
  const { engine, entries, items, transfers, undelivered } = bank
  return {
    ...bank,
    engine: {
      ...engine,
      queue: { ...engine.queue, update: mortal(engine.queue.update) as typeof engine.queue.update },
    },
    entries: {
      ...entries,
      matched: mortal(entries.matched),
      addLines: mortal(entries.addLines),
      settle: mortal(entries.settle),
      lookAgain: mortal(entries.lookAgain),
    },
    items: { ...items, mark: mortal(items.mark), endMandate: mortal(items.endMandate) },
    transfers: { ...transfers, addSurplus: mortal(transfers.addSurplus) },
    undelivered: { ...undelivered, told: mortal(undelivered.told) },
  }
}

/** Whether the import died; one with fewer writes is completed. */
async function dies(path: string, writes: number): Promise<boolean> {
  try {
    await importFiles([path], dyingBank(writes))
    return false
  } catch (error) {
    if (error instanceof Error && error.message === 'died') return true
    throw error
  }
}

test.each(Object.keys(stories))('%s', async story => {
  const begin = stories[story]
  if (!begin) throw new Error(`no story is called ${story}`)
  const undisturbed = await begin()
  await importFiles([undisturbed.file], stage.gateway.gateway.bank)
  const expected = await whatBecameOf(undisturbed)
  expect([...expected.entries, ...expected.items]).not.toEqual([])
  let deaths = 0
  for (;;) {
    const scene = await begin()
    if (!(await dies(scene.file, deaths + 1))) break
    deaths += 1
    await recover(scene)
    await importFiles([scene.file], stage.gateway.gateway.bank)
    expect(await whatBecameOf(scene), `died after write ${deaths}`).toEqual(expected)
  }
  expect(deaths).toBeGreaterThan(1)
})

test('the doctor finds nothing in the end', async () => {
  expect(await stage.commands.json('doctor')).toMatchObject({ healthy: true })
})
