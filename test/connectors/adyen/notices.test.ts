/** Adyen's notices at a real gateway: acknowledgement, forged items, reports, and the check of the account. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AdyenGateway, startAdyenGateway } from '#test/support/adyen/gateway.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let shop: AdyenGateway
beforeAll(async () => {
  shop = await startAdyenGateway({ reportKey: 'adyen-report-key' })
})
afterAll(() => shop.stop())

const item = (pspReference: string) => ({
  amount: { value: 1000, currency: 'EUR' },
  eventCode: 'AUTHORISATION',
  eventDate: '2026-03-01T12:00:00+01:00',
  merchantAccountCode: shop.double.checkout.merchantAccount,
  merchantReference: 'nobody knows this',
  pspReference,
  reason: '',
  success: 'true',
})

test('200 [accepted] for several items, and again when they are redelivered', async () => {
  const items = [item('N1'), item('N2')]
  expect(await shop.double.notify(items)).toEqual({ status: 200, text: '[accepted]' })
  expect(await shop.double.notify(items)).toEqual({ status: 200, text: '[accepted]' })
})

test('401 when one item of several is forged, and nothing is stored', async () => {
  const message = shop.double.sign([item('N3'), item('N4')])
  message.notificationItems[1].NotificationRequestItem.amount.value = 1
  expect(await shop.double.post(message)).toMatchObject({ status: 401 })
  const listed = await shop.commands.json('notices', 'list')
  expect(JSON.stringify(listed)).not.toContain('N3')
})

test('a body that is larger or has more parts than any message of Adyen is refused before it is parsed', async () => {
  const message = shop.double.sign([item('N5')])
  const { additionalData } = message.notificationItems[0].NotificationRequestItem
  const named = Array.from({ length: 3_100 }, (_, index) => [`k${index}`, ''])
  Object.assign(additionalData, Object.fromEntries(named))
  expect(await shop.double.post(message)).toMatchObject({ status: 401 })
  const long = shop.double.sign([item('N6')])
  long.notificationItems[0].NotificationRequestItem.additionalData.note = 'x'.repeat(65_536)
  expect(await shop.double.post(long)).toMatchObject({ status: 413 })
  expect(JSON.stringify(await shop.commands.json('notices', 'list'))).not.toMatch(/N5|N6/)
})

test('the check of the account says that key and merchant account are right', async () => {
  const { code, stdout } = await shop.commands.run('provider', 'check', shop.accountId)
  expect(stdout).toContain('merchantAccount')
  expect(code).toBe(0)
})

test('the check with payments goes through decline, capture, refund and reversal', async () => {
  const { code, stdout } = await shop.commands.run('provider', 'check', shop.accountId, '--payments')
  for (const name of ['decline', 'authorise', 'capture', 'refund', 'reversal']) expect(stdout).toContain(name)
  expect(code).toBe(0)
})

test('the account shows no secret', async () => {
  const shown = await shop.commands.json('provider', 'show', shop.accountId)
  expect(shown).toMatchObject({ connector: 'adyen', settings: { rawCards: 'true' } })
  const text = JSON.stringify(shown)
  expect(text).not.toContain(shop.double.apiKey)
  expect(text).not.toContain(shop.double.hmacKey)
})

describe('a report that is ready', () => {
  const name = 'settlement_detail_report_batch_7.csv'
  const addressOf = (file: string) =>
    `${shop.double.origin}/reports/download/MerchantAccount/ExampleShopECOM/${file}`

  /** A captured payment, and a report in Adyen's format with its settlement and payout. */
  async function settled(): Promise<{ payId: string; report: string }> {
    const { body } = await shop.gateway.call('POST', '/payments', cardPayment())
    expect(body.status).toBe('OK')
    const [psp] = [...shop.double.ledger.payments.values()].slice(-1)
    const head =
      'Company Account,Merchant Account,Psp Reference,Merchant Reference,Creation Date,Type,Modification Reference,' +
      'Net Currency,Net Debit (NC),Net Credit (NC),Commission (NC),Batch Number'
    const account = 'Example,ExampleShopECOM'
    return {
      payId: body.payId,
      report: [
        head,
        `${account},${psp?.pspReference},${psp?.reference},2026-03-01 12:00:00,Settled,${psp?.pspReference},EUR,,9.80,0.20,7`,
        `${account},,,2026-03-02 00:00:00,MerchantPayout,,EUR,9.80,,,7`,
        '',
      ].join('\r\n'),
    }
  }

  /** Announces a report and makes all retries due. */
  async function announce(file: string, url: string): Promise<{ state: string; detail: string | null }[]> {
    shop.double.ledger.report(file, url)
    await shop.double.notify()
    await queryRows(
      shop.gateway.databaseUrl,
      'UPDATE notice_item SET due_at = now() WHERE due_at IS NOT NULL',
    )
    await shop.apply()
    return queryRows(
      shop.gateway.databaseUrl,
      `SELECT state, detail FROM notice_item WHERE item_key LIKE '${file}:%'`,
    )
  }

  test('is fetched with the report user’s key, and its lines find their payment', async () => {
    const { payId, report } = await settled()
    shop.double.reports.set(name, report)
    expect(await announce(name, addressOf(name))).toMatchObject([{ state: 'APPLIED' }])
    const { body } = await shop.gateway.call('GET', '/settlements')
    expect(body.data).toMatchObject([
      { type: 'PAYOUT', net: -980, settlementId: '7' },
      { type: 'CAPTURE', payId, gross: 1000, fee: 20, net: 980, currency: 'EUR', account: shop.accountId },
    ])
    const days = ['--from', '2026-01-01', '--to', '2100-01-01']
    const found = await shop.commands.json('reconcile', '--account', shop.accountId, ...days)
    expect(JSON.stringify(found.theirsWithoutOurs)).not.toContain('CAPTURE')
    expect(JSON.stringify(found.oursWithoutTheirs)).not.toContain(payId)
    // Announced again under another batch number, the report is fetched and adds nothing.
    shop.double.reports.set(`settlement_detail_report_again.csv`, report)
    const again = 'settlement_detail_report_again.csv'
    expect(await announce(again, addressOf(again))).toMatchObject([{ state: 'REPEATED' }])
  })

  test('at another address than Adyen’s is not fetched, and stays in the inbox', async () => {
    const file = 'settlement_detail_report_batch_8.csv'
    shop.double.reports.set(file, 'x')
    const elsewhere = addressOf(file).replace('127.0.0.1', 'localhost')
    const before = shop.double.requests.length
    expect(await announce(file, elsewhere)).toMatchObject([{ state: 'UNMATCHED' }])
    expect(shop.double.requests).toHaveLength(before)
  })

  test('that is no settlement file, or does not exist yet, changes nothing', async () => {
    expect(await announce('received_payments_report.csv', addressOf('r.csv'))).toMatchObject([
      { state: 'IGNORED' },
    ])
    const late = 'settlement_detail_report_batch_9.csv'
    expect(await announce(late, addressOf(late))).toMatchObject([
      { state: 'PENDING', detail: `Adyen answered HTTP 404 instead of ${late}` },
    ])
    shop.double.reports.set(late, 'Not,A,Report\r\n')
    const [bad] = await announce(late, addressOf(late))
    expect(bad?.detail).toContain('is not a settlement details report of Adyen')
    shop.double.reports.set(late, (await settled()).report.replaceAll(',7\r\n', ',9\r\n'))
    expect(await announce(late, addressOf(late))).toMatchObject([{ state: 'APPLIED' }])
  })

  test('is requested again while the key is refused, and the inbox shows the reason', async () => {
    const file = 'settlement_detail_report_batch_10.csv'
    const key = shop.commands.file('old-key', 'revoked')
    await shop.commands.run('provider', 'set', shop.accountId, '--secret', `reportApiKey=@${key}`)
    expect(await announce(file, addressOf(file))).toMatchObject([
      { state: 'PENDING', detail: `Adyen refuses the report key for ${file} (HTTP 401)` },
    ])
  })
})
