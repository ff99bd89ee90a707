/**
 * Notices, customers who return or never do, and lost answers, through a real gateway and a double of Adyen. After each
 * test both books agree to the cent.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { examine } from '#storage/doctor/doctor.ts'
import { challengeCard } from '#test/support/adyen/checkout.ts'
import type { AdyenFault } from '#test/support/adyen/double.ts'
import { type AdyenGateway, startAdyenGateway } from '#test/support/adyen/gateway.ts'
import {
  type AdyenPayments,
  ledgerOf,
  manual,
  methodPayment,
  payThrough,
  urls,
} from '#test/support/adyen/payments.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { createTestClock, type TestClock } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

let shop: AdyenGateway
let clock: TestClock
let post: AdyenPayments['post']
let follow: AdyenPayments['follow']
let authorized: AdyenPayments['authorized']
let statusOf: AdyenPayments['statusOf']
beforeAll(async () => {
  clock = createTestClock(Date.now())
  shop = await startAdyenGateway({ gateway: { clock } })
  ;({ post, follow, authorized, statusOf } = payThrough(shop))
})
afterAll(() => shop.stop())
afterEach(async () => {
  shop.double.beforeAnswer = async () => undefined
  await shop.settle()
  const { ours, theirs } = await shop.books()
  expect(ours).toEqual(theirs)
  expect(await findBrokenRules(shop.gateway.databaseUrl)).toEqual({})
})

describe('notices', () => {
  test('that arrive before the answer are applied once', async () => {
    shop.double.beforeAnswer = () => shop.double.notify()
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    await shop.apply()
    expect(await statusOf(payId)).toBe('OK')
  })

  test('of a decline that arrive before its answer count it once against the limits', async () => {
    const { merchants } = shop.gateway.gateway
    await merchants.set(shop.gateway.merchantId, { declinesPerCard: '5/PT1H' })
    shop.double.ledger.declining.add('AUTHORIZATION')
    shop.double.beforeAnswer = () => shop.settle()
    // Not a published test card, because their declines are never counted.
    const { body } = await post('/payments', cardPayment({ card: { number: '4532015112830366' } }))
    expect(body.status).toBe('FAILED')
    const rows = await queryRows(
      shop.gateway.databaseUrl,
      'SELECT cardinality(declines) AS count FROM velocity',
    )
    expect(rows).toEqual([{ count: 1 }])
  })

  test('that are repeated or out of order change nothing', async () => {
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    const [authorisation, captured] = shop.double.ledger.owed.splice(0)
    for (const item of [captured, authorisation, captured]) await shop.double.notify([item])
    await shop.apply()
    expect((await shop.record(payId)).amount).toMatchObject({ capturedValue: 1000 })
  })

  test('a second payment under one reference is listed and not taken for a repetition of the first', async () => {
    const payId = await authorized()
    const [first] = shop.double.ledger.owed.splice(0)
    await shop.double.notify([first])
    await shop.double.notify([{ ...first, pspReference: 'D0SECONDPAYMENT1' }])
    await shop.apply()
    expect((await shop.record(payId)).amount).toMatchObject({ authorizedValue: 1000 })
    const { stdout } = await shop.commands.run('notices', 'list', '--unmatched')
    expect(stdout).toContain('D0SECONDPAYMENT1')
    expect(stdout).not.toContain(first.pspReference)
  })

  test('a second payment under one reference raises its alarm once, however often its notice is retried', async () => {
    await authorized()
    const [first] = shop.double.ledger.owed.splice(0)
    const alarms = () => shop.gateway.logged.filter(line => line.includes('PAID_TWICE')).length
    const before = alarms()
    await shop.double.notify([first, { ...first, pspReference: 'D0SECONDPAYMENT9' }])
    let second: AnyJson
    // At least three times, because the gateway's own worker runs due items as well.
    do {
      await shop.apply()
      await queryRows(
        shop.gateway.databaseUrl,
        "UPDATE notice_item SET due_at = now() WHERE item_key LIKE '%D0SECONDPAYMENT9%'",
      )
      const listed = await shop.commands.json('notices', 'list', '--unmatched')
      second = listed.find(({ key }: { key: string }) => key.includes('D0SECONDPAYMENT9'))
    } while (second.attempts < 3)
    expect(alarms()).toBe(before + 1)
    expect(second.detail).toContain('give it back there')
  })

  // We know of no such notice. One that comes anyway must not wait for an operator.
  test('a capture that was made with the authorisation and is told by a notice of its own is known', async () => {
    const { body } = await post('/payments', cardPayment())
    const [approval] = shop.double.ledger.owed
    const { pspReference: originalReference } = approval
    const pspReference = 'D0AUTOMATICCAPT1'
    await shop.settle()
    const capture = { ...approval, eventCode: 'CAPTURE', pspReference, originalReference }
    // Another amount is not what was captured with the authorisation.
    const other = { ...capture, pspReference: 'D0ANOTHERCAPTURE', amount: { value: 400, currency: 'EUR' } }
    await shop.double.notify([capture, other])
    await shop.apply()
    expect((await shop.record(body.payId)).amount).toMatchObject({ capturedValue: 1000 })
    const { stdout } = await shop.commands.run('notices', 'list', '--unmatched')
    expect(stdout).not.toContain(pspReference)
    expect(stdout).toContain(other.pspReference)
  })

  test.each([
    ['REFUND', 1000],
    ['CANCELLATION', 0],
    ['CANCEL_OR_REFUND', 0],
    ['CAPTURE_FAILED', 1000],
    ['EXPIRE', 0],
  ])('%s of a second payment under one reference does not end the first one', async (eventCode, captured) => {
    const payId = await authorized()
    if (captured > 0) await follow(payId, 'captures', captured)
    const [first] = shop.double.ledger.owed
    await shop.settle()
    const before = await shop.record(payId)
    const second = 'D0SECONDPAYMENT2'
    const isEnd = eventCode === 'EXPIRE'
    const names = isEnd
      ? { pspReference: second }
      : { pspReference: 'D00MODIFICATION1', originalReference: second }
    await shop.double.notify([{ ...first, ...names, eventCode }])
    await shop.apply()
    expect(await shop.record(payId)).toEqual(before)
    const { stdout } = await shop.commands.run('notices', 'list', '--unmatched')
    expect(stdout).toContain(before.operations[0].xId)
  })

  test('a capture that fails later makes the payment AUTHORIZED again', async () => {
    const payId = await authorized()
    const { body } = await follow(payId, 'captures', 1000)
    await shop.settle()
    const record = await shop.record(payId)
    expect(record.status).toBe('OK')
    const payment = ledgerOf(shop, record)
    const pspReference = capturePspOf(body)
    shop.double.ledger.captureFailed(payment, { pspReference, reference: body.xId, value: 1000 })
    await shop.settle()
    expect(await statusOf(payId)).toBe('AUTHORIZED')
  })

  test('a partial capture that fails later leaves the rest released, and the doctor finds nothing', async () => {
    const payId = await authorized()
    const { body } = await follow(payId, 'captures', 600)
    await shop.settle()
    const captured = await shop.record(payId)
    expect(captured.amount).toMatchObject({ capturedValue: 600, reversedValue: 400 })
    const failed = { pspReference: capturePspOf(body), reference: body.xId, value: 600 }
    shop.double.ledger.captureFailed(ledgerOf(shop, captured), failed)
    await shop.settle()
    expect(await shop.record(payId)).toMatchObject({
      status: 'AUTHORIZED',
      amount: { capturedValue: 0, reversedValue: 400 },
    })
    expect((await examine(shop.gateway.databaseUrl)).filter(({ found }) => found > 0)).toEqual([])
  })

  test('an authorisation that Adyen has ended during a capture lapses if the capture fails', async () => {
    const payId = await authorized()
    const { body } = await follow(payId, 'captures', 1000)
    const [, made] = shop.double.ledger.owed.splice(0)
    const payment = ledgerOf(shop, await shop.record(payId))
    const failed = { pspReference: capturePspOf(body), reference: body.xId, value: 1000 }
    shop.double.ledger.captureFailed(payment, failed)
    const [told] = shop.double.ledger.owed.splice(0)
    shop.double.ledger.expire(payment)
    await shop.settle()
    await shop.double.notify([made, told])
    await shop.apply()
    // The notice of the end, which came during the capture, waits for its next turn.
    await queryRows(
      shop.gateway.databaseUrl,
      'UPDATE notice_item SET due_at = now() WHERE due_at IS NOT NULL',
    )
    await shop.apply()
    expect(await shop.record(payId)).toMatchObject({
      status: 'REVERSED',
      amount: { capturedValue: 0, reversedValue: 1000 },
    })
  })

  test('a refund that fails later is refundable again', async () => {
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    await shop.settle()
    const { body } = await follow(payId, 'refunds', 400)
    await shop.settle()
    const payment = ledgerOf(shop, await shop.record(payId))
    const pspReference = capturePspOf(body)
    shop.double.ledger.refundFailed(payment, { pspReference, reference: body.xId, value: 400 })
    await shop.settle()
    expect((await shop.record(payId)).amount).toMatchObject({ refundedValue: 0 })
  })

  // Adyen names no amount of a cancellation, so that it depends on the capture what was cancelled.
  test('a cancellation in the Customer Area waits for the outcome of our capture', async () => {
    const payId = await authorized()
    const { ledger } = shop.double
    ledger.declining.add('CAPTURE')
    await shop.settle()
    await follow(payId, 'captures', 400)
    ledger.declining.delete('CAPTURE')
    ledger.cancel(ledgerOf(shop, await shop.record(payId)), 'by hand')
    const [captured, cancelled] = ledger.owed.splice(0)
    await shop.double.notify([cancelled])
    await shop.apply()
    expect((await shop.record(payId)).amount).toMatchObject({ reversedValue: 0 })
    await shop.double.notify([captured])
    await shop.apply()
    await queryRows(
      shop.gateway.databaseUrl,
      "UPDATE notice_item SET due_at = now(), leased_until = NULL WHERE state = 'UNMATCHED'",
    )
    await shop.apply()
    expect(await shop.record(payId)).toMatchObject({ status: 'REVERSED', amount: { reversedValue: 1000 } })
  })

  test('a refund from the Customer Area is recorded', async () => {
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    await shop.settle()
    const payment = ledgerOf(shop, await shop.record(payId))
    shop.double.ledger.refund(payment, 250, 'by hand')
    await shop.settle()
    expect((await shop.record(payId)).amount).toMatchObject({ refundedValue: 250 })
  })

  test('the failure of a refund from the Customer Area, reported before the refund, is not taken for a failure of ours', async () => {
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    await shop.settle()
    const { body: ours } = await follow(payId, 'refunds', 300)
    await shop.settle()
    const payment = ledgerOf(shop, await shop.record(payId))
    const pspReference = shop.double.ledger.refund(payment, 300, 'by hand')
    const [made] = shop.double.ledger.owed.splice(0)
    shop.double.ledger.refundFailed(payment, { pspReference, reference: 'by hand', value: 300 })
    await shop.settle()
    const refunds = async (): Promise<string[]> =>
      (await shop.record(payId)).operations.flatMap(({ type, xId, status }: AnyJson) =>
        type === 'REFUND' ? `${xId === ours.xId ? 'ours' : 'theirs'} ${status}` : [],
      )
    expect(await refunds()).toEqual(['ours OK'])
    await shop.double.notify([made])
    await shop.apply()
    // The notice came too early and waits for its next try.
    await queryRows(
      shop.gateway.databaseUrl,
      'UPDATE notice_item SET due_at = now() WHERE due_at IS NOT NULL',
    )
    await shop.apply()
    expect(await refunds()).toEqual(['ours OK', 'theirs FAILED'])
    expect((await shop.record(payId)).amount).toMatchObject({ refundedValue: 300 })
  })

  test.each([
    ['of a whole authorisation', 0, 'REVERSED'],
    ['of what a capture left', 400, 'OK'],
  ])('the end %s at Adyen releases it here too', async (_, captured, status) => {
    const other = await startAdyenGateway({ multipleCaptures: true })
    try {
      const at = payThrough(other)
      const payId = await at.authorized()
      if (captured > 0) await at.follow(payId, 'captures', captured)
      await other.settle()
      other.double.ledger.expire(ledgerOf(other, await other.record(payId)))
      await other.settle()
      const record = await other.record(payId)
      expect(record).toMatchObject({
        status,
        amount: { capturedValue: captured, reversedValue: 1000 - captured },
      })
      const { body } = await at.follow(payId, 'captures', 100)
      expect(body.responseCode).toBe('20200007')
      const { ours, theirs } = await other.books()
      expect(ours).toEqual(theirs)
      const events = await queryRows(
        other.gateway.databaseUrl,
        `SELECT body->'operation'->'amount'->>'value' AS value FROM event
        WHERE pay_id = '${payId}' AND body->>'type' = 'payment.lapsed'`,
      )
      expect(events).toEqual([{ value: String(1000 - captured) }])
    } finally {
      await other.stop()
    }
  })

  test('a capture that Adyen refuses leaves the payment AUTHORIZED', async () => {
    const payId = await authorized()
    const payment = ledgerOf(shop, await shop.record(payId))
    // Adyen holds less than our books say, because a part was released there.
    payment.authorised = 500
    await follow(payId, 'captures', 1000)
    await shop.settle()
    expect(await statusOf(payId)).toBe('AUTHORIZED')
    payment.authorised = 1000
  })
})

/** Adyen's id of an operation, from our answer. */
const capturePspOf = (body: AnyJson): string => body.paymentMethods?.card?.providerTransactionId ?? ''

