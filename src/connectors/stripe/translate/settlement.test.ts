/** Settlement lines from both of Stripe's formats. */
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
    isNamedOnce: true,
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
    isNamedOnce: true,
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

test('the CSV report of the dashboard is read', async () => {
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

test('a description with line breaks and quotation marks is one cell', async () => {
  const text = [
    `${header},description`,
    'txn_1,2026-09-20 09:46:40,2026-09-21 00:00:00,eur,10.00,0.44,9.56,charge,ch_1,,,"Two shirts,',
    '',
    'a ""red"" and a blue one"',
    `txn_2,2026-09-20 09:46:40,2026-09-21 00:00:00,eur,-4.00,0.00,-4.00,refund,re_1,,${refundReference},`,
  ].join('\n')
  expect(await read(text)).toEqual(lines)
})

test('the two lines of a failed refund name the same refund and add up to zero', async () => {
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

const failed = { ...charge, id: 'txn_5', amount: -1000, fee: 0, net: -1000 }

test.each([
  [
    'a list of the API that shows the refund',
    JSON.stringify([
      charge,
      { ...failed, reporting_category: 'charge_failure', source: { id: 'pyr_1', charge: 'ch_1' } },
    ]),
  ],
  [
    'a list of the API that shows the charge',
    JSON.stringify([charge, { ...failed, reporting_category: 'charge_failure', source: { id: 'ch_1' } }]),
  ],
  [
    'the report of the dashboard',
    [
      `${header},charge_id`,
      'txn_1,2026-09-20 09:46:40,2026-09-21 00:00:00,eur,10.00,0.44,9.56,charge,ch_1,,,ch_1',
      'txn_5,2026-09-20 09:46:40,2026-09-21 00:00:00,eur,-10.00,0,-10.00,charge_failure,pyr_1,,,ch_1',
    ].join('\n'),
  ],
])('a debit that failed after Stripe had booked it comes to nothing, as in %s', async (_, text) => {
  const both = await read(text)
  expect(both.map(({ type, transactionId, gross }) => [type, transactionId, gross])).toEqual([
    ['CAPTURE', 'ch_1', 1000],
    ['CAPTURE', 'ch_1', -1000],
  ])
})

const converted = { ...charge, exchange_rate: 0.92 }
const inDollars = (object: string, amount: number) => ({
  id: 'x_1',
  object,
  amount,
  currency: 'usd',
  metadata: {},
})
const dollars = (value: number) => ({ value, currency: 'USD' })

test.each<[string, object, SettlementLine['paid']]>([
  ['a charge', { ...converted, source: inDollars('charge', 1087) }, dollars(1087)],
  ['a refund', { ...refund, source: inDollars('refund', 435) }, dollars(-435)],
  [
    'a refund that failed',
    {
      ...refund,
      amount: 395,
      net: 395,
      reporting_category: 'refund_failure',
      source: inDollars('refund', 435),
    },
    dollars(435),
  ],
  [
    'the uncaptured rest',
    { ...refund, reporting_category: 'partial_capture_reversal', source: inDollars('refund', 435) },
    dollars(-435),
  ],
  [
    'a charge in yen, which have no decimals',
    { ...converted, source: { ...inDollars('charge', 1500), currency: 'jpy' } },
    { value: 1500, currency: 'JPY' },
  ],
  ['a charge that is not expanded', { ...converted, source: 'ch_1' }, undefined],
  [
    'a charge in the currency of settlement',
    { ...charge, source: { ...inDollars('charge', 1000), currency: 'eur' } },
    undefined,
  ],
  [
    'a charge in a currency that we do not know',
    { ...converted, source: { ...inDollars('charge', 1), currency: 'zzz' } },
    undefined,
  ],
  // Stripe does not state the customer's currency for disputes.
  [
    'a dispute',
    { ...refund, type: 'adjustment', reporting_category: 'dispute', source: inDollars('dispute', 435) },
    undefined,
  ],
  [
    'a dispute that names its charge',
    { ...refund, reporting_category: 'dispute', source: inDollars('charge', 1087) },
    undefined,
  ],
  ['a fee', { ...refund, reporting_category: 'fee', source: inDollars('charge', 1087) }, undefined],
  ['a payout', { ...refund, reporting_category: 'payout', source: inDollars('payout', 435) }, undefined],
])('what the customer paid is read from the JSON of %s', async (_, transaction, paid) => {
  const [line] = await read(JSON.stringify([transaction]))
  expect(line?.paid).toEqual(paid)
  expect(line?.currency).toBe('EUR')
})

test.each<[string, string, string, SettlementLine['paid']]>([
  ['a charge', '10.00,0.44,9.56,charge,ch_1', '10.87,usd', dollars(1087)],
  ['a refund', '-4.00,0,-4.00,refund,re_1', '-4.35,usd', dollars(-435)],
  ['a charge in yen', '10.00,0.44,9.56,charge,ch_1', '1500,jpy', { value: 1500, currency: 'JPY' }],
  ['a charge in the currency of settlement', '10.00,0.44,9.56,charge,ch_1', '10.00,eur', undefined],
  ['a charge without it', '10.00,0.44,9.56,charge,ch_1', ',', undefined],
  ['a charge with its currency alone', '10.00,0.44,9.56,charge,ch_1', ',usd', undefined],
  ['a charge in a currency that we do not know', '10.00,0.44,9.56,charge,ch_1', '1,zzz', undefined],
  // Stripe documents the columns for charges and refunds only.
  ['the uncaptured rest', '-4.00,0,-4.00,partial_capture_reversal,re_1', '10.87,usd', undefined],
  ['a refund that failed', '4.00,0,4.00,refund_failure,re_1', '-4.35,usd', undefined],
  ['a dispute', '-4.00,15.00,-19.00,dispute,dp_1', '-4.35,usd', undefined],
])('what the customer paid is read from the report’s line of %s', async (_, cells, facing, paid) => {
  const [line] = await read(
    `${header},customer_facing_amount,customer_facing_currency\ntxn_1,2026-09-20 09:46:40,2026-09-21,eur,${cells},,,${facing}\n`,
  )
  expect(line?.paid).toEqual(paid)
  expect(line?.currency).toBe('EUR')
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
  [
    'a paid amount with too many decimals',
    `${header},customer_facing_amount,customer_facing_currency\ntxn_1,2026-09-20,,eur,1,0,1,charge,ch_1,,,1.005,usd`,
    /has the amount 1.005, which cannot be exact in USD/,
  ],
  [
    'a file that is cut off in its last line',
    `${header}\ntxn_1,2026-09-20,,eur,10.00,0.44,9`,
    /ends after 7 of 11 columns; the file may be cut off/,
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
  ['payment_failure_refund', 'pyr_1', 'CAPTURE'],
  ['payment_refund', undefined, 'REFUND'],
  ['partial_capture_reversal', 're_1', 'CAPTURE'],
  ['adjustment', 'dp_1', 'CHARGEBACK'],
  ['adjustment', 'txn_9', 'CORRECTION'],
  ['dispute_reversal', undefined, 'CHARGEBACK'],
  ['stripe_fee', undefined, 'FEE'],
  ['reserve_hold', undefined, 'RESERVE'],
  ['payout_failure', undefined, 'PAYOUT'],
  ['refund_failure', 're_1', 'REFUND'],
  ['an unknown type', undefined, 'CORRECTION'],
])('%s of %s is %s', (type, source, expected) => {
  expect(lineType(type, source)).toBe(expected)
})
