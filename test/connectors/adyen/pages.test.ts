/**
 * Customers on Adyen's pages who return once, twice, never or too late; and approvals that were undone before their
 * notice.
 */
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { type AdyenGateway, startAdyenGateway } from '#test/support/adyen/gateway.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { openPage } from '#test/support/browser/customer-page.ts'
import { createTestClock, type TestClock } from '#test/support/clock.ts'
import { applyNotices, cardPayment, startTestGateway } from '#test/support/gateway.ts'
import { planPayment } from '#test/support/plans.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let shop: AdyenGateway
let clock: TestClock
/** A method that Adyen does not serve. */
const servedElsewhere = 'SATISPAY'
beforeAll(async () => {
  clock = createTestClock(Date.now())
  shop = await startAdyenGateway({ gateway: { clock } })
  // Before the gateway is used for the first time, because it caches accounts.
  const serving = ['--connector', 'simulator', '--name', 'Other', '--set', `types=${servedElsewhere}`]
  await shop.commands.json('provider', 'add', shop.gateway.merchantId, ...serving)
})
afterAll(() => shop.stop())
afterEach(async () => {
  await pass(0)
  const { ours, theirs } = await shop.books()
  expect(ours).toEqual(theirs)
})

const urls = { return: 'https://shop.example/return', cancel: 'https://shop.example/cancel' }

const open = (url: string) => fetch(url, { redirect: 'manual' })
const go = async (url: string): Promise<string> => (await open(url)).headers.get('location') ?? ''

/** Advances the clock and runs everything that becomes due. */
async function pass(milliseconds: number): Promise<void> {
  clock.move(milliseconds)
  await shop.settle()
  await shop.work(clock.nowMs())
}

/** BLIK codes are entered on Adyen's page. */
const zlotys = { amount: { value: 1000, currency: 'PLN' } }

async function visit(type: string, change: AnyJson = {}) {
  const request = { ...cardPayment(), urls, paymentMethods: { integrationType: 'DIRECT', type }, ...change }
  const { body } = await shop.gateway.call('POST', '/payments', request)
  expect(body.status).toBe('AUTHORIZE_REQUEST')
  const own: string = body._links.redirect.href
  return { payId: body.payId as string, own, page: await go(own) }
}

/** Notices that match nothing yet are tried again, whatever time has passed. */
async function tryNoticesAgain(): Promise<void> {
  await queryRows(shop.gateway.databaseUrl, 'UPDATE notice_item SET due_at = now() WHERE due_at IS NOT NULL')
  await pass(0)
}

const statusOf = async (payId: string): Promise<string> => (await shop.record(payId)).status