describe('customers on Adyen’s page', () => {
  /** Follows redirects as a browser does, until the customer is back at the shop or sees a page of ours. */
  async function browse(address: string, verdict: 'approve' | 'refuse' | 'cancel'): Promise<string> {
    let url = address
    let isDecided = false
    for (let hops = 0; hops < 12 && !url.startsWith(urls.return); hops += 1) {
      if (url.startsWith(shop.double.origin)) {
        url = `${url}/${verdict}`
        isDecided = true
      }
      const answer = await fetch(url, { redirect: 'manual' })
      const location = answer.headers.get('location') ?? readForm(await answer.text())
      if (location === undefined || (isDecided && !answer.headers.has('location'))) return url
      url = new URL(location, url).href
    }
    return url
  }

  /** The address to which a page sends the customer with a form. */
  const readForm = (html: string): string | undefined =>
    /<form[^>]*action="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&')

  test.each([
    ['BLIK', 'approve', 'OK'],
    ['BLIK', 'refuse', 'AUTHORIZE_REQUEST'],
    ['IDEAL', 'approve', 'OK'],
    // On our hosted page the customer may try again until the payment expires.
    ['IDEAL', 'refuse', 'AUTHORIZE_REQUEST'],
    ['IDEAL', 'cancel', 'AUTHORIZE_REQUEST'],
  ] as const)('%s: %s on Adyen’s page is %s', async (type, verdict, status) => {
    const currency = type === 'BLIK' ? 'PLN' : 'EUR'
    const { body } = await post('/payments', methodPayment(type, { amount: { value: 1000, currency } }))
    expect(body.status).toBe('AUTHORIZE_REQUEST')
    const end = await browse(body._links.redirect.href, verdict)
    expect(end.startsWith(urls.return)).toBe(verdict === 'approve')
    expect(await statusOf(body.payId)).toBe(status)
    await shop.settle()
    expect(await statusOf(body.payId)).toBe(status)
  })

  test('a customer who pays and never returns: the notice completes the payment', async () => {
    const { body } = await post('/payments', methodPayment('IDEAL'))
    const [payment] = [...shop.double.ledger.payments.values()]
      .filter(({ state }) => state === 'open')
      .slice(-1)
    if (payment) shop.double.ledger.authorise(payment)
    await shop.settle()
    expect(await statusOf(body.payId)).toBe('OK')
  })

  test.each([
    ['a result that Adyen never gave out', 'forged', false],
    ['a result while our key is refused', 'genuine', true],
  ])('a customer who brings back %s decides nothing: the notice does', async (_, brought, isRefused) => {
    const { body } = await post('/payments', methodPayment('IDEAL'))
    const { returnUrl } = shop.double.requests.findLast(({ path }) => path.endsWith('/payments'))?.body ?? {}
    const payment = [...shop.double.ledger.payments.values()].at(-1)
    if (isRefused) shop.double.fail(/details$/, 'keyRefused')
    const result = brought === 'forged' ? brought : payment?.pspReference
    await fetch(`${returnUrl}?redirectResult=${result}`, { redirect: 'manual' })
    expect(await shop.record(body.payId)).toMatchObject({ status: 'PENDING', responseCode: '60000200' })
    if (payment) shop.double.ledger.authorise(payment)
    await shop.settle()
    expect(await statusOf(body.payId)).toBe('OK')
  })

  test('a 3-D Secure challenge by redirect is completed', async () => {
    const request = cardPayment({ urls, card: { number: challengeCard }, ...manual })
    const { body } = await post('/payments', request)
    expect(body).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '70000200' })
    await browse(body._links.redirect.href, 'approve')
    expect(await statusOf(body.payId)).toBe('AUTHORIZED')
  })

  // 3-D Secure only authenticates: without the customer's result Adyen never requests the authorisation from the
  // issuer.
  test.each([
    ['without a result', '', false],
    ['with a result that Adyen never gave out', '?redirectResult=forged', false],
    ['while our key is refused', '?redirectResult=', true],
  ])('a 3-D Secure challenge is completed by a second return, if the first came %s', async (...row) => {
    const [, brought, isRefused] = row
    const { body } = await post(
      '/payments',
      cardPayment({ urls, card: { number: challengeCard }, ...manual }),
    )
    const payment = [...shop.double.ledger.payments.values()].at(-1)
    const back = shop.double.checkout.decide('redirect', payment?.pspReference ?? '', 'approve')
    if (isRefused) shop.double.fail(/details$/, 'keyRefused')
    const first = isRefused ? back : `${payment?.returnUrl}${brought}`
    await fetch(first, { redirect: 'manual' })
    expect(await statusOf(body.payId)).toBe('PENDING')
    const [one, two] = await Promise.all([1, 2].map(() => fetch(back, { redirect: 'manual' })))
    expect([one, two].map(answer => answer?.headers.get('location'))).toEqual(
      [1, 2].map(() => `${urls.return}?PayId=${body.payId}`),
    )
    expect(await statusOf(body.payId)).toBe('AUTHORIZED')
  })

  test.each([
    ['once', 1, 'AUTHORIZED'],
    ['as often as it is sent', 3, 'PENDING'],
  ])('a result of 3-D Secure that Adyen turns away is sent again: %s', async (_, times, status) => {
    const request = cardPayment({ urls, card: { number: challengeCard }, ...manual })
    const { body } = await post('/payments', request)
    const payment = [...shop.double.ledger.payments.values()].at(-1)
    const back = shop.double.checkout.decide('redirect', payment?.pspReference ?? '', 'approve')
    for (let call = 0; call < times; call += 1) shop.double.fail(/details$/, 'turnedAway')
    await fetch(back, { redirect: 'manual' })
    expect(await statusOf(body.payId)).toBe(status)
    await fetch(back, { redirect: 'manual' })
    expect(await statusOf(body.payId)).toBe('AUTHORIZED')
  })

  test('a voucher shows its reference and is paid by notice', async () => {
    const { body } = await post('/payments', methodPayment('MULTIBANCO'))
    expect(JSON.stringify(body)).toContain('501 422 944')
    const [payment] = [...shop.double.ledger.payments.values()]
      .filter(({ state }) => state === 'open')
      .slice(-1)
    if (payment) shop.double.ledger.authorise(payment)
    await shop.settle()
    expect(await statusOf(body.payId)).toBe('OK')
  })
})

