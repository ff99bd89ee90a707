/** Card payments through a real gateway and a double of Adyen. After each test both books agree to the cent. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type AdyenGateway, startAdyenGateway } from '#test/support/adyen/gateway.ts'
import { type AdyenPayments, ledgerOf, manual, payThrough } from '#test/support/adyen/payments.ts'
import { createTestClock, type TestClock } from '#test/support/clock.ts'
import { applyNotices, cardPayment, startTestGateway } from '#test/support/gateway.ts'
import { planPayment } from '#test/support/plans.ts'
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

  const iban = 'DE89370400440532013000'
  const account = { number: iban, accountHolderName: 'Ada Lovelace' }
  const debit = { integrationType: 'DIRECT', type: 'DIRECTDEBIT', directDebit: { account } }
  test.each([
    ['a card', cardPayment({ card: { securityCode: '737' } })],
    ['an account', { ...cardPayment(), paymentMethods: debit }],
  ])('a refusal that quotes what was sent is shown without it: %s', async (_, request) => {
    shop.double.fail(/\/payments$/, 'quotes')
    const { status, body } = await post('/payments', request)
    expect([status, body.responseCode.slice(-4)]).toEqual([422, '0314'])
    const record = JSON.stringify(await shop.record(body.payId))
    expect(record).toContain('Invalid: ')
    const rows = JSON.stringify(
      await queryRows(shop.gateway.databaseUrl, `SELECT * FROM operation WHERE pay_id = '${body.payId}'`),
    )
    for (const secret of ['4111111111111111', ' 737', iban, shop.double.apiKey]) {
      for (const shown of [JSON.stringify(body), record, rows, shop.gateway.logged.join('')])
        expect(shown).not.toContain(secret)
    }
  })

  test('a capture is PENDING until its notice arrives; a partial one releases the rest', async () => {
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

  test('a partial capture in the Customer Area releases the rest as well', async () => {
    const payId = await authorized()
    await shop.settle()
    shop.double.ledger.capture(ledgerOf(shop, await shop.record(payId)), 400, 'by hand')
    await shop.settle()
    expect(await shop.record(payId)).toMatchObject({
      status: 'OK',
      amount: { capturedValue: 400, reversedValue: 600 },
    })
  })

  test('a notice with another amount is not applied, the correct one after it is', async () => {
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

  test('400 for a demanded challenge without a return address, before Adyen is called', async () => {
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

  test('a refused API key is no decline of the card', async () => {
    const { merchants } = shop.gateway.gateway
    const { merchantId } = shop.gateway
    await merchants.set(merchantId, { declinesPerCard: '1/PT1H' })
    const pay = async () =>
      (await post('/payments', cardPayment({ card: { number: '4532015112830366' } }))).body
    shop.double.fail(/\/payments$/, 'keyRefused')
    expect((await pay()).responseCode).toBe('21000396')
    expect((await pay()).status).toBe('OK')
    await merchants.set(merchantId, { declinesPerCard: 'none' })
  })

  test('an answer with a value of another API version is unknown; log and record name the value', async () => {
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
    'a card payment whose answer was not understood (%s) is undone if no notice arrives',
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

  test('a card payment without an answer stays PENDING while Adyen refuses the undo, and is undone by the next one', async () => {
    shop.double.fail(/\/payments$/, 'lostAfter')
    const { body } = await post('/payments', cardPayment(manual))
    expect(body.status).toBe('PENDING')
    // The notice is lost.
    shop.double.ledger.owed.splice(0)
    shop.double.fail(/\/cancels$/, 'turnedAway')
    const asked = shop.double.requests.length
    clock.move(20 * 60_000)
    await shop.work(clock.nowMs(), true)
    expect(shop.double.requests.slice(asked).map(({ path }) => path)).toEqual(['/v72/cancels'])
    expect(await statusOf(body.payId)).toBe('PENDING')
    clock.move(60 * 60_000)
    await shop.work(clock.nowMs())
    expect(await statusOf(body.payId)).toBe('FAILED')
  })

  test('an unknown payment is undone at the merchant account that took it, even if the setting has changed', async () => {
    const other = await startAdyenGateway({ gateway: { clock } })
    try {
      const { double, commands, accountId } = other
      double.fail(/\/payments$/, 'lostAfter')
      const { body } = await other.gateway.call('POST', '/payments', cardPayment(manual))
      expect(body.status).toBe('PENDING')
      await commands.run('provider', 'set', accountId, '--set', 'merchantAccount=AnotherShopECOM')
      // This process has not cached the account before the change.
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

  test('a capture notice of the merchant account that took the payment is applied after the setting was changed', async () => {
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
      // The same notice from a merchant account that never had the payment.
      await double.notify([{ ...owed, merchantAccountCode: 'StrangeECOM', pspReference: 'S000000000000001' }])
      await applyNotices(heir, gateway)
      expect(await other.record(body.payId)).toMatchObject({ amount: { capturedValue: 0 } })
      await double.notify([owed])
      await applyNotices(heir, gateway)
      expect(await other.record(body.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
      await heir.stop()
    } finally {
      await other.stop()
    }
  })

  test.each([
    ['is known', []],
    ['was lost', ['lostAfter']],
  ] as const)(
    'a capture that fails later stays failed, without an operator, if the notice of its success comes last and its answer %s',
    async (_, faults) => {
      const payId = await authorized()
      await shop.settle()
      for (const fault of faults) shop.double.fail(/captures$/, fault)
      await follow(payId, 'captures', 1000)
      const [success] = shop.double.ledger.owed.splice(0)
      const { pspReference, merchantReference: reference } = success
      const captured = { pspReference, reference, value: 1000 }
      shop.double.ledger.captureFailed(ledgerOf(shop, await shop.record(payId)), captured)
      await shop.settle()
      await shop.double.notify([success])
      await shop.apply()
      expect(await shop.record(payId)).toMatchObject({ status: 'AUTHORIZED', amount: { capturedValue: 0 } })
      expect(shop.gateway.logged.filter(line => line.includes('PAID_TWICE'))).toEqual([])
    },
  )

  test('a refund is PENDING until its notice arrives', async () => {
    const payId = await authorized()
    await follow(payId, 'captures', 1000)
    await shop.settle()
    const { body } = await follow(payId, 'refunds', 300)
    expect(body.status).toBe('PENDING')
    await shop.settle()
    expect((await shop.record(payId)).amount).toMatchObject({ capturedValue: 1000, refundedValue: 300 })
  })

  // One capture closes a payment at Adyen, whatever is held by then.
  test('an increment that is told after a capture of all that was known is released', async () => {
    const payId = await authorized()
    await shop.settle()
    await follow(payId, 'incrementals', 500)
    await follow(payId, 'captures', 1000)
    const [raised, captured] = shop.double.ledger.owed.splice(0)
    await shop.double.notify([captured])
    await shop.apply()
    await shop.double.notify([raised])
    await shop.apply()
    expect((await shop.record(payId)).amount).toMatchObject({ authorizedValue: 1500, reversedValue: 500 })
  })

  test('a partial reversal that fails after the capture that released the rest opens nothing', async () => {
    const payId = await authorized()
    await shop.settle()
    shop.double.ledger.declining.add('REVERSAL')
    await follow(payId, 'reversals', 300)
    await follow(payId, 'captures', 100)
    const [reversed, captured] = shop.double.ledger.owed.splice(0)
    await shop.double.notify([captured])
    await shop.apply()
    await shop.double.notify([reversed])
    await shop.apply()
    expect((await shop.record(payId)).amount).toMatchObject({ capturedValue: 100, reversedValue: 900 })
  })

  // Adyen tells the new total of 200 only, which is less than the reversed amount.
  test('a partial reversal of most of the authorisation', async () => {
    const payId = await authorized()
    expect((await follow(payId, 'reversals', 800)).body.status).toBe('PENDING')
    await shop.settle()
    expect(await shop.record(payId)).toMatchObject({ status: 'AUTHORIZED', amount: { reversedValue: 800 } })
    await follow(payId, 'captures', 200)
    await shop.settle()
    expect(await shop.record(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 200 } })
  })

  test('an increment, a partial reversal and a reversal of the rest', async () => {
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

  // Adyen takes the new total. Two totals computed from the same sum would overwrite each other.
  test.each([
    ['incrementals', 'incrementals'],
    ['incrementals', 'reversals'],
    ['reversals', 'incrementals'],
    ['reversals', 'reversals'],
  ])('%s without an answer, and %s meanwhile: 422, wait', async (first, second) => {
    const payId = await authorized()
    expect((await follow(payId, first, 500)).body.status).toBe('PENDING')
    const { status, body } = await follow(payId, second, 200)
    expect([status, body.responseCode]).toEqual([422, '20200014'])
    await shop.settle()
    expect((await follow(payId, second, 200)).status).toBe(200)
    await shop.settle()
    const total = (first === 'reversals' ? 500 : 1500) + (second === 'reversals' ? -200 : 200)
    expect(ledgerOf(shop, await shop.record(payId)).authorised).toBe(total)
    const { authorizedValue, reversedValue } = (await shop.record(payId)).amount
    expect(authorizedValue - reversedValue).toBe(total)
  })

  test('422 for a DIRECT card if the account allows no raw cards', async () => {
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

test('a card on file is set up with the customer, and charged later with the scheme reference', async () => {
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
