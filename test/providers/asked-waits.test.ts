/** A provider that asks us to wait (429 with Retry-After) is not called before that time is over. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { stripe } from '#connectors/stripe/connector.ts'
import { type AdyenGateway, startAdyenGateway } from '#test/support/adyen/gateway.ts'
import { ledgerOf, manual } from '#test/support/adyen/payments.ts'
import { createTestClock, hourMs, minuteMs, secondMs, type TestClock } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { addProviderAccount } from '#test/support/providers/provider-account.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'
import { openStripeShop, type StripeShop } from '#test/support/stripe/account.ts'
import { StripeDouble } from '#test/support/stripe/double.ts'

const waitMs = 30 * secondMs

describe('a payment', () => {
  const clock = createTestClock()
  let shop: StripeShop
  beforeAll(async () => {
    shop = await openStripeShop({ clock, settings: { rawCards: 'true' } })
  })
  afterAll(() => shop.stop())
  beforeEach(() => clock.move(waitMs))

  const sentTo = (double: StripeDouble, reference: string) =>
    double.calls.filter(({ key }) => key === reference).length
  const pay = () => shop.gateway.call('POST', '/payments', cardPayment())

  test('422 without a retry, and the next payment is tried', async () => {
    shop.double.arm('POST', /payment_intents$/, 'told to wait')
    const { status, body } = await pay()
    expect([status, body.status, body.responseCode]).toEqual([422, 'FAILED', '21000391'])
    expect(sentTo(shop.double, body.xId)).toBe(0)
    expect((await pay()).body.status).toBe('OK')
  })

  test('200 after a retry if the provider names no time', async () => {
    shop.double.arm('POST', /payment_intents$/, 'too many requests')
    const { body } = await pay()
    expect(body.status).toBe('OK')
    expect(sentTo(shop.double, body.xId)).toBe(1)
  })

  test('200 by the next account, which takes all payments until the time is over', async () => {
    const keys = { secretKey: 'sk_test_other', webhookSecret: 'whsec_other' }
    const other = await StripeDouble.start(keys)
    const two = await openStripeShop({ clock, settings: { rawCards: 'true' } })
    try {
      const settings = { baseUrl: other.origin, rawCards: 'true' }
      const second = await addProviderAccount(two.gateway, stripe, { settings, secrets: keys })
      const paidBy = async () => {
        const { body } = await two.gateway.call('POST', '/payments', cardPayment())
        expect(body.status).toBe('OK')
        return (await two.gateway.call('GET', `/payments/getByPayId/${body.payId}`)).body.provider.account
      }
      two.double.arm('POST', /payment_intents$/, 'told to wait')
      expect([await paidBy(), await paidBy()]).toEqual([second, second])
      expect(two.double.calls).toEqual([])
      clock.move(waitMs)
      expect(await paidBy()).toBe(two.accountId)
      // If the provider names no time, there is no wait either.
      two.double.arm('POST', /payment_intents$/, 'too many requests')
      expect(await paidBy()).toBe(second)
      expect(await findBrokenRules(two.gateway.databaseUrl)).toEqual({})
    } finally {
      await two.stop()
      await other.stop()
    }
  })
})

describe('background calls', () => {
  let clock: TestClock
  let shop: AdyenGateway
  beforeAll(async () => {
    clock = createTestClock(Date.now())
    shop = await startAdyenGateway({ gateway: { clock }, reportKey: 'adyen-report-key' })
  })
  afterAll(() => shop.stop())

  const callsTo = (path: RegExp) => shop.double.requests.filter(request => path.test(request.path)).length
  const pay = (change = {}) => shop.gateway.call('POST', '/payments', cardPayment({ ...manual, ...change }))
  /** An unrelated request gets 429, so that the account has to wait. */
  async function throttle(): Promise<void> {
    shop.double.fail(/\/payments$/, 'toldToWait')
    expect((await pay()).body.responseCode).toBe('21000391')
  }

  test('an undo waits, and is made when the time is over', async () => {
    shop.double.fail(/\/payments$/, 'lostAfter')
    const { body } = await pay()
    shop.double.ledger.owed.splice(0)
    clock.move(15 * minuteMs)
    await throttle()
    const before = callsTo(/cancels$/)
    await shop.work(clock.nowMs(), true)
    expect(callsTo(/cancels$/)).toBe(before)
    clock.move(waitMs)
    await shop.work(clock.nowMs(), true)
    expect(callsTo(/cancels$/)).toBe(before + 1)
    await shop.settle()
    expect((await shop.record(body.payId)).status).toBe('FAILED')
  })

  test('a delayed capture waits and is then made', async () => {
    const { body } = await pay({ captureMethod: { type: 'DELAYED', delayed: { delayedHours: 1 } } })
    await shop.settle()
    clock.move(hourMs)
    await throttle()
    await shop.work(clock.nowMs())
    expect(await shop.record(body.payId)).toMatchObject({ amount: { capturedValue: 0 } })
    clock.move(waitMs)
    await shop.work(clock.nowMs())
    expect(await shop.record(body.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    expect(ledgerOf(shop, await shop.record(body.payId)).captured).toBe(1000)
  })

  test('the charge of a plan waits and is then made', async () => {
    const credentialOnFile = {
      type: 'RECURRING',
      initialPayment: true,
      recurring: { frequency: 'DAILY', useCase: 'FIXED', autoCharge: true },
    }
    const { body } = await pay({ credentialOnFile, captureMethod: { type: 'MANUAL' } })
    await shop.settle()
    const plan = async () =>
      (await shop.gateway.call('GET', `/payment-plans/${body.paymentPlanId}/payments?page=1`)).body.data.map(
        ({ status }: { status: string }) => status,
      )
    clock.move(24 * hourMs)
    await throttle()
    await shop.work(clock.nowMs())
    expect(await plan()).toEqual(['AUTHORIZED'])
    clock.move(waitMs)
    await shop.work(clock.nowMs())
    expect(await plan()).toEqual(['AUTHORIZED', 'AUTHORIZED'])
  })

  test('a report is fetched when the time is over', async () => {
    const file = 'settlement_detail_report_batch_1.csv'
    shop.double.ledger.report(file, `${shop.double.origin}/reports/download/MerchantAccount/Shop/${file}`)
    await throttle()
    await shop.settle()
    expect(callsTo(/reports/)).toBe(0)
    const [item] = await queryRows<{ detail: string; seconds: string }>(
      shop.gateway.databaseUrl,
      `SELECT detail, extract(epoch FROM due_at - now()) AS seconds FROM notice_item WHERE item_key LIKE '${file}:%'`,
    )
    expect(item?.detail).toBe('the provider wants to be asked later')
    expect(Number(item?.seconds)).toBeGreaterThan(10)
  })
})