test('a QR code of a pending payment is shown to the customer, who pays it', async () => {
  const amount = { value: 1000, currency: 'BRL' }
  const { body } = await post('/payments', methodPayment('PIX', { amount }))
  expect(body.status).toBe('AUTHORIZE_REQUEST')
  const record = await shop.record(body.payId)
  const payment = ledgerOf(shop, record)
  // Merchants who show the code on their own page get Adyen's code too.
  const qrCode = `QR-${payment.pspReference}`
  expect([body, record].map(({ paymentMethods }) => paymentMethods.pix.qrCode)).toEqual([qrCode, qrCode])
  const page = await (await fetch(body._links.redirect.href)).text()
  expect(page).toContain('<figure class="qr">')
  shop.double.ledger.authorise(payment)
  await shop.settle()
  expect(await statusOf(body.payId)).toBe('OK')
})

describe('lost answers', () => {
  const kinds: readonly AdyenFault[] = ['lostBefore', 'lostAfter', 'html500', 'truncated', 'wrongEcho']

  /** Advances the clock and runs everything that becomes due. */
  async function pass(milliseconds: number): Promise<void> {
    clock.move(milliseconds)
    await shop.work(clock.nowMs())
  }

  test.each(kinds)(
    'a card whose answer is %s is never FAILED before it is certain, and never sent twice',
    async kind => {
      shop.double.fail(/payments$/, kind)
      const { body } = await post('/payments', cardPayment(manual))
      expect(body.status).toBe('PENDING')
      await shop.settle()
      await pass(20 * 60_000)
      expect(await statusOf(body.payId)).toBe(kind === 'lostBefore' ? 'FAILED' : 'AUTHORIZED')
      const sent = shop.double.requests.filter(request => request.body.reference === body.xId)
      expect(sent.filter(({ path }) => path.endsWith('/payments'))).toHaveLength(1)
    },
  )

  test.each(kinds)('a capture whose answer is %s is captured once', async kind => {
    const payId = await authorized()
    shop.double.fail(/captures$/, kind)
    const { body } = await follow(payId, 'captures', 1000)
    expect(body.status).toBe('PENDING')
    await shop.settle()
    await pass(20 * 60_000)
    expect(await statusOf(payId)).toBe('OK')
  })

  // Without the customer's result Adyen neither requests the authorisation nor sends a notice.
  test.each([
    ['whose result never reached Adyen', 'lostBefore', true],
    ['without a result', undefined, false],
    ['whose result Adyen refused', 'keyRefused', true],
  ] as const)('a 3-D Secure challenge %s is undone if no notice comes', async (_, fault, brings) => {
    const request = cardPayment({ urls, card: { number: challengeCard }, ...manual })
    const { body } = await post('/payments', request)
    const payment = [...shop.double.ledger.payments.values()].at(-1)
    const back = shop.double.checkout.decide('redirect', payment?.pspReference ?? '', 'approve')
    if (fault) shop.double.fail(/details$/, fault)
    await fetch(brings ? back : (payment?.returnUrl ?? ''), { redirect: 'manual' })
    await shop.settle()
    expect(await statusOf(body.payId)).toBe('PENDING')
    await pass(20 * 60_000)
    expect(await shop.record(body.payId)).toMatchObject({ status: 'FAILED', responseCode: '21000402' })
  })

  test('a partial approval is undone, and its notice needs no operator', async () => {
    shop.double.fail(/payments$/, 'lostAfter')
    const { body } = await post('/payments', cardPayment(manual))
    const [told] = shop.double.ledger.owed.splice(0)
    await shop.double.notify([{ ...told, amount: { currency: 'EUR', value: 600 } }])
    await shop.apply()
    await shop.settle()
    expect(await statusOf(body.payId)).toBe('FAILED')
    // Makes its next try due.
    const { databaseUrl } = shop.gateway
    await queryRows(databaseUrl, 'UPDATE notice_item SET due_at = now() WHERE due_at IS NOT NULL')
    await shop.apply()
    const left = await queryRows(
      databaseUrl,
      `SELECT item_key FROM notice_item WHERE state = 'UNMATCHED' AND item_key LIKE '%:600:EUR:%'`,
    )
    expect(left).toEqual([])
  })

  test('a capture whose answer was lost is not FAILED if our key is refused by then', async () => {
    const payId = await authorized()
    shop.double.fail(/captures$/, 'lostAfter')
    const { body } = await follow(payId, 'captures', 1000)
    const told = shop.double.ledger.owed.splice(0)
    shop.double.fail(/captures$/, 'keyRefused')
    clock.move(20 * 60_000)
    await shop.work(clock.nowMs(), true)
    const calls = shop.double.requests.filter(({ key }) => key === body.xId)
    expect(calls).toHaveLength(2)
    expect((await shop.record(payId)).operations.at(-1)).toMatchObject({ type: 'CAPTURE', status: 'PENDING' })
    await shop.double.notify(told)
    await shop.apply()
    expect(await statusOf(payId)).toBe('OK')
  })
})