describe('Adyen’s page', () => {
  test.each([
    ['IDEAL', {}],
    ['BLIK', zlotys],
  ])(
    '%s: paid, returned and redirected to the shop; reloading and returning twice change nothing',
    async (type, change) => {
      const { payId, own, page } = await visit(type, change)
      expect(await go(own)).toBe(page)
      const back = await go(`${page}/approve`)
      expect(await go(back)).toBe(`${urls.return}?PayId=${payId}`)
      expect(await go(back)).toBe(`${urls.return}?PayId=${payId}`)
      expect(await statusOf(payId)).toBe('OK')
    },
  )

  test.each([
    ['refuse', '23000305'],
    ['cancel', '23000703'],
  ])('%s ends a DIRECT payment with %s', async (verdict, responseCode) => {
    const { payId, page } = await visit('IDEAL')
    await go(await go(`${page}/${verdict}`))
    expect(await shop.record(payId)).toMatchObject({ status: 'FAILED', responseCode })
  })

  test('paid, and the customer never returns: the notice completes the payment', async () => {
    const { payId, page } = await visit('IDEAL')
    await go(`${page}/approve`)
    await shop.settle()
    expect(await statusOf(payId)).toBe('OK')
  })

  test('paid by notice, then the customer returns: nothing changes', async () => {
    const { payId, page } = await visit('BLIK', zlotys)
    const back = await go(`${page}/approve`)
    await shop.settle()
    expect(await statusOf(payId)).toBe('OK')
    expect(await go(back)).toBe(`${urls.return}?PayId=${payId}`)
    expect(await statusOf(payId)).toBe('OK')
  })

  test('a return without parameters is PENDING until the notice', async () => {
    const { payId, page } = await visit('IDEAL')
    const back = new URL(await go(`${page}/approve`))
    back.search = ''
    await go(back.href)
    expect(await statusOf(payId)).toBe('PENDING')
    await shop.settle()
    expect(await statusOf(payId)).toBe('OK')
  })

  test.each(['sends', 'leaves out'])(
    'a try that is declined and followed by another: the webhook %s the session',
    async how => {
      const { payId, page } = await visit('BLIK', zlotys)
      await go(`${page}/decline`)
      if (how === 'leaves out') delete shop.double.ledger.owed.at(-1)?.additionalData.checkoutSessionId
      await shop.settle()
      expect(await statusOf(payId)).toBe('AUTHORIZE_REQUEST')
      await go(await go(`${page}/approve`))
      await shop.settle()
      expect(await statusOf(payId)).toBe('OK')
    },
  )

  test.each([
    ['before', 'refused', 'FAILED'],
    ['after', 'refused', 'FAILED'],
    ['after', 'authorised', 'OK'],
  ])(
    'a payment that its customer left undecided, %s their return: %s is %s',
    async (when, outcome, status) => {
      const { payId, page } = await visit('BLIK', zlotys)
      await go(`${page}/decline`)
      const back = await go(`${page}/wait`)
      const payment = [...shop.double.ledger.payments.values()].at(-1)
      const decide = async () => {
        if (!payment) throw new Error('the page took no payment')
        if (outcome === 'refused') shop.double.ledger.refuse(payment, 'Refused')
        else shop.double.ledger.authorise(payment)
        await shop.settle()
      }
      if (when === 'before') await decide()
      await go(back)
      await shop.settle()
      if (when === 'after') {
        expect(await statusOf(payId)).toBe('PENDING')
        await decide()
      }
      await tryNoticesAgain()
      expect(await statusOf(payId)).toBe(status)
    },
  )

  test('cancelled by the merchant: the page is ended at Adyen first', async () => {
    const { payId, page } = await visit('BLIK', zlotys)
    const { status, body } = await shop.gateway.call('POST', `/payments/${payId}/cancellations`, {})
    expect([status, body.status, body.responseCode]).toEqual([200, 'FAILED', '23000704'])
    expect(shop.double.requests.at(-1)?.path).toBe('/v72/cancels')
    // Adyen cannot close its page; money paid on it later is given back.
    await go(`${page}/approve`)
    await pass(0)
    await pass(0)
    expect((await shop.record(payId)).amount).toMatchObject({ capturedValue: 1000, refundedValue: 1000 })
  })

  test('paid on two pages: the payment on the abandoned page is undone, and its notices are finished', async () => {
    const { paymentMethods: _, captureMethod: __, ...order } = cardPayment()
    const { body } = await shop.gateway.call('POST', '/payments/sessions', {
      ...order,
      urls,
      captureMethod: { type: 'MANUAL' },
    })
    const choose = async (): Promise<string> => {
      const own = await openPage(body._links.redirect.href)
      const form = new URLSearchParams({ ...own.hidden, type: 'PROVIDERK' })
      const answer = await fetch(own.url, { method: 'POST', body: form })
      return new RegExp(`href="(${shop.double.origin}[^"]+)"`).exec(await answer.text())?.[1] ?? ''
    }
    const left = await choose()
    const paid = await choose()
    await go(await go(`${paid}/approve`))
    await go(`${left}/approve`)
    await pass(0)
    await tryNoticesAgain()
    expect(await statusOf(body.payId)).toBe('AUTHORIZED')
    const open = await shop.commands.json('notices', 'list', '--unmatched', '--json')
    expect(open).toEqual([])
  })

  test.each([
    ['AUTOMATIC', 'PROVIDERK', { capturedValue: 1000, refundedValue: 1000 }],
    ['MANUAL', 'PROVIDERK', { authorizedValue: 1000, reversedValue: 1000 }],
    // Served by another account of the merchant.
    ['AUTOMATIC', servedElsewhere, { capturedValue: 1000, refundedValue: 1000 }],
  ])(
    'paid on an abandoned page after the payment has expired: the money is given back (%s, %s)',
    async (captureType, second, sums) => {
      const { paymentMethods: _, ...order } = cardPayment({ captureMethod: { type: captureType } })
      const expirationTime = new Date(clock.nowMs() + 3_600_000).toISOString()
      const session = {
        ...order,
        urls,
        expirationTime,
        allowedPaymentMethod: [...new Set(['PROVIDERK', second])],
      }
      const { body } = await shop.gateway.call('POST', '/payments/sessions', session)
      const choose = async (type: string): Promise<string> => {
        const own = await openPage(body._links.redirect.href)
        const form = new URLSearchParams({ ...own.hidden, type })
        const answer = await fetch(own.url, { method: 'POST', body: form })
        return new RegExp(`href="(${shop.double.origin}[^"]+)"`).exec(await answer.text())?.[1] ?? ''
      }
      const left = await choose('PROVIDERK')
      await choose(second)
      await pass(2 * 3_600_000)
      const ended = await shop.record(body.payId)
      expect([ended.status, ended.paymentMethods.type]).toEqual(['FAILED', second])
      await go(`${left}/approve`)
      await pass(0)
      await pass(0)
      const record = await shop.record(body.payId)
      expect(record).toMatchObject({ status: 'REVERSED', provider: { connector: 'adyen' } })
      expect(record.amount).toMatchObject(sums)
      expect((await examine(shop.gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
    },
  )

  test('a payment whose page could not be ended at Adyen is not cancelled', async () => {
    const { payId, page } = await visit('BLIK', zlotys)
    shop.double.fail(/\/cancels$/, 'turnedAway')
    shop.double.fail(/\/cancels$/, 'turnedAway')
    shop.double.fail(/\/cancels$/, 'turnedAway')
    const { status, body } = await shop.gateway.call('POST', `/payments/${payId}/cancellations`, {})
    expect([status, body.responseCode]).toEqual([422, '20200014'])
    await go(await go(`${page}/approve`))
    expect(await statusOf(payId)).toBe('OK')
  })

  test('a payment that stays open longer than Adyen’s page gets a new one', async () => {
    const { payId, own, page } = await visit('IDEAL')
    const { reference } = shop.double.requests.findLast(({ path }) => path.endsWith('/payments'))?.body ?? {}
    shop.double.ledger.owed.push({
      eventCode: 'OFFER_CLOSED',
      eventDate: '2026-03-01T12:00:00+01:00',
      merchantAccountCode: shop.double.checkout.merchantAccount,
      merchantReference: reference,
      pspReference: 'CLOSED1',
      amount: { value: 1000, currency: 'EUR' },
      success: 'true',
    })
    await shop.settle()
    expect(await statusOf(payId)).toBe('AUTHORIZE_REQUEST')
    const next = await go(own)
    expect(next).not.toBe(page)
    await go(await go(`${next}/approve`))
    expect(await statusOf(payId)).toBe('OK')
  })

  test('paid after the payment has expired: the money is given back automatically', async () => {
    const { payId, page } = await visit('BLIK', {
      amount: { value: 1000, currency: 'PLN' },
      expirationTime: new Date(clock.nowMs() + 3_600_000).toISOString(),
    })
    await pass(2 * 3_600_000)
    expect(await statusOf(payId)).toBe('FAILED')
    await go(`${page}/approve`)
    await pass(0)
    await pass(0)
    const record = await shop.record(payId)
    expect(record.status).toBe('REVERSED')
    expect(record.amount).toMatchObject({ capturedValue: 1000, refundedValue: 1000 })
  })
})

test('a refund of the payment on an abandoned page is not booked on the payment that continued', async () => {
  const other = await startAdyenGateway()
  try {
    const { paymentMethods: _, captureMethod: __, ...order } = cardPayment()
    const { body } = await other.gateway.call('POST', '/payments/sessions', { ...order, urls })
    const choose = async (): Promise<string> => {
      const own = await openPage(body._links.redirect.href)
      const form = new URLSearchParams({ ...own.hidden, type: 'PROVIDERK' })
      const answer = await fetch(own.url, { method: 'POST', body: form })
      return new RegExp(`href="(${other.double.origin}[^"]+)"`).exec(await answer.text())?.[1] ?? ''
    }
    const left = await choose()
    const paid = await choose()
    await go(await go(`${paid}/approve`))
    await go(`${left}/approve`)
    await other.settle()
    const before = await other.record(body.payId)
    expect(before).toMatchObject({ status: 'OK', amount: { capturedValue: 1000, refundedValue: 0 } })
    const extra = [...other.double.ledger.payments.values()].at(-1)
    if (!extra) throw new Error('Adyen knows no payment')
    other.double.ledger.refund(extra, 1000, extra.reference)
    await other.settle()
    expect(await other.record(body.payId)).toEqual(before)
  } finally {
    await other.stop()
  }
})

/** Agrees to the plan on our page. Returns the address of Adyen's page, to which ours leads. */
async function agree(href: string, type: string): Promise<string> {
  const own = await openPage(href)
  const form = new URLSearchParams({ ...own.hidden, type, planConsent: 'yes' })
  const sent = await (await fetch(own.url, { method: 'POST', body: form })).text()
  return /href="(http[^"]*\/(?:hosted|redirect)[^"]*)"/.exec(sent)?.[1] ?? ''
}

test('a plan that was begun on Adyen’s page is charged with Adyen’s token, without the customer', async () => {
  const other = await startAdyenGateway({ rawCards: false })
  try {
    const { body } = await other.gateway.call('POST', '/payments', {
      ...cardPayment(planPayment()),
      urls,
      paymentMethods: { integrationType: 'HOSTED', type: 'CARD' },
    })
    const page = await agree(body._links.redirect.href, 'CARD')
    await go(await go(`${page}/approve`))
    const charge = await other.gateway.call('POST', `/payment-plans/${body.paymentPlanId}/charge`, {
      transId: 'charge-page',
    })
    expect([charge.status, charge.body.status]).toEqual([200, 'OK'])
    expect(other.double.requests.at(-1)?.body).toMatchObject({
      shopperInteraction: 'ContAuth',
      recurringProcessingModel: 'Subscription',
      shopperReference: expect.any(String),
      paymentMethod: { type: 'scheme', storedPaymentMethodId: expect.stringMatching(/^TOKEN-CS/) },
    })
    const { ours, theirs } = await other.books()
    expect(ours).toEqual(theirs)
  } finally {
    await other.stop()
  }
})

test.each([
  ['comes back', true],
  ['never comes back', false],
])('a plan begun with a wallet is charged with Adyen’s token, if the customer %s', async (_, isBack) => {
  const { body } = await shop.gateway.call('POST', '/payments', {
    ...cardPayment(planPayment()),
    urls,
    paymentMethods: { integrationType: 'HOSTED', type: 'PROVIDERP' },
  })
  const back = await go(`${await agree(body._links.redirect.href, 'PROVIDERP')}/approve`)
  await (isBack ? go(back) : shop.settle())
  const charge = await shop.gateway.call('POST', `/payment-plans/${body.paymentPlanId}/charge`, {
    transId: `wallet-charge-${isBack}`,
  })
  expect([charge.status, charge.body.status]).toEqual([200, 'OK'])
  expect(shop.double.requests.at(-1)?.body).toMatchObject({
    shopperInteraction: 'ContAuth',
    paymentMethod: { type: 'paypal', storedPaymentMethodId: expect.stringMatching(/^TOKEN-D/) },
  })
})

test.each([
  ['AUTOMATIC', 'no capture, because Adyen gives that one no reference'],
  ['MANUAL', 'the capture'],
])('a refund of a wallet’s payment with %s capture is accepted: it names %s', async type => {
  const { body } = await shop.gateway.call('POST', '/payments', {
    ...cardPayment({ captureMethod: { type } }),
    urls,
    paymentMethods: { integrationType: 'HOSTED', type: 'PROVIDERP' },
  })
  await go(await go(`${await go(body._links.redirect.href)}/approve`))
  const amount = { value: 1000, currency: 'EUR' }
  const follow = (name: string) =>
    shop.gateway.call('POST', `/payments/${body.payId}/${name}`, { transId: `${name}-${type}`, amount })
  if (type === 'MANUAL') await follow('captures')
  await shop.settle()
  expect((await follow('refunds')).body.status).toBe('PENDING')
  const { operations } = await shop.record(body.payId)
  const capture = operations.find((operation: AnyJson) => operation.type === 'CAPTURE')
  expect(shop.double.requests.at(-1)?.body.capturePspReference).toBe(
    type === 'MANUAL' ? capture.providerTransactionId : undefined,
  )
})

describe('an approval whose answer and notices were lost', () => {
  /** The answer is lost, and the notices are held back until Adyen has undone the payment at our request. */
  async function undone(): Promise<{ payId: string; items: AnyJson[] }> {
    shop.double.fail(/payments$/, 'lostAfter')
    const { body } = await shop.gateway.call(
      'POST',
      '/payments',
      cardPayment({ captureMethod: { type: 'MANUAL' } }),
    )
    expect(body.status).toBe('PENDING')
    clock.move(20 * 60_000)
    await shop.work(clock.nowMs(), true)
    const items = shop.double.ledger.owed.splice(0)
    expect(items.map(({ eventCode }: AnyJson) => eventCode)).toEqual(['AUTHORISATION', 'TECHNICAL_CANCEL'])
    return { payId: body.payId, items }
  }

  test.each([
    ['its approval, then its end', [0, 1], 'REVERSED'],
    ['its end, then its approval', [1, 0], 'FAILED'],
    ['its end twice', [1, 1], 'FAILED'],
    ['its approval only', [0], 'AUTHORIZED'],
  ] as const)('notices of an unheard approval: %s', async (_, order, status) => {
    const { payId, items } = await undone()
    for (const index of order) {
      await shop.double.notify([items[index]])
      await shop.apply()
    }
    expect(await statusOf(payId)).toBe(status)
    // Adyen redelivers until it gets a 2xx.
    await shop.double.notify(items)
    await shop.apply()
  })

  test('its approval and its end, applied by two processes at once', async () => {
    const { payId, items } = await undone()
    const other = await startTestGateway({ clock, beside: shop.gateway })
    const here = shop.double.noticeUrl
    const { databaseUrl } = shop.gateway
    const holder = new Client(databaseUrl)
    try {
      await holder.connect()
      await holder.query('BEGIN')
      await holder.query('SELECT 1 FROM payment WHERE pay_id = $1 FOR UPDATE', [payId])
      const expectWaiting = (count: number) =>
        expect
          .poll(() =>
            queryRows(
              databaseUrl,
              'SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = $1',
              ['Lock'],
            ),
          )
          .toHaveLength(count)
      // Each process has read the payment before the other writes.
      await shop.double.notify([items[0]])
      await expectWaiting(1)
      shop.double.noticeUrl = here.replace(shop.gateway.url, other.url)
      await shop.double.notify([items[1]])
      await expectWaiting(2)
      await holder.query('COMMIT')
      await applyNotices(shop.gateway, other)
      expect(await shop.record(payId)).toMatchObject({
        status: 'REVERSED',
        amount: { authorizedValue: 1000, reversedValue: 1000 },
      })
    } finally {
      await holder.end()
      shop.double.noticeUrl = here
      await other.stop()
    }
  })
})
