/** Payments that the provider settles in another currency: compared by the customer's amount, or not at all. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { SettlementLine } from '#connectors/contract.ts'
import { importSettlement } from '#providers/settlements.ts'
import { examine } from '#storage/doctor/doctor.ts'
import { createSettlementStore } from '#storage/providers/settlements.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { signUp } from '#test/support/browser/console.ts'
import { commandsHere } from '#test/support/command-here.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { type AccountBench, openAccountBench } from '#test/support/providers/provider-accounts.ts'
import { settling } from '#test/support/providers/settling.ts'
import { openShop, type Shop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let bench: AccountBench
let folder: string
beforeAll(async () => {
  gateway = await startTestGateway({ definitions: [settling] })
  bench = openAccountBench(gateway, [settling])
  folder = mkdtempSync(join(tmpdir(), 'tollgate-foreign-settlement-'))
})
afterEach(() => queryRows(gateway.databaseUrl, 'DELETE FROM settlement_line'))
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await bench.close()
  await gateway.stop()
})

const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
const dollars = (value: number) => ({ value, currency: 'USD' })

interface Sale {
  readonly shop: Shop
  readonly accountId: string
  readonly payId: string
  act(operation: 'captures' | 'refunds', value: number): Promise<AnyJson>
}

/** A new merchant with a card payment of 10.00 USD that is authorised but not captured. */
async function openSale(): Promise<Sale> {
  const shop = await openShop(gateway)
  const account = { connector: 'settling', name: 'S', settings: {}, secrets: {} }
  const { accountId } = await bench.add(shop.merchantId, account)
  const payId = await shop.authorize('CARD', { amount: dollars(1000) })
  return {
    shop,
    accountId,
    payId,
    act: async (operation, value) =>
      (await shop.act(payId, operation, value, { amount: dollars(value) })).body,
  }
}

const lineOf = (change: Partial<SettlementLine>): SettlementLine => ({
  settlementId: 'S1',
  date: day(0),
  type: 'CAPTURE',
  gross: 920,
  fee: 20,
  net: 900,
  currency: 'EUR',
  providerReference: 'R1',
  ...change,
})

function importLines({ accountId }: Sale, lines: readonly SettlementLine[]) {
  const file = join(folder, 'settlement.jsonl')
  writeFileSync(file, lines.map(line => JSON.stringify(line)).join('\n'))
  const { database, directory } = bench
  return importSettlement({ accountId, file }, { directory, store: createSettlementStore(database) })
}

const reconcile = ({ shop, accountId }: Sale) =>
  createSettlementStore(bench.database).reconcile({
    merchantId: shop.merchantId as never,
    accountId,
    from: day(-1),
    to: day(1),
  })

const agreed = { oursWithoutTheirs: [], theirsWithoutOurs: [], amountsDiffer: [] }

const findings = async () =>
  (await examine(gateway.databaseUrl)).filter(one => one.found > 0).map(({ name }) => name)

async function expectAgreement(sale: Sale): Promise<void> {
  expect(await reconcile(sale)).toEqual(agreed)
  expect(await findings()).toEqual([])
}

test('captures and refunds are compared by the customer’s amount, in the currency of the payment', async () => {
  const sale = await openSale()
  const capture = await sale.act('captures', 1000)
  const refund = await sale.act('refunds', 300)
  const lines = [
    lineOf({ reference: capture.xId, paid: dollars(1000) }),
    lineOf({
      type: 'REFUND',
      reference: refund.xId,
      gross: -281,
      fee: 0,
      net: -281,
      paid: dollars(-300),
      providerReference: 'R2',
    }),
  ]
  expect(await importLines(sale, lines)).toMatchObject({ added: 2, repeated: 0, unmatched: 0 })
  expect(await importLines(sale, lines)).toMatchObject({ added: 0, repeated: 2, unmatched: 0 })
  await expectAgreement(sale)
})

test('another amount than ours is listed with the customer’s amount, and found by doctor and metric', async () => {
  const sale = await openSale()
  const capture = await sale.act('captures', 1000)
  // The value equals ours, but the currency differs.
  await importLines(sale, [lineOf({ reference: capture.xId, gross: 1000, net: 980, paid: dollars(1087) })])
  const { amountsDiffer, ...others } = await reconcile(sale)
  expect(others).toEqual({ oursWithoutTheirs: [], theirsWithoutOurs: [] })
  expect(amountsDiffer).toMatchObject([
    {
      ours: { xId: capture.xId, amount: 1000, currency: 'USD' },
      theirs: { gross: 1000, currency: 'EUR', paid: dollars(1087) },
    },
  ])
  expect(await findings()).toEqual(['settlement-amounts'])
  await gateway.gateway.notices.measureDifferences()
  expect(await (await fetch(`${gateway.url}/metrics`)).text()).toContain(
    'tollgate_reconciliation_differences{list="amounts_differ"} 1',
  )
})

