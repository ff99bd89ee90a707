import { expect, test } from 'vitest'
import { readSettlementReport } from '#connectors/adyen/translate/settlement.ts'
import type { SettlementLine } from '#connectors/contract.ts'
import { xIdOf } from '#lifecycle/example-payment.test-support.ts'

const headings =
  'Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Type,' +
  'Modification Reference,Gross Currency,Gross Debit (GC),Gross Credit (GC),Exchange Rate,Net Currency,' +
  'Net Debit (NC),Net Credit (NC),Commission (NC),Markup (NC),Scheme Fees (NC),Interchange (NC),' +
  'Payment Method Variant,Modification Merchant Reference,Batch Number'

const row = (type: string, cells: string, reference = xIdOf(1), modification = xIdOf(2)): string =>
  `Shop,ShopECOM,PSP1,${reference},visa,2026-06-03 11:26:49,CET,${type},MOD1,${cells},visaclassic,${modification},4`

async function* piecesOf(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(lines: readonly string[], size = 1000, end = '\n'): Promise<SettlementLine[]> {
  const read: SettlementLine[] = []
  for await (const line of readSettlementReport(piecesOf(`${lines.join(end)}${end}`, size))) read.push(line)
  return read
}

test.each<[string, string, Partial<SettlementLine>]>([
  ['Settled', 'GBP,,5.00,1,GBP,,4.88,,0.04,0.01,0.07', { type: 'CAPTURE', gross: 500, fee: 12, net: 488 }],
  ['Refunded', 'GBP,5.00,,1,GBP,5.10,,0.10,,,', { type: 'REFUND', gross: -500, fee: 10, net: -510 }],
  ['SettledBulk', 'GBP,,5.00,1,GBP,,4.88,,0.12,,', { type: 'CAPTURE', gross: 500, fee: 12, net: 488 }],
  ['SettledInstallment', 'GBP,,2.50,1,GBP,,2.50,,,,', { type: 'CAPTURE', gross: 250, fee: 0, net: 250 }],
  ['RefundedBulk', 'GBP,5.00,,1,GBP,5.10,,0.10,,,', { type: 'REFUND', gross: -500, fee: 10, net: -510 }],
  [
    'SettledExternallyWithInfo',
    'GBP,,5.00,1,GBP,,5.00,,,,',
    { type: 'CAPTURE', gross: 500, fee: 0, net: 500 },
  ],
  ['ChargebackReversedExternallyWithInfo', 'GBP,,5.00,1,GBP,,5.00,,,,', { type: 'CHARGEBACK', gross: 500 }],
  [
    'Chargeback',
    'EUR,349.99,,1,EUR,357.49,,7.5,,,',
    { type: 'CHARGEBACK', gross: -34_999, fee: 750, net: -35_749 },
  ],
  ['ChargebackReversed', 'EUR,,5.00,1,EUR,,5.00,,,,', { type: 'CHARGEBACK', gross: 500, fee: 0, net: 500 }],
  ['RefundedReversed', 'EUR,,5.00,1,EUR,,5.00,,,,', { type: 'REFUND', gross: 500, fee: 0, net: 500 }],
  ['Fee', ',,,,EUR,12.30,,,,,', { type: 'FEE', gross: 0, fee: 1230, net: -1230 }],
  ['MerchantPayout', ',,,,EUR,100.00,,,,,', { type: 'PAYOUT', gross: -10_000, fee: 0, net: -10_000 }],
  ['DepositCorrection', ',,,,EUR,50,,,,,', { type: 'RESERVE', net: -5000 }],
  ['ManualCorrected', ',,,,EUR,,0.01,,,,', { type: 'CORRECTION', net: 1 }],
  ['constructor', ',,,,EUR,,0.01,,,,', { type: 'CORRECTION', net: 1 }],
  ['SomethingNew', ',,,,JPY,,500.00,,,,', { type: 'CORRECTION', net: 500, currency: 'JPY' }],
])('a line “%s” with %s is read', async (type, cells, expected) => {
  const [line] = await read([headings, row(type, cells)])
  expect(line).toMatchObject({
    settlementId: '4',
    date: '2026-06-03',
    reference: xIdOf(2),
    transactionId: 'MOD1',
    ...expected,
  })
  expect((line?.gross ?? 0) - (line?.fee ?? 0)).toBe(line?.net)
})

const dollars = (value: number) => ({ value, currency: 'USD' })

test.each<[string, string, SettlementLine['paid'], number]>([
  ['Settled', 'USD,,10.00,0.92,EUR,,9.00,,0.15,0.02,0.03', dollars(1000), 920],
  // Money moves in the same direction in both currencies, whichever column holds the gross amount.
  ['Settled', 'USD,10.00,,0.92,EUR,,9.00,,0.15,0.02,0.03', dollars(1000), 920],
  ['Refunded', 'USD,3.00,,0.93,EUR,2.89,,0.10,,,', dollars(-300), -279],
  ['RefundedReversed', 'USD,,3.00,0.93,EUR,,2.79,,,,', dollars(300), 279],
  ['Chargeback', 'JPY,1500,,0.006,EUR,16.5,,7.5,,,', { value: -1500, currency: 'JPY' }, -900],
  ['Settled', 'JPY,,1.00,0.006,EUR,,0.00,,,,', { value: 1, currency: 'JPY' }, 0],
  // The payment is in the settlement currency, so there is no second amount.
  ['Settled', 'EUR,,5.00,1,EUR,,4.88,,0.04,0.01,0.07', undefined, 500],
  ['Settled', ',,,,EUR,,4.88,,,,', undefined, 488],
  ['Settled', 'USD,,,0.92,EUR,,9.00,,,,', undefined, 900],
  // Our payments have no unknown currencies.
  ['Settled', 'ZZZ,,5.00,1,EUR,,4.88,,,,', undefined, 488],
  ['MerchantPayout', 'USD,100.00,,0.92,EUR,92.00,,,,,', undefined, -9200],
])('what the customer paid is read from a line “%s” with %s', async (type, cells, paid, gross) => {
  const [line] = await read([headings, row(type, cells)])
  expect([line?.paid, line?.gross, line?.currency]).toEqual([paid, gross, 'EUR'])
})

test('a report without the columns of the gross amount is read', async () => {
  const [line] = await read([short, 'PSP1,,Settled,EUR,,5.00,2026-06-03'])
  expect([line?.gross, line?.paid]).toEqual([500, undefined])
})

test('an automatic capture is identified by its authorisation', async () => {
  const [line] = await read([headings, row('Settled', 'EUR,,5.00,1,EUR,,4.88,,,,', xIdOf(1), '' as never)])
  expect(line?.reference).toBe(xIdOf(1))
})

const short =
  'Psp Reference,Merchant Reference,Type,Net Currency,Net Debit (NC),Net Credit (NC),Creation Date'

test('a line without a reference has the same name in the report of its batch and in one of many batches', async () => {
  const inBatch = (batch: number, type: string) => `,,${type},EUR,1.00,,2026-06-03,${batch}`
  const wholeBatch = (batch: number) => [inBatch(batch, 'Fee'), inBatch(batch, 'MerchantPayout')]
  const [third, fourth] = [wholeBatch(3), wholeBatch(4)]
  const namesIn = async (lines: readonly string[]) =>
    (await read([`${short},Batch Number`, ...lines])).map(({ providerReference }) => providerReference)
  expect(await namesIn([...third, ...fourth])).toEqual([
    ...(await namesIn(third)),
    ...(await namesIn(fourth)),
  ])
  // The names that earlier releases gave.
  expect(await namesIn(fourth)).toEqual(['4-Fee-2', '4-MerchantPayout-3'])
})

test('without batch numbers a chargeback and its reversal on another day are two lines', async () => {
  const [taken, given, payout] = await read([
    short,
    `PSP1,,Chargeback,EUR,5.00,,2026-06-03`,
    `PSP1,,ChargebackReversed,EUR,,5.00,2026-07-03`,
    `,,MerchantPayout,EUR,5.00,,2026-07-03`,
  ])
  expect([taken?.settlementId, given?.settlementId]).toEqual(['2026-06-03', '2026-07-03'])
  expect(payout?.providerReference).toBe('2026-07-03-MerchantPayout-3')
})

test('a cell with a line break belongs to its line', async () => {
  const plain = row('Settled', 'GBP,,5.00,1,GBP,,4.88,,0.04,0.01,0.07')
  const broken = plain.replace('ShopECOM', '"Shop\nECOM"')
  expect(await read([headings, broken, plain])).toEqual(await read([headings, plain, plain]))
})

test('chunk boundaries, line endings and empty lines do not matter', async () => {
  const lines = [`\uFEFF${headings}`, row('Settled', 'GBP,,5.00,1,GBP,,4.88,,0.04,0.01,0.07'), '']
  const whole = await read(lines)
  expect(whole).toHaveLength(1)
  for (const size of [1, 7, 64]) expect(await read(lines, size)).toEqual(whole)
  expect(await read(lines, 64, '\r\n')).toEqual(whole)
})

test.each([
  ['an empty file', [], /is empty/],
  ['another report', ['Account,Type', 'a,b'], /no column Psp Reference, Merchant Reference/],
  ['an amount of letters', [headings, row('Settled', 'EUR,,5,1,EUR,,abc,,,,')], /line 2, Net Credit/],
  ['too many decimals', [headings, row('Settled', 'EUR,,5,1,EUR,,1.005,,,,')], /more decimals than EUR/],
  [
    'a paid amount with too many decimals',
    [headings, row('Settled', 'USD,,5.005,1,EUR,,4,,,,')],
    /line 2, Gross Credit \(GC\): 5.005 has more decimals than USD/,
  ],
  [
    'a file that is cut off in its last line',
    [headings, row('Settled', 'EUR,,5.00,1,EUR,,4.88,,0.04,0.01,0.07').slice(0, -42)],
    /line 2 ends after 2\d of 23 columns; the file may be cut off/,
  ],
  ['an open quotation mark', [headings, '"Shop'], /quotation mark/],
])('%s is refused in a sentence', async (_, lines, sentence) => {
  await expect(read(lines)).rejects.toThrow(sentence)
})
