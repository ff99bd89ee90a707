/** Adyen's chargebacks, returned debits and settlement reports, through a real gateway. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AdyenGateway, startAdyenGateway } from '#test/support/adyen/gateway.ts'
import type { LedgerPayment } from '#test/support/adyen/ledger.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'

let shop: AdyenGateway
beforeAll(async () => {
  shop = await startAdyenGateway()
})
afterAll(() => shop.stop())

/** A payment that is captured in our books and at the double. */
async function captured(
  change: AnyJson = {},
): Promise<{ payId: string; payment: LedgerPayment; body: AnyJson }> {
  const { body } = await shop.gateway.call('POST', '/payments', { ...cardPayment(), ...change })
  const payment = [...shop.double.ledger.payments.values()].find(({ reference }) => reference === body.xId)
  if (!payment) throw new Error('not in the ledger')
  if (payment.state === 'open') shop.double.ledger.authorise(payment)
  await shop.settle()
  return { payId: body.payId, payment, body }
}

const disputesOf = async (payId: string): Promise<AnyJson[]> =>
  (await shop.gateway.call('GET', `/disputes?payId=${payId}`)).body.data

describe('a chargeback', () => {
  test('opens a dispute, is reversed, and is followed by a second chargeback', async () => {
    const { payId, payment } = await captured()
    const due = { defensePeriodEndsAt: '2099-07-31T03:03:07+02:00' }
    shop.double.ledger.dispute(payment, 'NOTIFICATION_OF_CHARGEBACK', 'DISPUTE1', due)
    shop.double.ledger.dispute(payment, 'CHARGEBACK', 'DISPUTE1', due)
    await shop.settle()
    const [opened] = await disputesOf(payId)
    expect(opened).toMatchObject({
      providerDisputeId: 'DISPUTE1',
      stage: 'CHARGEBACK',
      status: 'OPEN',
      reasonCode: '10.4',
      reasonGroup: 'FRAUD',
      amount: { value: 1000, currency: 'EUR' },
    })
    expect((await shop.record(payId)).amount).toMatchObject({ disputedValue: 1000 })
    shop.double.ledger.dispute(payment, 'CHARGEBACK_REVERSED', 'DISPUTE1')
    await shop.settle()
    expect((await disputesOf(payId))[0]).toMatchObject({ status: 'WON' })
    expect((await shop.record(payId)).amount).toMatchObject({ disputedValue: 0 })
    shop.double.ledger.dispute(payment, 'SECOND_CHARGEBACK', 'DISPUTE1')
    await shop.settle()
    expect((await disputesOf(payId))[0]).toMatchObject({ stage: 'PRE_ARBITRATION', status: 'OPEN' })
    expect(await disputesOf(payId)).toHaveLength(1)
  })

  test('is under review once evidence was sent in the Customer Area, and keeps its reason', async () => {
    const { payId, payment } = await captured()
    const reason = { chargebackReasonCode: '13.3', chargebackSchemeCode: 'visa' }
    const { ledger } = shop.double
    ledger.dispute(payment, 'NOTIFICATION_OF_CHARGEBACK', 'DISPUTE4', reason)
    ledger.dispute(payment, 'INFORMATION_SUPPLIED', 'DISPUTE4', { ...reason, disputeStatus: 'Pending' })
    await shop.settle()
    const known = { stage: 'CHARGEBACK', reasonCode: '13.3', reasonGroup: 'CONSUMER' }
    expect((await disputesOf(payId))[0]).toMatchObject({ ...known, status: 'UNDER_REVIEW' })
    ledger.dispute(payment, 'CHARGEBACK_REVERSED', 'DISPUTE4', { chargebackReasonCode: undefined })
    await shop.settle()
    expect((await disputesOf(payId))[0]).toMatchObject({ ...known, status: 'WON' })
  })

  test('that follows an inquiry is under review, though evidence was sent for the inquiry too', async () => {
    const { payId, payment } = await captured()
    const inquiry = { chargebackReasonCode: undefined, rfiReasonCode: '30' }
    const { ledger } = shop.double
    ledger.dispute(payment, 'REQUEST_FOR_INFORMATION', 'DISPUTE5', inquiry)
    ledger.dispute(payment, 'INFORMATION_SUPPLIED', 'DISPUTE5', inquiry)
    ledger.dispute(payment, 'CHARGEBACK', 'DISPUTE5')
    await shop.settle()
    expect((await disputesOf(payId))[0]).toMatchObject({ stage: 'CHARGEBACK', status: 'OPEN' })
    ledger.dispute(payment, 'INFORMATION_SUPPLIED', 'DISPUTE5', { disputeStatus: 'Pending' })
    await shop.settle()
    expect((await disputesOf(payId))[0]).toMatchObject({ stage: 'CHARGEBACK', status: 'UNDER_REVIEW' })
  })

  test('is answered with evidence, which Adyen gets as a document', async () => {
    const { payId, payment } = await captured()
    shop.double.ledger.dispute(payment, 'CHARGEBACK', 'DISPUTE2', {
      defensePeriodEndsAt: '2099-07-31T03:03:07+02:00',
    })
    await shop.settle()
    const [dispute] = await disputesOf(payId)
    const { status } = await shop.gateway.call('POST', `/disputes/${dispute.disputeId}/evidence`, {
      text: 'Delivered on Monday',
    })
    expect(status).toBe(200)
    const paths = shop.double.checkout.disputes.map(({ path }) => path.split('/').at(-1))
    expect(paths).toEqual(['retrieveApplicableDefenseReasons', 'supplyDefenseDocument', 'defendDispute'])
  })

  test('that is reopened hands the same evidence to Adyen again, not as a repetition', async () => {
    const { payId, payment } = await captured()
    const due = { defensePeriodEndsAt: '2099-07-31T03:03:07+02:00' }
    const { ledger, checkout } = shop.double
    const sentBefore = checkout.disputes.length
    const [first, second] = [['CHARGEBACK'], ['CHARGEBACK_REVERSED', 'SECOND_CHARGEBACK']]
    for (const events of [first, second]) {
      for (const event of events ?? []) ledger.dispute(payment, event, 'DISPUTE6', due)
      await shop.settle()
      const [dispute] = await disputesOf(payId)
      const path = `/disputes/${dispute.disputeId}/evidence`
      expect(await shop.gateway.call('POST', path, { text: 'Delivered on Monday' })).toMatchObject({
        status: 200,
        body: { status: 'UNDER_REVIEW' },
      })
    }
    const paths = checkout.disputes.slice(sentBefore).map(({ path }) => path.split('/').at(-1))
    expect(paths.filter(path => path === 'defendDispute')).toHaveLength(2)
  })

  test('is accepted by a call to Adyen, and lost when Adyen ends it', async () => {
    const { payId, payment } = await captured()
    shop.double.ledger.dispute(payment, 'CHARGEBACK', 'DISPUTE3', {
      defensePeriodEndsAt: '2099-07-31T03:03:07+02:00',
    })
    await shop.settle()
    const [dispute] = await disputesOf(payId)
    const { status } = await shop.gateway.call('POST', `/disputes/${dispute.disputeId}/accept`, {})
    expect(status).toBe(200)
    expect(shop.double.checkout.disputes.at(-1)?.path).toContain('acceptDispute')
    shop.double.ledger.dispute(payment, 'DISPUTE_DEFENSE_PERIOD_ENDED', 'DISPUTE3', {
      disputeStatus: 'Accepted',
    })
    await shop.settle()
    expect((await disputesOf(payId))[0]).toMatchObject({ stage: 'CHARGEBACK', status: 'LOST' })
  })

  test('is answered at the merchant account that took the payment, even if the setting has changed', async () => {
    const other = await startAdyenGateway()
    try {
      const { double, commands, accountId, gateway } = other
      const { body } = await gateway.call('POST', '/payments', cardPayment())
      const [payment] = double.ledger.payments.values()
      if (payment) double.ledger.dispute(payment, 'CHARGEBACK', 'DISPUTE6')
      await other.settle()
      const [dispute] = (await gateway.call('GET', `/disputes?payId=${body.payId}`)).body.data
      await commands.run('provider', 'set', accountId, '--set', 'merchantAccount=AnotherShopECOM')
      // This process has not cached the account before the change.
      const heir = await startTestGateway({ beside: gateway })
      const { status } = await heir.call('POST', `/disputes/${dispute.disputeId}/evidence`, {
        text: 'Delivered',
      })
      await heir.stop()
      expect(status).toBe(200)
      const { merchantAccount } = double.checkout
      const asked = double.checkout.disputes.map(({ body }) => body.merchantAccountCode)
      expect(asked).toEqual([merchantAccount, merchantAccount, merchantAccount])
    } finally {
      await other.stop()
    }
  })

  test.each([
    ['accept', {}],
    ['evidence', { text: 'Delivered on Monday' }],
  ])('that is lost during its %s keeps the answer under the key of the request', async (name, body) => {
    const { payId, payment } = await captured()
    const disputeId = `LOST${name.toUpperCase()}`
    const due = { defensePeriodEndsAt: '2099-07-31T03:03:07+02:00' }
    shop.double.ledger.dispute(payment, 'CHARGEBACK', disputeId, due)
    await shop.settle()
    const [dispute] = await disputesOf(payId)
    shop.double.ledger.dispute(payment, 'DISPUTE_DEFENSE_PERIOD_ENDED', disputeId, { disputeStatus: 'Lost' })
    shop.double.beforeAnswer = () => shop.settle()
    const path = `/disputes/${dispute.disputeId}/${name}`
    const send = () => shop.gateway.call('POST', path, body, { 'idempotency-key': disputeId })
    const first = await send()
    shop.double.beforeAnswer = async () => undefined
    expect(first).toMatchObject({ status: 200, body: { status: 'LOST' } })
    const again = await send()
    expect([again.status, again.body]).toEqual([first.status, first.body])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })
})