test('the command and the console show both amounts in the currency of the payment', async () => {
  const sale = await openSale()
  const { xId } = await sale.act('captures', 1000)
  await importLines(sale, [lineOf({ reference: xId, paid: dollars(1087) })])
  const commands = commandsHere(gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  })
  const range = ['--account', sale.accountId, '--from', day(-1), '--to', day(1)]
  const { stdout } = await commands.run('reconcile', ...range)
  const { amountsDiffer } = await commands.json('reconcile', ...range)
  commands.remove()
  expect(stdout).toMatch(/amounts differ: 1\n.*ours 1000 USD +theirs 1087 USD \(settled as 920 EUR\)/)
  expect(amountsDiffer).toMatchObject([
    { ours: { amount: 1000 }, theirs: { gross: 920, paid: dollars(1087) } },
  ])
  const owner = await signUp(gateway, { role: 'owner' })
  const page = await (await owner.get(`/console/m/${sale.shop.merchantId}/reconciliation`)).text()
  const differing = page.slice(page.indexOf('Amounts differ'))
  expect([...differing.matchAll(/class="money">([^<]+)/g)].map(([, amount]) => amount)).toEqual([
    '$10.00',
    '$10.87',
  ])
})

test.each([
  ['the line does not say what was paid', {}],
  ['the customer paid in a third currency', { paid: { value: 15_000, currency: 'JPY' } }],
])('an operation is settled, and its amount not compared, where %s', async (_, change) => {
  const sale = await openSale()
  const capture = await sale.act('captures', 1000)
  await importLines(sale, [lineOf({ reference: capture.xId, ...change })])
  await expectAgreement(sale)
})

test('several lines are added up, and not compared if one of them lacks the customer’s amount', async () => {
  const sale = await openSale()
  const { xId } = await sale.act('captures', 1000)
  const first = lineOf({ reference: xId, gross: 552, net: 532, paid: dollars(600) })
  const second = { reference: xId, gross: 368, fee: 0, net: 368, providerReference: 'R2' }
  await importLines(sale, [first])
  expect((await reconcile(sale)).amountsDiffer).toMatchObject([{ theirs: { paid: dollars(600) } }])
  await importLines(sale, [lineOf({ ...second, paid: dollars(400) })])
  await expectAgreement(sale)
  await queryRows(gateway.databaseUrl, `DELETE FROM settlement_line WHERE provider_reference = 'R2'`)
  await importLines(sale, [lineOf(second)])
  await expectAgreement(sale)
})

test('lines of a charge with several captures are not compared: each may name the whole charge', async () => {
  const sale = await openSale()
  const { xId } = await sale.act('captures', 300)
  await sale.act('captures', 700)
  await queryRows(
    gateway.databaseUrl,
    `UPDATE operation SET provider = jsonb_set(provider::jsonb, '{transactionId}', '"ch_1"')
      WHERE type = 'CAPTURE' AND pay_id = $1`,
    [sale.payId],
  )
  const shared = { reference: xId, transactionId: 'ch_1', paid: dollars(1000) }
  await importLines(sale, [
    lineOf({ ...shared, gross: 276, net: 256 }),
    lineOf({ ...shared, gross: 644, net: 624, providerReference: 'R2' }),
  ])
  await expectAgreement(sale)
})

test('a settlement in the currency of the payment is compared by its gross amount', async () => {
  const sale = await openSale()
  const { xId } = await sale.act('captures', 1000)
  await importLines(sale, [lineOf({ reference: xId, gross: 999, net: 979, currency: 'USD' })])
  expect((await reconcile(sale)).amountsDiffer).toMatchObject([{ theirs: { gross: 999, currency: 'USD' } }])
  expect(await findings()).toEqual(['settlement-amounts'])
})

