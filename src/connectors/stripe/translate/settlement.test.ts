/** Settlement lines from both formats that Stripe offers. */
import { expect, test } from 'vitest'
import type { SettlementLine } from '#connectors/contract.ts'
import { xId } from '#connectors/stripe/examples.test-support.ts'
import { lineType, readSettlement } from '#connectors/stripe/translate/settlement.ts'

async function* bytesOf(text: string, size = 7): AsyncIterable<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function read(text: string): Promise<readonly SettlementLine[]> {
  const lines: SettlementLine[] = []
  for await (const line of readSettlement(bytesOf(text))) lines.push(line)
  return lines
}

const refundReference = xId('f1')
const charge = {
  id: 'txn_1',
  object: 'balance_transaction',
  amount: 1000,
  fee: 44,
  net: 956,
  currency: 'eur',
  type: 'charge',
  reporting_category: 'charge',
  created: 1_789_900_000,
  available_on: 1_790_000_000,
  source: 'ch_1',
}
const refund = {
  ...charge,
  id: 'txn_2',
  amount: -400,
  fee: 0,
  net: -400,
  reporting_category: 'refund',
  source: { id: 're_1', metadata: { tollgate: refundReference } },
}

const lines = [
  {
    settlementId: '2026-09-21',
    date: '2026-09-21',
    type: 'CAPTURE',
    transactionId: 'ch_1',
    gross: 1000,
    fee: 44,
    net: 956,
    currency: 'EUR',
    providerReference: 'txn_1',
  },
  {
    settlementId: '2026-09-21',
    date: '2026-09-21',
    type: 'REFUND',
    reference: refundReference,
    transactionId: 're_1',
    gross: -400,
    fee: 0,
    net: -400,
    currency: 'EUR',
    providerReference: 'txn_2',
  },
]

test.each([
  ['a list of the API', JSON.stringify({ object: 'list', data: [charge, refund] }, null, 2)],
  ['an array', JSON.stringify([charge, refund])],
  ['one transaction a line', `${JSON.stringify(charge)}\n${JSON.stringify(refund)}\n`],
])('balance transactions are read from %s', async (_, text) => {
  expect(await read(text)).toEqual(lines)
})

const header =
  'balance_transaction_id,created_utc,available_on_utc,currency,gross,fee,net,reporting_category,source_id,automatic_payout_id,refund_metadata[tollgate]'

test('the report that the dashboard exports is read', async () => {
  const text = [
    `\uFEFF${header}`,
    'txn_1,2026-09-20 09:46:40,2026-09-21 00:00:00,eur,10.00,0.44,9.56,charge,ch_1,po_1,',
    `txn_2,2026-09-20 09:46:40,2026-09-21 00:00:00,eur,-4.00,0.00,-4.00,refund,re_1,po_1,${refundReference}`,
    'txn_3,2026-09-20 09:46:40,2026-09-21 00:00:00,jpy,-556,0,-556,payout,po_1,,',
    '',
  ].join('\r\n')
  const [first, second] = lines
  expect(await read(text)).toEqual([
    { ...first, settlementId: 'po_1' },
    { ...second, settlementId: 'po_1' },
    expect.objectContaining({ settlementId: 'po_1', type: 'PAYOUT', gross: -556, currency: 'JPY' }),
  ])
})

test('a description with line breaks and quotation marks is one cell of its line', async () => {
  const text = [
    `${header},description`,
    'txn_1,2026-09-20 09:46:40,2026-09-21 00:00:00,eur,10.00,0.44,9.56,charge,ch_1,,,"Two shirts,',
    '',
    'a ""red"" and a blue one"',
    `txn_2,2026-09-20 09:46:40,2026-09-21 00:00:00,eur,-4.00,0.00,-4.00,refund,re_1,,${refundReference},`,
  ].join('\n')
  expect(await read(text)).toEqual(lines)
})

test('the two lines of a refund that failed name the same refund and add up to nothing', async () => {
  const failure = { ...refund, id: 'txn_3', type: 'refund_failure', reporting_category: 'refund_failure' }
  const both = await read(JSON.stringify([refund, { ...failure, amount: 400, net: 400 }]))
  expect(both.map(({ type, transactionId, gross }) => [type, transactionId, gross])).toEqual([
    ['REFUND', 're_1', -400],
    ['REFUND', 're_1', 400],
  ])
})

const rest = {
  ...charge,
  id: 'txn_4',
  amount: -300,
  fee: -5,
  net: -295,
  type: 'refund',
  reporting_category: 'partial_capture_reversal',
  source: { id: 're_4', charge: 'ch_1', metadata: {} },
}

test.each([
  ['a list of the API', JSON.stringify({ object: 'list', data: [charge, rest] })],
  [
    'the report of the dashboard',
    [
      `${header},charge_id`,
      'txn_1,2026-09-20 09:46:40,2026-09-21 00:00:00,eur,10.00,0.44,9.56,charge,ch_1,,,ch_1',
      'txn_4,2026-09-20 09:46:40,2026-09-21 00:00:00,eur,-3.00,-0.05,-2.95,partial_capture_reversal,re_4,,,ch_1',
    ].join('\n'),
  ],
])('what was not captured is taken from its charge, as in %s', async (_, text) => {
  const both = await read(text)
  expect(both.map(({ type, transactionId, gross, fee }) => [type, transactionId, gross, fee])).toEqual([
    ['CAPTURE', 'ch_1', 1000, 44],
    ['CAPTURE', 'ch_1', -300, -5],
  ])
})

test.each([
  ['an empty file', '\n', /the file is empty/],
  [
    'a foreign file',
    'Date;Amount\n2026;1',
    /not an itemised balance report of Stripe: it has no column balance_transaction_id/,
  ],
  ['a line without a date', `${header}\ntxn_1,,,eur,1,0,1,charge,ch_1,,`, /has no id or no date/],
  [
    'an amount with too many decimals',
    `${header}\ntxn_1,2026-09-20,,eur,1.005,0,1.005,charge,ch_1,,`,
    /cannot be exact in EUR/,
  ],
  ['half a JSON file', '{"object":"list","data":[', /not a JSON object/],
  [
    'a transaction without an amount',
    '[{"id":"txn_1","currency":"eur","created":1}]',
    /txn_1 has an amount that cannot be exact/,
  ],
])('%s is refused with a reason', async (_, text, reason) => {
  await expect(read(text)).rejects.toThrow(reason)
})

test.each([
  ['charge', undefined, 'CAPTURE'],
  ['payment', undefined, 'CAPTURE'],
  ['payment_refund', undefined, 'REFUND'],
  ['partial_capture_reversal', 're_1', 'CAPTURE'],
  ['adjustment', 'dp_1', 'CHARGEBACK'],
  ['adjustment', 'txn_9', 'CORRECTION'],
  ['dispute_reversal', undefined, 'CHARGEBACK'],
  ['stripe_fee', undefined, 'FEE'],
  ['reserve_hold', undefined, 'RESERVE'],
  ['payout_failure', undefined, 'PAYOUT'],
  ['refund_failure', 're_1', 'REFUND'],
  ['a type of tomorrow', undefined, 'CORRECTION'],
])('%s of %s is %s', (type, source, expected) => {
  expect(lineType(type, source)).toBe(expected)
})