test.each([
  ['named', 'RETURN1'],
  ['left out', 'RETURN2'],
])('a chargeback of a debit is a return, not a dispute: its method is %s', async (method, id) => {
  const account = { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' }
  const { payId, payment } = await captured({
    paymentMethods: { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit: { account } },
  })
  expect((await shop.record(payId)).status).toBe('OK')
  const events = ['NOTIFICATION_OF_CHARGEBACK', 'CHARGEBACK', 'CHARGEBACK_REVERSED', 'SECOND_CHARGEBACK']
  for (const event of events) {
    shop.double.ledger.dispute(payment, event, id, { chargebackReasonCode: 'AM04' })
    if (method === 'left out') delete shop.double.ledger.owed.at(-1)?.paymentMethod
    await shop.settle()
    expect(await disputesOf(payId)).toEqual([])
  }
  expect(await disputesOf(payId)).toEqual([])
  expect((await shop.record(payId)).amount).toMatchObject({ returnedValue: 1000, disputedValue: 0 })
})

test('a finished report is listed with its address at Adyen', async () => {
  const address =
    'https://ca-test.adyen.com/reports/download/MerchantAccount/Shop/settlement_detail_report_batch_4.csv'
  shop.double.ledger.report('settlement_detail_report_batch_4.csv', address)
  await shop.settle()
  const notices = await shop.commands.json('notices', 'list', '--json')
  expect(notices).toContainEqual(
    expect.objectContaining({
      kind: 'report settlement_detail_report_batch_4.csv',
      reference: address,
      state: 'IGNORED',
    }),
  )
})

const headings =
  'Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Type,' +
  'Modification Reference,Gross Currency,Gross Debit (GC),Gross Credit (GC),Exchange Rate,Net Currency,' +
  'Net Debit (NC),Net Credit (NC),Commission (NC),Markup (NC),Scheme Fees (NC),Interchange (NC),' +
  'Payment Method Variant,Modification Merchant Reference,Batch Number'

test('a settlement report is imported and agrees with the books', async () => {
  const { payId, payment } = await captured()
  const report = [
    headings,
    `Shop,ShopECOM,${payment.pspReference},${payment.reference},visa,2026-06-03 11:26:49,CET,Settled,MOD1,EUR,,10.00,1,` +
      'EUR,,9.80,,0.10,0.05,0.05,visaclassic,,4',
    'Shop,ShopECOM,,,,2026-06-04 11:26:49,CET,MerchantPayout,"TX4, batch 4",,,,,EUR,9.80,,,,,,,,4',
  ].join('\n')
  const path = shop.commands.file('report.csv', report)
  const { code } = await shop.commands.run('settlements', 'import', shop.accountId, path)
  expect(code).toBe(0)
  const { body } = await shop.gateway.call('GET', '/settlements')
  expect(body.data).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ type: 'CAPTURE', payId, gross: 1000, fee: 20, net: 980, currency: 'EUR' }),
      expect.objectContaining({ type: 'PAYOUT', gross: -980, net: -980 }),
    ]),
  )
})

