/** Payments through a real gateway and a double of Adyen; after each test the two books agree to the cent. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { challengeCard } from '#test/support/adyen-checkout.ts'
import type { AdyenFault } from '#test/support/adyen-double.ts'
import { type AdyenGateway, startAdyenGateway } from '#test/support/adyen-gateway.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { createTestClock, type TestClock } from '#test/support/clock.ts'
import { cardPayment, startTestGateway } from '#test/support/gateway.ts'
import { findBrokenRules } from '#test/support/invariants.ts'
import { planPayment } from '#test/support/plans.ts'

let shop: AdyenGateway
let clock: TestClock
beforeAll(async () => {
  clock = createTestClock(Date.now())
  shop = await startAdyenGateway({ gateway: { clock } })
})
afterAll(() => shop.stop())
afterEach(async () => {
  shop.double.beforeAnswer = async () => undefined
  await shop.settle()
  const { ours, theirs } = await shop.books()
  expect(ours).toEqual(theirs)
  expect(await findBrokenRules(shop.gateway.databaseUrl)).toEqual({})
})

const urls = { return: 'https://shop.example/return', cancel: 'https://shop.example/cancel' }
const manual = { captureMethod: { type: 'MANUAL' } }
let steps = 0

const post = (path: string, body: AnyJson) => shop.gateway.call('POST', path, body)

const follow = (payId: string, name: string, value: number, change: AnyJson = {}) => {
  steps += 1
  const body = { transId: `step-${steps}`, amount: { value, currency: 'EUR' }, ...change }
  return post(`/payments/${payId}/${name}`, body)
}

const methodPayment = (type: string, change: AnyJson = {}): AnyJson => ({
  ...cardPayment(change),
  urls,
  paymentMethods: { integrationType: 'HOSTED', type },
  ...change,
})

async function authorized(change: AnyJson = {}): Promise<string> {
  const { body } = await post('/payments', cardPayment({ ...manual, ...change }))
  expect(body.status).toBe('AUTHORIZED')
  return body.payId
}

const statusOf = async (payId: string): Promise<string> => (await shop.record(payId)).status

const ledgerOf = (payId: string, record: AnyJson) => {
  const found = [...shop.double.ledger.payments.values()].find(({ pspReference }) =>
    JSON.stringify(record).includes(pspReference),
  )
  if (!found) throw new Error(`the ledger has nothing for ${payId}`)
  return found
}

describe('a card', () => {
  test('200 AUTHORIZED, and the notice that repeats it changes nothing', async () => {
    const payId = await authorized()
    await shop.settle()
    expect(await statusOf(payId)).toBe('AUTHORIZED')
    expect(await shop.record(payId)).toMatchObject({
      provider: { account: shop.accountId, connector: 'adyen' },
    })
  })

  test('200 OK when it is captured at once', async () => {
    const { body } = await post('/payments', cardPayment())
    expect(body.status).toBe('OK')
  })

  test('422 when the issuer declines, with its reason', async () => {
    const { status, body } = await post('/payments', cardPayment({ card: { number: '4000000000009995' } }))
    expect([status, body.responseCode]).toEqual([422, '21000351'])
  })

  test('a capture is PENDING until its notice comes; a part releases the rest', async () => {
    const payId = await authorized()
    const { body } = await follow(payId, 'captures', 400)
    expect(body.status).toBe('PENDING')
    await shop.settle()
    const record = await shop.record(payId)
    expect(record.status).toBe('OK')
    expect(record.amount).toMatchObject({ capturedValue: 400, reversedValue: 600 })
    const again = await follow(payId, 'captures', 100)
    expect([again.status, again.body.responseCode]).toEqual([422, '20200006'])
  })

  test('a part that is captured in the Customer Area releases the rest as well', async () => {
    const payId = await authorized()
    await shop.settle()
    shop.double.ledger.capture(ledgerOf(payId, await shop.record(payId)), 400, 'by hand')
    await shop.settle()
    expect(await shop.record(payId)).toMatchObject({
      status: 'OK',
      amount: { capturedValue: 400, reversedValue: 600 },
    })
  })

  test('a notice of another amount decides nothing, and the right one after it does', async () => {
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    const [owed] = shop.double.ledger.owed.slice(-1)
    await shop.double.notify([{ ...owed, amount: { value: 1000, currency: 'USD' } }])
    await shop.double.notify([{ ...owed, amount: { value: 1001, currency: 'EUR' } }])
    await shop.apply()
    expect(await shop.record(payId)).toMatchObject({ amount: { capturedValue: 0 } })
    await shop.settle()
    expect(await shop.record(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  })

  test('400 for a demanded challenge without a way back, before Adyen is asked', async () => {
    const asked = shop.double.requests.length
    const card = { threeDsPolicy: { challengePreference: 'MANDATE_CHALLENGE' } }
    const { status, body } = await post('/payments', cardPayment({ ...manual, card }))
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('urls')])
    expect(shop.double.requests).toHaveLength(asked)
  })

  test.each([
    ['the API key', 'keyRefused', 'Adyen refused the API key (HTTP 401)'],
    ['the merchant account', 'accountRefused', 'Adyen refused the merchant account (HTTP 403, error 901)'],
  ] as const)('log and record say that %s was refused', async (_, fault, words) => {
    shop.double.fail(/\/payments$/, fault)
    const { status, body } = await post('/payments', cardPayment(manual))
    expect([status, body.responseCode]).toEqual([422, '21000396'])
    expect((await shop.record(body.payId)).operations).toMatchObject([{ providerResponseText: words }])
    expect((await shop.commands.run('payments', 'show', body.payId)).stdout).toContain(words)
    const logged = shop.gateway.logged.filter(line => line.includes('CREDENTIALS_REFUSED')).at(-1)
    expect(logged).toContain(words)
    expect(logged).toContain(body.xId)
  })

  test('an answer in words of another version is unknown; log and record name the word', async () => {
    shop.double.fail(/\/payments$/, 'newWords')
    const { body } = await post('/payments', cardPayment(manual))
    expect(body.status).toBe('PENDING')
    const logged = shop.gateway.logged.filter(line => line.includes('ANSWER_NOT_UNDERSTOOD')).at(-1)
    expect(logged).toContain('resultCode is Accepted')
    expect((await shop.record(body.payId)).operations[0].providerResponseText).toContain('is Accepted')
    await shop.settle()
    expect(await statusOf(body.payId)).toBe('AUTHORIZED')
  })

  test.each(['newWords', 'wrongEcho'] as const)(
    'a card whose answer was not understood (%s) is undone where no notice comes',
    async fault => {
      shop.double.fail(/\/payments$/, fault)
      const { body } = await post('/payments', cardPayment(manual))
      expect(body.status).toBe('PENDING')
      const told = shop.double.ledger.owed.splice(0)
      clock.move(20 * 60_000)
      await shop.work(clock.nowMs(), true)
      const undone = shop.double.requests.filter(({ path }) => path.endsWith('/cancels'))
      expect(undone.map(request => request.body.paymentReference)).toContain(body.xId)
      shop.double.ledger.owed.push(...told)
    },
  )

  test('what nobody knows is undone at the merchant account that took it, whatever the setting says by then', async () => {
    const other = await startAdyenGateway({ gateway: { clock } })
    try {
      const { double, commands, accountId } = other
      double.fail(/\/payments$/, 'lostAfter')
      const { body } = await other.gateway.call('POST', '/payments', cardPayment(manual))
      expect(body.status).toBe('PENDING')
      await commands.run('provider', 'set', accountId, '--set', 'merchantAccount=AnotherShopECOM')
      // Another process has not read the account before the change.
      const heir = await startTestGateway({ clock, beside: other.gateway })
      clock.move(20 * 60_000)
      await heir.gateway.timerWorker.runDue()
      await other.work(clock.nowMs(), true)
      await heir.stop()
      const cancel = double.requests.find(({ path }) => path.endsWith('/cancels'))
      const { merchantAccount } = double.checkout
      expect(cancel?.body).toMatchObject({ merchantAccount, paymentReference: body.xId })
    } finally {
      await other.stop()
    }
  })

  test('a capture is told by the merchant account that took the payment, also after the setting was changed', async () => {
    const other = await startAdyenGateway({ gateway: { clock } })
    try {
      const { double, commands, accountId, gateway } = other
      const { body } = await gateway.call('POST', '/payments', cardPayment(manual))
      const money = { value: 1000, currency: 'EUR' }
      await gateway.call('POST', `/payments/${body.payId}/captures`, { transId: 'c-1', amount: money })
      await commands.run('provider', 'set', accountId, '--set', 'merchantAccount=AnotherShopECOM')
      const heir = await startTestGateway({ clock, beside: gateway })
      double.noticeUrl = `${heir.url}/providers/${accountId}/notices`
      const [, owed] = double.ledger.owed.splice(0)
      // The same words about the same payment from an account that never had it.
      await double.notify([{ ...owed, merchantAccountCode: 'StrangeECOM', pspReference: 'S000000000000001' }])
      await heir.gateway.notices.runDue()
      expect(await other.record(body.payId)).toMatchObject({ amount: { capturedValue: 0 } })
      await double.notify([owed])
      await heir.gateway.notices.runDue()
      expect(await other.record(body.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
      await heir.stop()
    } finally {
      await other.stop()
    }
  })

  test('a refund is PENDING until its notice comes', async () => {
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    await shop.settle()
    const { body } = await follow(payId, 'refunds', 300)
    expect(body.status).toBe('PENDING')
    await shop.settle()
    expect((await shop.record(payId)).amount).toMatchObject({ capturedValue: 1000, refundedValue: 300 })
  })

  test('an increment, a reversal of a part and one of the rest', async () => {
    const payId = await authorized()
    await follow(payId, 'incrementals', 500)
    await shop.settle()
    await follow(payId, 'reversals', 700)
    await shop.settle()
    expect((await shop.record(payId)).amount).toMatchObject({ authorizedValue: 1500, reversedValue: 700 })
    await follow(payId, 'incrementals', 100)
    await shop.settle()
    await follow(payId, 'reversals', 900)
    await shop.settle()
    expect(await statusOf(payId)).toBe('REVERSED')
  })

  test('422 for a DIRECT card where the account has no raw cards', async () => {
    await shop.commands.run('provider', 'set', shop.accountId, '--set', 'rawCards=false')
    const other = await startAdyenGateway({ rawCards: false })
    try {
      const { status, body } = await other.gateway.call('POST', '/payments', cardPayment())
      expect([status, body.responseCode]).toEqual([422, '20200009'])
    } finally {
      await other.stop()
      await shop.commands.run('provider', 'set', shop.accountId, '--set', 'rawCards=true')
    }
  })

  test('400 for an amount that Adyen cannot express', async () => {
    const { status, body } = await post(
      '/payments',
      cardPayment({ amount: { value: 1050, currency: 'IDR' } }),
    )
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain('amount.value')
  })
})

test('a card on file is set up with the customer, and charged later with the reference of the scheme', async () => {
  const { body } = await post('/payments', cardPayment(planPayment()))
  expect(body.status).toBe('OK')
  const callOf = (reference: string) =>
    shop.double.requests.find(request => request.body.reference === reference)?.body
  const agreement = { recurringProcessingModel: 'Subscription' }
  expect(callOf(body.xId)).toMatchObject({ ...agreement, shopperInteraction: 'Ecommerce' })
  const charge = await post(`/payment-plans/${body.paymentPlanId}/charge`, { transId: 'charge-1' })
  expect([charge.status, charge.body.status]).toEqual([200, 'OK'])
  expect(callOf(charge.body.xId)).toMatchObject({
    ...agreement,
    shopperInteraction: 'ContAuth',
    paymentMethod: { type: 'scheme', number: '4111111111111111', networkPaymentReference: 'NTX123' },
  })
})

describe('notices', () => {
  test('that overtake the answer are applied once', async () => {
    shop.double.beforeAnswer = () => shop.double.notify()
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    await shop.apply()
    expect(await statusOf(payId)).toBe('OK')
  })

  test('twice and in the wrong order do no harm', async () => {
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    const [authorisation, captured] = shop.double.ledger.owed.splice(0)
    for (const item of [captured, authorisation, captured]) await shop.double.notify([item])
    await shop.apply()
    expect((await shop.record(payId)).amount).toMatchObject({ capturedValue: 1000 })
  })

  test('a capture that fails later makes the payment AUTHORIZED again', async () => {
    const payId = await authorized()
    const { body } = await follow(payId, 'captures', 1000)
    await shop.settle()
    const record = await shop.record(payId)
    expect(record.status).toBe('OK')
    const payment = ledgerOf(payId, record)
    const pspReference = capturePspOf(body)
    shop.double.ledger.captureFailed(payment, { pspReference, reference: body.xId, value: 1000 })
    await shop.settle()
    expect(await statusOf(payId)).toBe('AUTHORIZED')
  })

  test('a refund that fails later is given back to the payment', async () => {
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    await shop.settle()
    const { body } = await follow(payId, 'refunds', 400)
    await shop.settle()
    const payment = ledgerOf(payId, await shop.record(payId))
    const pspReference = capturePspOf(body)
    shop.double.ledger.refundFailed(payment, { pspReference, reference: body.xId, value: 400 })
    await shop.settle()
    expect((await shop.record(payId)).amount).toMatchObject({ refundedValue: 0 })
  })

  test('a refund from the Customer Area is recorded', async () => {
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    await shop.settle()
    const payment = ledgerOf(payId, await shop.record(payId))
    shop.double.ledger.refund(payment, 250, 'by hand')
    await shop.settle()
    expect((await shop.record(payId)).amount).toMatchObject({ refundedValue: 250 })
  })

  test('a capture that Adyen refuses leaves the payment AUTHORIZED', async () => {
    const payId = await authorized()
    const payment = ledgerOf(payId, await shop.record(payId))
    // Adyen holds less than we think: somebody has released it there.
    payment.authorised = 500
    await follow(payId, 'captures', 1000)
    await shop.settle()
    expect(await statusOf(payId)).toBe('AUTHORIZED')
    payment.authorised = 1000
  })
})

/** Adyen's id of an operation, as the answer shows it. */
const capturePspOf = (body: AnyJson): string => body.paymentMethods?.card?.providerTransactionId ?? ''

describe('the customer', () => {
  /** Follows redirects as a browser does, until the customer is back at the shop or has a page of ours to read. */
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

  /** Where a page sends the customer on by a form. */
  const readForm = (html: string): string | undefined =>
    /<form[^>]*action="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&')

  test.each([
    ['BLIK', 'approve', 'OK'],
    ['BLIK', 'refuse', 'AUTHORIZE_REQUEST'],
    ['IDEAL', 'approve', 'OK'],
    // A customer of ours may try again, until the payment's time is over.
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

  test('a customer who never comes back has paid all the same: the notice says so', async () => {
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
  ])('who brings back %s has decided nothing: the notice tells', async (_, brought, isRefused) => {
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

  test('3-D Secure by redirect', async () => {
    const request = cardPayment({ urls, card: { number: challengeCard }, ...manual })
    const { body } = await post('/payments', request)
    expect(body).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '70000200' })
    await browse(body._links.redirect.href, 'approve')
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

describe('lost answers', () => {
  const kinds: readonly AdyenFault[] = ['lostBefore', 'lostAfter', 'html500', 'truncated', 'wrongEcho']

  /** Time passes, and everything that waits for it is done. */
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

  test('a capture whose answer was lost is not FAILED because our key is refused by then', async () => {
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
