/** Settlement lines: imported, listed, and compared with our books by reconcile, doctor and the metric. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SettlementLine } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import { writeCursor } from '#endpoints/page-cursor.ts'
import { importSettlement } from '#providers/settlements.ts'
import { openDatabase } from '#storage/database.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { unsettled } from '#storage/doctor/provider-checks.ts'
import { countDifferences } from '#storage/providers/match-lines.ts'
import { createSettlementStore } from '#storage/providers/settlements.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type AccountBench, openAccountBench } from '#test/support/providers/provider-accounts.ts'
import { settling } from '#test/support/providers/settling.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let bench: AccountBench
let folder: string
let shop: Shop
let accountId: string
let sale: AnyJson
beforeAll(async () => {
  gateway = await startTestGateway({ definitions: [settling] })
  bench = openAccountBench(gateway, [settling])
  folder = mkdtempSync(join(tmpdir(), 'tollgate-settlement-'))
  shop = await openShop(gateway)
  const account = { connector: 'settling', name: 'S', settings: {}, secrets: {} }
  accountId = (await bench.add(shop.merchantId, account)).accountId
  const payId = await shop.sell('CARD')
  await shop.act(payId, 'refunds', 300)
  sale = await shop.read(payId)
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await bench.close()
  await gateway.stop()
})

const today = new Date().toISOString().slice(0, 10)
const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

const operation = (type: string): AnyJson => sale.operations.find((one: AnyJson) => one.type === type)

const line = (change: Partial<SettlementLine>): SettlementLine => ({
  settlementId: 'S1',
  date: today,
  type: 'CAPTURE',
  gross: 1000,
  fee: 20,
  net: 980,
  currency: 'EUR',
  providerReference: 'R1',
  ...change,
})

function importLines(lines: readonly unknown[], account = accountId) {
  const file = join(folder, 'settlement.jsonl')
  writeFileSync(file, lines.map(one => (typeof one === 'string' ? one : JSON.stringify(one))).join('\n'))
  const { database, directory } = bench
  return importSettlement({ accountId: account, file }, { directory, store: createSettlementStore(database) })
}

const reconcile = (from = day(-1), to = day(1)) =>
  createSettlementStore(bench.database).reconcile({
    merchantId: shop.merchantId as never,
    accountId,
    from,
    to,
  })

const forget = () => queryRows(gateway.databaseUrl, 'DELETE FROM settlement_line')

test('without lines, all our operations are missing at the provider', async () => {
  const { oursWithoutTheirs, theirsWithoutOurs, amountsDiffer } = await reconcile()
  expect(oursWithoutTheirs.map(({ type, amount }) => [type, amount]).sort()).toEqual([
    ['CAPTURE', 1000],
    ['REFUND', -300],
  ])
  expect([theirsWithoutOurs, amountsDiffer]).toEqual([[], []])
})

test('lines match payments by our reference or by the provider’s id, and then there is no difference', async () => {
  const lines = [
    line({ reference: operation('CAPTURE').xId as XId }),
    line({
      type: 'REFUND',
      gross: -300,
      fee: 0,
      net: -300,
      providerReference: 'R2',
      transactionId: operation('REFUND').providerTransactionId,
    }),
    line({ type: 'FEE', gross: 0, fee: 50, net: -50, providerReference: 'R3' }),
  ]
  expect(await importLines(lines)).toEqual({ accountId, lines: 3, added: 3, repeated: 0, unmatched: 0 })
  expect(await importLines(lines)).toMatchObject({ added: 0, repeated: 3 })
  expect(await reconcile()).toEqual({ oursWithoutTheirs: [], theirsWithoutOurs: [], amountsDiffer: [] })
  const { status, body } = await shop.call('GET', '/settlements')
  expect(status).toBe(200)
  expect(body.data).toContainEqual({
    settlementId: 'S1',
    account: accountId,
    date: today,
    type: 'CAPTURE',
    payId: sale.payId,
    xId: operation('CAPTURE').xId,
    gross: 1000,
    fee: 20,
    net: 980,
    currency: 'EUR',
    providerReference: 'R1',
  })
  expect(body.data).toHaveLength(3)
  await forget()
})

test('differences: an unmatched line, a line with another amount, and an operation without a line', async () => {
  await importLines([
    line({ reference: operation('CAPTURE').xId as XId, gross: 999 }),
    line({ providerReference: 'R9', transactionId: 'never-heard-of', date: day(10) }),
  ])
  const found = await reconcile(day(-1), day(11))
  expect(found.oursWithoutTheirs).toMatchObject([{ type: 'REFUND', xId: operation('REFUND').xId }])
  expect(found.theirsWithoutOurs).toMatchObject([{ providerReference: 'R9' }])
  expect(found.amountsDiffer).toMatchObject([
    { ours: { amount: 1000, xId: operation('CAPTURE').xId }, theirs: { gross: 999 } },
  ])
  const unwell = (await examine(gateway.databaseUrl)).filter(one => one.found > 0).map(({ name }) => name)
  expect(unwell).toEqual(['settlement-has-ours', 'settlement-is-ours', 'settlement-amounts'])
  await gateway.gateway.notices.measureDifferences()
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  for (const list of ['ours_without_theirs', 'theirs_without_ours', 'amounts_differ'])
    expect(metrics).toContain(`tollgate_reconciliation_differences{list="${list}"} 1`)
  await forget()
  await gateway.gateway.notices.measureDifferences()
  expect(await (await fetch(`${gateway.url}/metrics`)).text()).toContain(
    'tollgate_reconciliation_differences{list="theirs_without_ours"} 0',
  )
})

test('a file of many pages is stored as a whole or not at all, and its last line is matched like the first', async () => {
  const many = Array.from({ length: 2_500 }, (_, at) =>
    line({ providerReference: `A${at}`, transactionId: 'unheard' }),
  )
  const tooLong = line({ settlementId: 'S'.repeat(256), providerReference: 'R2' })
  await expect(importLines([...many, tooLong])).rejects.toThrow(/settlement_line_id_length/)
  expect(await queryRows(gateway.databaseUrl, 'SELECT FROM settlement_line')).toEqual([])
  const ours = line({ reference: operation('CAPTURE').xId as XId })
  expect(await importLines([...many, ours])).toMatchObject({ lines: 2_501, added: 2_501, unmatched: 2_500 })
  expect(await importLines([...many, ours])).toMatchObject({ added: 0, unmatched: 2_500 })
  await forget()
})

test('no statement of an import has more lines than fit into its time, and locks come last', async () => {
  const { writers } = bench.database
  const statements: [text: string, rows: number][] = []
  const connect = async () => {
    const client = await writers.connect()
    const query = (...words: [string, unknown[]?]) => {
      const [text, values = []] = words
      const rows = values.map(value =>
        Array.isArray(value) ? value.length : String(value).split('},{').length,
      )
      statements.push([/(INSERT INTO|UPDATE) \w+/.exec(text)?.[0] ?? '', Math.max(0, ...rows)])
      return Reflect.apply(client.query, client, words)
    }
    return { query, release: (broken?: Error) => client.release(broken) }
  }
  const watched = { connect, query: writers.query.bind(writers) } as unknown as typeof writers
  const store = createSettlementStore({ ...bench.database, writers: watched })
  const account = { merchantId: shop.merchantId as never, accountId }
  const named = line({ isNamedOnce: true, settlementId: today })
  const entry = { formerKey: 'F', bookedOn: today, amount: 1000, currency: 'EUR' }
  const lines = (settlementId: string) =>
    Array.from({ length: 2_050 }, (_, at) => ({ ...named, settlementId, entry: { ...entry, key: `K${at}` } }))
  expect(await store.insert(account, lines(today))).toEqual({ added: 2_050, unmatched: 2_050 })
  statements.length = 0
  expect(await store.insert(account, lines('po_1'))).toMatchObject({ added: 0 })
  const [insert, update] = ['INSERT INTO settlement_line', 'UPDATE settlement_line']
  expect(statements.slice(-5)).toEqual([
    ...[2_000, 50].map(rows => [insert, rows]),
    ...[2_000, 50].map(rows => [update, rows]),
    ['', 0],
  ])
  expect(Math.max(...statements.map(([, rows]) => rows))).toBe(2_000)
  const { body } = await shop.call('GET', '/settlements?settlementId=po_1&limit=1')
  expect(body.data).toHaveLength(1)
  await forget()
})

test('books are compared for as long as it takes, when the other statements have a millisecond', async () => {
  await importLines([line({ reference: operation('CAPTURE').xId as XId })])
  const hasty = openDatabase(gateway.databaseUrl, () => undefined, { silenceMs: 1 })
  const { readWhole } = hasty
  const database = { ...bench.database, readers: hasty.readers, readWhole }
  const range = { merchantId: shop.merchantId as never, accountId, from: day(-1), to: day(1) }
  const { oursWithoutTheirs } = await createSettlementStore(database).reconcile(range)
  expect(oursWithoutTheirs).toMatchObject([{ type: 'REFUND' }])
  const counted = await countDifferences({ readers: bench.database.readers, readWhole })
  expect([...counted.values()]).toEqual([0, 0, 0])
  await hasty.close()
  await forget()
})

test('a long comparison ends when its process stops, also while it connects', async () => {
  const { database } = bench
  const connecting = database.readWhole('SELECT pg_sleep(600)')
  database.endWholeReads()
  await expect(connecting).rejects.toThrow(/terminated/)
  const running = database.readWhole('SELECT pg_sleep(601)')
  const active = () =>
    queryRows(gateway.databaseUrl, "SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(601)'")
  await expect.poll(async () => (await active()).length).toBe(1)
  database.endWholeReads()
  await expect(running).rejects.toThrow(/terminated/)
})

/** The database, where an import stops after its first lines until it is let go. */
function holdImports(): { database: typeof bench.database; reached: Promise<void>; letGo: () => void } {
  const [gate, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { writers } = bench.database
  const connect = async () => {
    const client = await writers.connect()
    const query = async (...words: unknown[]) => {
      const answer = await Reflect.apply(client.query, client, words)
      if (String(words[0]).includes('INSERT INTO settlement_line')) {
        reached.resolve()
        await gate.promise
      }
      return answer
    }
    return { query, release: (broken?: Error) => client.release(broken) }
  }
  const held = { connect, query: writers.query.bind(writers) } as unknown as typeof writers
  return { database: { ...bench.database, writers: held }, reached: reached.promise, letGo: gate.resolve }
}

test('an import waits for another one of its account, and says so where that takes too long', async () => {
  const { directory } = bench
  const file = join(folder, 'twice.jsonl')
  writeFileSync(file, JSON.stringify(line({})))
  const { database, reached, letGo } = holdImports()
  const first = importSettlement({ accountId, file }, { directory, store: createSettlementStore(database) })
  await reached
  const hasty = createSettlementStore({ ...bench.database, pause: async () => undefined })
  await expect(importSettlement({ accountId, file }, { directory, store: hasty })).rejects.toThrow(
    `another file is being imported for ${accountId}; ${file} was not: import it again when that one has finished`,
  )
  const pause = async () => {
    letGo()
    await first
  }
  const patient = createSettlementStore({ ...bench.database, pause })
  const second = importSettlement({ accountId, file }, { directory, store: patient })
  expect([await first, await second]).toMatchObject([{ added: 1 }, { added: 0, repeated: 1 }])
  await forget()
})

test('several lines about one operation are added up', async () => {
  const xId = operation('CAPTURE').xId as XId
  await importLines([
    line({ reference: xId, gross: 600, net: 580 }),
    line({ reference: xId, gross: 400, fee: 0, net: 400, providerReference: 'R2' }),
  ])
  expect((await reconcile()).amountsDiffer).toEqual([])
  await forget()
})

// At some providers several captures of one charge have neither own ids nor own lines.
test.each([
  ['one line', [500]],
  ['a line each', [300, 200]],
  ['the whole and what was not captured', [1000, -500]],
])('captures that the provider knows by one id are compared as one sum: %s', async (_, amounts) => {
  const payId = await shop.authorize('CARD')
  await shop.act(payId, 'captures', 300)
  await shop.act(payId, 'captures', 200)
  const { operations } = await shop.read(payId)
  const transactionId: string = operations[1].providerTransactionId
  await queryRows(
    gateway.databaseUrl,
    `UPDATE operation SET provider = jsonb_set(provider::jsonb, '{transactionId}', to_jsonb($1::text))
      WHERE type = 'CAPTURE' AND pay_id = $2`,
    [transactionId, payId],
  )
  const shared = { reference: operation('CAPTURE').xId as XId, date: day(9) }
  const lines = amounts.map((gross, at) =>
    line({ transactionId, gross, net: gross - 20, date: day(9), providerReference: `R-${at}` }),
  )
  const ofBoth = async () => {
    const { oursWithoutTheirs, theirsWithoutOurs, amountsDiffer } = await reconcile(day(-1), day(10))
    const ours = [...oursWithoutTheirs, ...amountsDiffer.map(one => one.ours)]
    return { ours: ours.filter(one => one.payId === payId), theirs: theirsWithoutOurs }
  }
  const unwell = async () =>
    (await examine(gateway.databaseUrl)).filter(one => one.found > 0 && one.name === 'settlement-amounts')
  expect((await ofBoth()).ours).toMatchObject([{ amount: 500 }])
  await importLines([line(shared), ...lines])
  expect(await ofBoth()).toEqual({ ours: [], theirs: [] })
  expect(await unwell()).toEqual([])
  const missing = `SELECT x_id FROM (${unsettled}) missing WHERE pay_id = $1`
  expect(await queryRows(gateway.databaseUrl, missing, [payId])).toEqual([])
  await forget()
  await importLines([line(shared), ...lines.slice(1)])
  expect((await ofBoth()).ours).toMatchObject([{ amount: 500 }])
  expect(await unwell()).toHaveLength(amounts.length === 1 ? 0 : 1)
  await forget()
})

const sellAnother = async () => {
  const payId = await shop.sell('CARD')
  return {
    payId,
    capture: (await shop.read(payId)).operations.find((one: AnyJson) => one.type === 'CAPTURE'),
  }
}

test('chargebacks are compared by payment: open, won, and unknown to us', async () => {
  const { payId, capture } = await sellAnother()
  const dispute = (status: string) =>
    queryRows(
      gateway.databaseUrl,
      `INSERT INTO dispute (merchant_id, dispute_id, pay_id, x_id, provider_dispute_id, amount, currency, stage, status,
         reason_code, reason_group, events, created_at, updated_at)
       VALUES ($1, 'dsp_' || repeat('a', 32), $2, $3, 'd', 1000, 'EUR', 'CHARGEBACK', $4, '1', 'FRAUD', '[]', now(), now())
       ON CONFLICT (merchant_id, dispute_id) DO UPDATE SET status = excluded.status`,
      [shop.merchantId, payId, capture.xId, status],
    )
  const own = (list: readonly { readonly payId?: string }[]) => list.filter(one => one.payId === payId)
  await dispute('OPEN')
  expect(own((await reconcile()).oursWithoutTheirs)).toMatchObject([
    { type: 'CAPTURE' },
    { type: 'CHARGEBACK', amount: -1000, xId: capture.xId },
  ])
  const back = { type: 'CHARGEBACK', fee: 0, reference: capture.xId } as const
  const taken = line({ ...back, gross: -1000, net: -1000, providerReference: 'C1' })
  const given = line({ ...back, gross: 1000, net: 1000, providerReference: 'C2' })
  const stranger = line({ type: 'CHARGEBACK', gross: -5, fee: 0, net: -5, providerReference: 'C9' })
  expect(await importLines([taken, stranger])).toMatchObject({ added: 2, unmatched: 1 })
  const open = await reconcile()
  expect(own(open.oursWithoutTheirs)).toMatchObject([{ type: 'CAPTURE' }])
  expect(open.theirsWithoutOurs).toMatchObject([{ providerReference: 'C9' }])
  expect(open.amountsDiffer).toEqual([])
  await dispute('WON')
  expect((await reconcile()).amountsDiffer).toMatchObject([
    { ours: { type: 'CHARGEBACK', amount: 0, payId }, theirs: { gross: -1000 } },
  ])
  const names = async () =>
    (await examine(gateway.databaseUrl)).filter(one => one.found > 0).map(({ name }) => name)
  expect(await names()).toEqual(['settlement-is-ours', 'settlement-amounts'])
  await importLines([given])
  expect((await reconcile()).amountsDiffer).toEqual([])
  expect(await names()).toEqual(['settlement-is-ours'])
  await queryRows(gateway.databaseUrl, 'DELETE FROM dispute')
  await forget()
})

test('a line that is imported before the outcome of its operation is matched later', async () => {
  const { capture } = await sellAnother()
  const uuid = capture.xId as string
  const state = (value: string) =>
    queryRows(gateway.databaseUrl, `UPDATE operation SET state = $2 WHERE x_id = $1`, [uuid, value])
  await state('PENDING')
  const named = line({ reference: uuid as XId, providerReference: 'L1' })
  expect(await importLines([named])).toMatchObject({ added: 1, unmatched: 1 })
  await state('OK')
  await gateway.gateway.notices.matchSettlements()
  const { body } = await shop.call('GET', '/settlements')
  expect(body.data).toMatchObject([{ providerReference: 'L1', xId: uuid }])
  expect(await importLines([named])).toMatchObject({ added: 0, repeated: 1, unmatched: 0 })
  await forget()
})

test.each([
  ['by our reference', (refund: AnyJson) => ({ reference: refund.xId as XId })],
  ['by the provider’s id', (refund: AnyJson) => ({ transactionId: refund.providerTransactionId as string })],
])('a line that brings back a refund which has failed by then finds it %s', async (_, nameOf) => {
  const { payId, capture } = await sellAnother()
  await shop.act(payId, 'refunds', 300)
  // A line without a reference is matched with the only remaining operation; these lines have references.
  await shop.act(payId, 'refunds', 200)
  const [refund, other] = (await shop.read(payId)).operations.filter((one: AnyJson) => one.type === 'REFUND')
  const named = { type: 'REFUND', fee: 0, ...nameOf(refund) } as const
  const back = line({ ...named, gross: 300, net: 300, providerReference: 'F2' })
  await importLines([
    line({ reference: capture.xId as XId }),
    line({ ...named, gross: -300, net: -300, providerReference: 'F1' }),
    line({
      type: 'REFUND',
      reference: other.xId as XId,
      gross: -200,
      fee: 0,
      net: -200,
      providerReference: 'F3',
    }),
  ])
  await queryRows(gateway.databaseUrl, `UPDATE operation SET state = 'FAILED' WHERE x_id = $1`, [refund.xId])
  const settlementFindings = async () =>
    (await examine(gateway.databaseUrl)).filter(one => one.found > 0 && one.name.startsWith('settlement'))
  expect((await reconcile()).theirsWithoutOurs).toMatchObject([{ providerReference: 'F1' }])
  expect(await settlementFindings()).toMatchObject([{ name: 'settlement-is-ours', found: 1 }])
  expect(await importLines([back])).toMatchObject({ added: 1, unmatched: 0 })
  const found = await reconcile()
  expect([found.theirsWithoutOurs, found.amountsDiffer]).toEqual([[], []])
  expect(await settlementFindings()).toEqual([])
  await queryRows(gateway.databaseUrl, `UPDATE operation SET state = 'OK' WHERE x_id = $1`, [refund.xId])
  await forget()
})

test('a charge that failed after the provider had booked it is no difference once both of its lines are there', async () => {
  const settlementFindings = async () =>
    (await examine(gateway.databaseUrl)).find(one => one.name === 'settlement-is-ours')?.found
  const charge = line({ transactionId: 'py_1', gross: 700, net: 680 })
  await importLines([charge, line({ providerReference: 'R2', gross: -700, net: -700 })])
  expect((await reconcile()).theirsWithoutOurs).toMatchObject([{ gross: 700 }, { gross: -700 }])
  expect(await settlementFindings()).toBe(2)
  await forget()
  await importLines([
    charge,
    line({ providerReference: 'R2', transactionId: 'py_1', gross: -700, net: -700 }),
  ])
  expect((await reconcile()).theirsWithoutOurs).toEqual([])
  expect(await settlementFindings()).toBe(0)
  await forget()
})

test('the lines of a debit that failed before a later good try belong to no capture', async () => {
  const { body } = await shop.create('PROVIDERP', { captureMethod: { type: 'AUTOMATIC' } })
  for (const action of ['decline', 'approve'] as const) await shop.customer(body.payId, action)
  const [failed] = await queryRows<{ reference: XId }>(
    gateway.databaseUrl,
    `SELECT r.reference FROM provider_reference r JOIN operation o ON o.merchant_id = r.merchant_id
       AND o.details->>'captureXId' = r.reference
     WHERE o.pay_id = $1 AND o.state = 'FAILED'`,
    [body.payId],
  )
  const operations: AnyJson[] = (await shop.read(body.payId)).operations
  const capture = operations.find(({ type }) => type === 'CAPTURE')
  const lines = [
    line({ reference: failed?.reference, transactionId: 'py_1' }),
    line({ transactionId: 'py_1', gross: -1000, net: -1000, providerReference: 'R2' }),
    line({ reference: capture.xId as XId, transactionId: 'py_2', providerReference: 'R3' }),
  ]
  expect(await importLines(lines.slice(0, 1))).toMatchObject({ added: 1, unmatched: 1 })
  // Two lines that come to nothing match no operation, and need none.
  expect(await importLines(lines)).toMatchObject({ added: 2, repeated: 1, unmatched: 0 })
  const found = await reconcile()
  expect([found.theirsWithoutOurs, found.amountsDiffer]).toEqual([[], []])
  await forget()
})

test('lines that share a reference are all kept, once', async () => {
  const lines = [
    line({ type: 'CHARGEBACK', gross: -1000, fee: 0, net: -1000 }),
    line({ type: 'CHARGEBACK', gross: 1000, fee: 0, net: 1000 }),
  ]
  expect(await importLines(lines)).toMatchObject({ lines: 2, added: 2 })
  expect(await importLines(lines)).toMatchObject({ lines: 2, added: 0, repeated: 2 })
  await forget()
})

test('a line with a unique reference is stored once, even if files assign it to different settlements', async () => {
  const named = line({ isNamedOnce: true, settlementId: today, reference: operation('CAPTURE').xId as XId })
  const paidOut = { ...named, settlementId: 'po_1' }
  expect(await importLines([named, named, paidOut])).toMatchObject({ lines: 3, added: 1, repeated: 2 })
  const settlements = async () =>
    (await shop.call('GET', '/settlements')).body.data.map((one: AnyJson) => one.settlementId)
  expect(await settlements()).toEqual([today])
  expect(await importLines([paidOut])).toMatchObject({ lines: 1, added: 0, repeated: 1, unmatched: 0 })
  // Until a file names the payout the day stands for it, and no later file takes the payout away.
  expect(await settlements()).toEqual(['po_1'])
  for (const settlementId of [today, 'po_2']) await importLines([{ ...named, settlementId }])
  expect(await settlements()).toEqual(['po_1'])
  expect((await reconcile()).amountsDiffer).toEqual([])
  await forget()
})

test.each([
  ['is no settlement file', ['nonsense'], 'cannot be read as a settlement file'],
  ['has a broken line after good ones', [line({}), '{"gross":'], 'cannot be read as a settlement file'],
  ['holds fractions', [line({ gross: 1.5 })], 'line 1 of the file'],
  ['has no date', [line({ date: 'today' })], 'line 1 of the file'],
  ['has a day that never was', [line({ date: '2026-02-30' })], 'line 1 of the file'],
])('a file that %s is refused as a whole', async (_, lines, sentence) => {
  await expect(importLines(lines)).rejects.toThrow(sentence)
  expect((await shop.call('GET', '/settlements')).body).toEqual({ data: [] })
})

test('an unknown account, and a provider without settlement files, are refused', async () => {
  await expect(importLines([], 'acc_000000000000000000000000')).rejects.toThrow('there is no account')
})

test('settlement lines are listed page by page and filtered, and those of other merchants are not', async () => {
  await importLines(
    [1, 2, 3].map(n => line({ providerReference: `P${n}`, date: day(-n), type: n === 3 ? 'FEE' : 'PAYOUT' })),
  )
  const references = async (query: string, by: Shop = shop) =>
    (await by.call('GET', `/settlements${query}`)).body.data?.map((one: AnyJson) => one.providerReference)
  expect(await references('')).toEqual(['P1', 'P2', 'P3'])
  expect(await references('?type=FEE')).toEqual(['P3'])
  expect(await references(`?from=${day(-2)}&to=${today}`)).toEqual(['P1', 'P2'])
  expect(await references(`?account=${accountId}&settlementId=S1`)).toHaveLength(3)
  const { body } = await shop.call('GET', '/settlements?limit=2')
  expect(body.data).toHaveLength(2)
  expect(await references(`?limit=2&cursor=${encodeURIComponent(body.nextCursor)}`)).toEqual(['P3'])
  const scope = { merchantId: shop.merchantId, list: 'settlements', query: {} }
  for (const wrong of [
    `?cursor=${writeCursor(scope, ['yesterday', 'a', 'b', 'c', 'd'])}`,
    ...['?type=NOT', '?limit=0', '?from=yesterday', '?cursor=x', '?other=1', '?account=', '?settlementId='],
    `?from=${today}&to=${today}`,
  ])
    expect([wrong, (await shop.call('GET', `/settlements${wrong}`)).status]).toEqual([wrong, 400])
  expect(await references('', await openShop(gateway))).toEqual([])
  await forget()
})