test.each([
  ['agrees with the books by what the customer paid', '10.00', []],
  ['differs from the books by what the customer paid', '10.10', [{ value: 1010, currency: 'USD' }]],
])('a report of a payment that is settled in another currency %s', async (_, gross, differing) => {
  const { payId, payment } = await captured({ amount: { value: 1000, currency: 'USD' } })
  const { pspReference, reference } = payment
  const row = `Shop,ShopECOM,${pspReference},${reference},visa,2026-06-03 11:26:49,CET,Settled,M-${pspReference}`
  const report = `${headings}\n${row},USD,,${gross},0.92,EUR,,9.00,,0.10,0.05,0.05,visaclassic,,5\n`
  const path = shop.commands.file('foreign.csv', report)
  const imported = await shop.commands.json('settlements', 'import', shop.accountId, path)
  expect(imported).toMatchObject({ lines: 1, added: 1, unmatched: 0 })
  const days = ['--from', '2026-06-01', '--to', '2099-01-01']
  const found = await shop.commands.json('reconcile', '--account', shop.accountId, ...days)
  const missing = found.oursWithoutTheirs.filter((one: AnyJson) => one.payId === payId)
  const theirs = found.amountsDiffer.filter((one: AnyJson) => one.ours.payId === payId)
  expect([missing, theirs.map((one: AnyJson) => one.theirs.paid)]).toEqual([[], differing])
})