test.each([
  ['out and back in dollars', dollars(-300), dollars(300), []],
  ['out and back without a word about dollars', undefined, undefined, []],
  ['out and only partly back', dollars(-300), dollars(200), ['settlement-is-ours']],
])('the lines of a refund that failed after its booking: %s', async (_, out, back, expected) => {
  const sale = await openSale()
  const capture = await sale.act('captures', 1000)
  const { xId } = await sale.act('refunds', 300)
  const refund = { type: 'REFUND', reference: xId, fee: 0 } as const
  await importLines(sale, [
    lineOf({ reference: capture.xId, paid: dollars(1000) }),
    lineOf({ ...refund, gross: -281, net: -281, providerReference: 'R2', paid: out }),
  ])
  await queryRows(
    gateway.databaseUrl,
    `WITH failed AS (UPDATE operation SET state = 'FAILED' WHERE x_id = $1)
      UPDATE payment SET refunded = 0 WHERE pay_id = $2`,
    [xId, sale.payId],
  )
  expect((await reconcile(sale)).theirsWithoutOurs).toMatchObject([{ providerReference: 'R2' }])
  expect(await findings()).toContain('settlement-is-ours')
  await importLines(sale, [lineOf({ ...refund, gross: 279, net: 279, providerReference: 'R3', paid: back })])
  const { theirsWithoutOurs } = await reconcile(sale)
  expect(theirsWithoutOurs.map(one => one.providerReference)).toEqual(
    expected.length === 0 ? [] : ['R2', 'R3'],
  )
  expect((await findings()).filter(name => name.startsWith('settlement'))).toEqual(expected)
})

test('a line that takes back a part of a failed capture does not make it agree', async () => {
  const sale = await openSale()
  const { xId } = await sale.act('captures', 1000)
  await importLines(sale, [
    lineOf({ reference: xId, paid: dollars(1000) }),
    lineOf({ reference: xId, gross: -276, fee: 0, net: -276, providerReference: 'R2' }),
  ])
  await queryRows(gateway.databaseUrl, `UPDATE operation SET state = 'FAILED' WHERE x_id = $1`, [xId])
  expect((await reconcile(sale)).theirsWithoutOurs).toMatchObject([
    { providerReference: 'R1', xId },
    { providerReference: 'R2', xId },
  ])
  expect(await findings()).toContain('settlement-is-ours')
  await queryRows(gateway.databaseUrl, `UPDATE operation SET state = 'OK' WHERE x_id = $1`, [xId])
})

test.each([
  ['the disputed amount', dollars(-1000), []],
  ['another amount', dollars(-900), ['settlement-amounts']],
  ['nothing', undefined, []],
])('a chargeback whose line says %s in the currency of the dispute', async (_, paid, expected) => {
  const sale = await openSale()
  const { xId } = await sale.act('captures', 1000)
  await queryRows(
    gateway.databaseUrl,
    `WITH disputed AS (UPDATE payment SET disputed = 1000 WHERE pay_id = $2)
      INSERT INTO dispute (merchant_id, dispute_id, pay_id, x_id, provider_dispute_id, amount, currency, stage, status,
        reason_code, reason_group, events, created_at, updated_at)
      VALUES ($1, 'dsp_' || repeat('a', 32), $2, $3, 'd', 1000, 'USD', 'CHARGEBACK', 'OPEN', '1', 'FRAUD', '[]', now(), now())`,
    [sale.shop.merchantId, sale.payId, xId],
  )
  await importLines(sale, [
    lineOf({ reference: xId, paid: dollars(1000) }),
    lineOf({
      type: 'CHARGEBACK',
      reference: xId,
      gross: -925,
      fee: 0,
      net: -925,
      providerReference: 'C1',
      paid,
    }),
  ])
  const { amountsDiffer, ...others } = await reconcile(sale)
  expect(others).toEqual({ oursWithoutTheirs: [], theirsWithoutOurs: [] })
  expect(amountsDiffer).toHaveLength(expected.length)
  expect((await findings()).filter(name => name.startsWith('settlement'))).toEqual(expected)
  await queryRows(gateway.databaseUrl, 'DELETE FROM dispute')
})

test.each([
  ['holds a fraction', { value: 1.5, currency: 'USD' }],
  ['has no currency', { value: 1, currency: '' }],
])('a file whose paid amount %s is refused as a whole', async (_, paid) => {
  const sale = await openSale()
  await expect(importLines(sale, [lineOf({ paid })])).rejects.toThrow('line 1 of the file')
  expect((await reconcile(sale)).theirsWithoutOurs).toEqual([])
})

test('GET /settlements shows the line as before, in the currency of settlement', async () => {
  const sale = await openSale()
  const { xId } = await sale.act('captures', 1000)
  await importLines(sale, [lineOf({ reference: xId, paid: dollars(1000) })])
  const { status, body } = await sale.shop.call('GET', '/settlements')
  expect([status, body.data]).toEqual([
    200,
    [
      {
        settlementId: 'S1',
        account: sale.accountId,
        date: day(0),
        type: 'CAPTURE',
        payId: sale.payId,
        xId,
        gross: 920,
        fee: 20,
        net: 900,
        currency: 'EUR',
        providerReference: 'R1',
      },
    ],
  ])
})
