/**
 * Customers on Stripe's page, through a real gateway, and Stripe's notices: in order, reversed, twice, early, never and
 * forged. In every case both books agree.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPage } from '#test/support/browser/customer-page.ts'
import { createTestClock, secondMs } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'
import { openStripeShop, type StripeShop } from '#test/support/stripe/account.ts'
import { challengedCard } from '#test/support/stripe/books.ts'
import {
  deliverTo,
  expectSameBooksAt,
  type Manner,
  orderBy as order,
  readRecord,
  urls,
} from '#test/support/stripe/orders.ts'

/** Stripe's own deadlines are real time, so this clock begins there. */
const clock = createTestClock(Date.now())
let shop: StripeShop
/** A shop whose account allows raw cards. */
let direct: StripeShop
beforeAll(async () => {
  shop = await openStripeShop({ clock, requestsPerSecond: 10_000 })
  direct = await openStripeShop({ clock, settings: { rawCards: 'true' }, requestsPerSecond: 10_000 })
})
afterAll(async () => {
  clock.move(60 * secondMs)
  for (const { gateway } of [shop, direct]) {
    // The last inquiry about an ended page finds nothing to do.
    await gateway.gateway.timerWorker.runDue()
    // An undone operation rightly has a second event.
    const { 'an operation is told of once': _, ...broken } = await findBrokenRules(gateway.databaseUrl)
    expect(broken).toEqual({})
  }
  await shop.stop()
  await direct.stop()
})

const read = (payId: string, of: StripeShop = shop) => readRecord(of, payId)
const deliver = (manner?: Manner, to: StripeShop = shop) => deliverTo(to, manner)
const expectSameBooks = (payId: string, of: StripeShop = shop) => expectSameBooksAt(of, payId)
const open = async (url: string) => fetch(url, { redirect: 'manual' })
const go = async (url: string): Promise<string> => (await open(url)).headers.get('location') ?? ''

/** Chooses the method on our own page, and returns the address to which the page sends the customer. */
async function chooseCard(url: string): Promise<string> {
  const own = await openPage(url)
  expect(own.html).not.toContain('name="securityCode"')
  const body = new URLSearchParams({ ...own.hidden, type: 'CARD', planConsent: 'yes' })
  const answer = await fetch(own.url, { method: 'POST', body })
  return /href="(http[^"]*\/c\/pay\/[^"]+)"/.exec(await answer.text())?.[1] ?? ''
}

interface Visit {
  readonly payId: string
  /** Our own page, which redirects the customer. */
  readonly own: string
  /** Stripe's page. */
  readonly page: string
  readonly sessionId: string
}

async function visit(type = 'IDEAL', more: Record<string, unknown> = {}): Promise<Visit> {
  const { body } = await shop.gateway.call('POST', '/payments', order(type, more))
  expect(body).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '60000100' })
  const own = body._links.redirect.href
  const page = await go(own)
  return { payId: body.payId, own, page, sessionId: page.split('/').at(-1) ?? '' }
}

describe('Stripe’s page', () => {
  test('paid, returned and redirected to the shop; reloading and returning twice change nothing', async () => {
    const { payId, own, page } = await visit()
    expect(await go(own)).toBe(page)
    const back = await go(`${page}?choice=yes`)
    expect(await go(back)).toBe(`${urls.return}?PayId=${payId}`)
    expect(await go(back)).toBe(`${urls.return}?PayId=${payId}`)
    expect(await read(payId)).toMatchObject({
      status: 'OK',
      amount: { capturedValue: 1000 },
      provider: { connector: 'stripe' },
    })
    await deliver()
    await expectSameBooks(payId)
  })

  test('left by its cancel link: cancelled, and it can no longer be paid', async () => {
    const { payId, page } = await visit()
    await go(await go(`${page}?choice=no`))
    expect(await read(payId)).toMatchObject({ status: 'FAILED', responseCode: '23000703' })
    await go(`${page}?choice=yes`)
    await deliver()
    await expectSameBooks(payId)
  })

  test('paid, and the customer never returns: the notice completes the payment', async () => {
    const { payId, page } = await visit()
    await go(`${page}?choice=yes`)
    await deliver()
    expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    await expectSameBooks(payId)
  })

  test.each(['reversed', 'twice'] as const)('notices %s have the same result', async manner => {
    const { payId, page } = await visit()
    await go(`${page}?choice=yes`)
    await deliver(manner)
    expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    await expectSameBooks(payId)
  })

  test('neither notice nor return: the inquiry finds the payment', async () => {
    const { payId, page } = await visit()
    await go(`${page}?choice=yes`)
    shop.double.takeEvents()
    clock.move(10 * secondMs)
    await shop.gateway.gateway.timerWorker.runDue()
    expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    await expectSameBooks(payId)
  })

  test('a forged notice is refused and changes nothing', async () => {
    const { payId, page, sessionId } = await visit()
    shop.double.takeEvents()
    const session = shop.double.books.showSession(shop.double.books.findSession(sessionId))
    const object = { ...session, status: 'complete', payment_status: 'paid', payment_intent: 'pi_forged' }
    const payload = JSON.stringify({ id: 'evt_forged', type: 'checkout.session.completed', data: { object } })
    const forged = shop.double.sign(payload, 'whsec_guessed')
    expect(await shop.double.send(shop.noticeUrl, payload, forged)).toBe(401)
    expect(
      await shop.double.send(
        shop.noticeUrl,
        payload.replace('evt_forged', 'evt_other'),
        shop.double.sign(payload),
      ),
    ).toBe(401)
    await shop.gateway.gateway.notices.runDue()
    expect((await read(payId)).status).toBe('AUTHORIZE_REQUEST')
    expect(page).toContain(sessionId)
  })

  test('a genuine notice about another amount changes nothing', async () => {
    const { payId, sessionId } = await visit()
    const session = shop.double.books.showSession(shop.double.books.findSession(sessionId))
    const object = {
      ...session,
      amount_total: 1,
      status: 'complete',
      payment_status: 'paid',
      payment_intent: 'pi_other',
    }
    const payload = JSON.stringify({ id: 'evt_amount', type: 'checkout.session.completed', data: { object } })
    expect(await shop.double.send(shop.noticeUrl, payload)).toBe(200)
    await shop.gateway.gateway.notices.runDue()
    expect((await read(payId)).status).toBe('AUTHORIZE_REQUEST')
  })

  test('a page that expires at Stripe ends the payment', async () => {
    const { payId, sessionId } = await visit()
    shop.double.books.expireSession(sessionId)
    await deliver()
    expect(await read(payId)).toMatchObject({ status: 'FAILED', responseCode: '23000402' })
  })

  test('a payment that stays open longer than Stripe’s page gets a new one, by notice or by inquiry', async () => {
    const expirationTime = new Date(clock.nowMs() + 3 * 86_400_000).toISOString()
    const { payId, own, page, sessionId } = await visit('IDEAL', { expirationTime })
    shop.double.books.expireSession(sessionId)
    await deliver('twice')
    expect(await read(payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '60000100' })
    const second = await go(own)
    expect(second).not.toBe(page)
    expect(await go(own)).toBe(second)
    shop.double.books.expireSession(second.split('/').at(-1) ?? '')
    shop.double.takeEvents()
    clock.move(10 * secondMs)
    await shop.gateway.gateway.timerWorker.runDue()
    const third = await go(own)
    expect(third).not.toBe(second)
    expect(await go(await go(`${third}?choice=yes`))).toBe(`${urls.return}?PayId=${payId}`)
    expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    await deliver()
    await expectSameBooks(payId)
  })
})

test('the end of a page on which a try has failed ends no payment that stays open longer', async () => {
  const expirationTime = new Date(clock.nowMs() + 3 * 86_400_000).toISOString()
  const { payId, own, page, sessionId } = await visit('IDEAL', { expirationTime })
  shop.double.books.payOnPage(sessionId, 'generic_decline')
  shop.double.books.expireSession(sessionId)
  await deliver()
  expect(await read(payId)).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '60000100' })
  const second = await go(own)
  expect(second).not.toBe(page)
  await go(await go(`${second}?choice=yes`))
  await deliver()
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
})

test('200 the list of methods has the names that customers see', async () => {
  const { body } = await shop.gateway.call('GET', '/payment-methods')
  const named = (type: string) => body.data.find((row: { type: string }) => row.type === type)?.name
  expect(named('PROVIDERK')).toBe('Klarna')
  expect(named('IDEAL')).toContain('iDEAL')
})

describe('our own page without card numbers', () => {
  test('sends customers who choose a card to Stripe, with a new page for each try', async () => {
    const card = { paymentMethods: { integrationType: 'HOSTED', type: 'CARD' } }
    const { body } = await shop.gateway.call('POST', '/payments', order('CARD', card))
    const { fields } = shop.double.calls.findLast(({ path }) => path.endsWith('/checkout/sessions')) ?? {
      fields: {},
    }
    expect(fields).toMatchObject({ client_reference_id: body.xId })
    const first = await go(body._links.redirect.href)
    expect(first).toContain('/c/pay/')
    await go(await go(`${first}?choice=no`))
    expect((await read(body.payId)).status).toBe('AUTHORIZE_REQUEST')
    const second = await chooseCard(body._links.redirect.href)
    expect(second).not.toBe(first)
    await go(await go(`${second}?choice=yes`))
    expect(await read(body.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
    await deliver('reversed')
    await expectSameBooks(body.payId)
  })
})

test.each(['returns', 'never returns', 'never returns, and Stripe fails once'])(
  'a plan that was begun on Stripe’s page is charged with Stripe’s token: the customer %s',
  async how => {
    const { body } = await shop.gateway.call('POST', '/payments', {
      ...order('CARD', { paymentMethods: { integrationType: 'HOSTED', type: 'CARD' } }),
      credentialOnFile: {
        type: 'RECURRING',
        initialPayment: true,
        recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
      },
      customerInfo: { merchantCustomerId: `on Stripe’s page: ${how}`, email: 'ada@example.com' },
    })
    const page = await chooseCard(body._links.redirect.href)
    const back = await go(`${page}?choice=yes`)
    // The event of the session comes first and has no more than its intent's id.
    if (how.endsWith('once')) shop.double.arm('GET', /sessions/, 'error page')
    await (how === 'returns' ? go(back) : deliver('reversed'))
    const charge = await shop.gateway.call('POST', `/payment-plans/${body.paymentPlanId}/charge`, {
      transId: `charge-page ${how}`,
    })
    expect([charge.status, charge.body.status]).toEqual([200, 'OK'])
    const { fields } = shop.double.calls.findLast(({ path }) => path.endsWith('/payment_intents')) ?? {
      fields: {},
    }
    expect(fields).toMatchObject({
      off_session: 'true',
      customer: expect.stringMatching(/^cus_/),
      payment_method: expect.stringMatching(/^pm_/),
    })
    await expectSameBooks(charge.body.payId)
  },
)

// Stripe cannot charge Bancontact again: it stores the account behind it as a SEPA debit.
test.each(['returns', 'never returns'])(
  'a plan that was begun with Bancontact is charged as the SEPA debit that Stripe stored: the customer %s',
  async how => {
    const { body } = await shop.gateway.call('POST', '/payments', {
      ...order('BANCONTACT'),
      credentialOnFile: {
        type: 'RECURRING',
        initialPayment: true,
        recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
      },
    })
    const page = await go(body._links.redirect.href)
    const back = await go(`${page}?choice=yes`)
    await (how === 'returns' ? go(back) : deliver('reversed'))
    const charge = await shop.gateway.call('POST', `/payment-plans/${body.paymentPlanId}/charge`, {
      transId: `charge-bancontact ${how}`,
    })
    expect([charge.status, charge.body.status]).toEqual([200, 'PENDING'])
    const { intents } = shop.double.books
    const debit = [...intents.values()].find(({ metadata }) => metadata.tollgate === charge.body.xId)
    if (debit) shop.double.books.succeed(debit)
    await deliver()
    expect((await read(charge.body.payId)).status).toBe('OK')
    await expectSameBooks(charge.body.payId)
  },
)

test('a notice that has waited a minute for Stripe’s token completes the payment without it', async () => {
  const { body } = await shop.gateway.call('POST', '/payments', {
    ...order('CARD', { paymentMethods: { integrationType: 'HOSTED', type: 'CARD' } }),
    credentialOnFile: { type: 'RECURRING', initialPayment: true, recurring: { frequency: 'MONTHLY' } },
  })
  const page = await chooseCard(body._links.redirect.href)
  await go(`${page}?choice=yes`)
  const failing = new RegExp(page.split('/').at(-1) ?? '')
  for (const tried of [4, 5]) {
    for (let call = 0; call < 4; call += 1) shop.double.arm('GET', failing, 'error page')
    if (tried === 4) await shop.double.deliver(shop.noticeUrl)
    await queryRows(
      shop.gateway.databaseUrl,
      "UPDATE notice_item SET attempt = $1, due_at = now() WHERE state = 'PENDING'",
      [tried],
    )
    await shop.gateway.gateway.notices.runDue()
    expect((await read(body.payId)).status).toBe(tried === 4 ? 'AUTHORIZE_REQUEST' : 'OK')
  }
})

test('a payment that a notice completed has the id of its charge, under which Stripe settles it', async () => {
  const { payId, page } = await visit()
  await go(`${page}?choice=yes`)
  await deliver('reversed')
  const [, capture] = (await read(payId)).operations
  expect(capture).toMatchObject({ type: 'CAPTURE', providerTransactionId: expect.stringMatching(/^py_/) })
})

test('a part of what a notice approved is captured, where the account has no multicapture', async () => {
  shop.double.books.capturesOnce = true
  const captureMethod = { type: 'MANUAL' }
  const paymentMethods = { integrationType: 'HOSTED', type: 'CARD' }
  const { body } = await shop.gateway.call(
    'POST',
    '/payments',
    order('CARD', { paymentMethods, captureMethod }),
  )
  await go(`${await go(body._links.redirect.href)}?choice=yes`)
  await deliver()
  const part = { transId: `part-${body.payId}`, amount: { value: 400, currency: 'EUR' } }
  const { status } = await shop.gateway.call('POST', `/payments/${body.payId}/captures`, part)
  shop.double.books.capturesOnce = false
  expect([status, shop.double.calls.at(-1)?.fields.final_capture]).toEqual([200, undefined])
  expect((await read(body.payId)).amount).toMatchObject({ capturedValue: 400, reversedValue: 600 })
  await deliver()
  await expectSameBooks(body.payId)
})

test('the end of the page alone tells of an authorisation, if the endpoint gets no events of intents', async () => {
  const paymentMethods = { integrationType: 'HOSTED', type: 'CARD' }
  const { payId, page } = await visit('CARD', { paymentMethods, captureMethod: { type: 'MANUAL' } })
  await go(`${page}?choice=yes`)
  const told = shop.double.takeEvents().map(({ payload }) => payload)
  const ended = told.filter(payload => JSON.parse(payload).type === 'checkout.session.completed')
  expect(JSON.parse(ended[0] ?? '').data.object).toMatchObject({ payment_status: 'unpaid' })
  for (const payload of ended) await shop.double.send(shop.noticeUrl, payload)
  await shop.gateway.gateway.notices.runDue()
  expect(await read(payId)).toMatchObject({ status: 'AUTHORIZED', amount: { authorizedValue: 1000 } })
})

test('a notice completes the payment also while Stripe answers no question', async () => {
  const { payId, page, sessionId } = await visit()
  await go(`${page}?choice=yes`)
  // One for each event: the first of them alone must decide.
  for (const _ of ['session', 'intent']) shop.double.arm('GET', new RegExp(sessionId), 'error page')
  await deliver('reversed')
  expect(await read(payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  await expectSameBooks(payId)
})

test('cancelling a payment first ends Stripe’s page; if it was paid, the payment continues as paid', async () => {
  const left = await visit()
  const cancel = (payId: string) => shop.gateway.call('POST', `/payments/${payId}/cancellations`, {})
  expect((await cancel(left.payId)).status).toBe(200)
  expect(shop.double.books.findSession(left.sessionId).status).toBe('expired')
  const paid = await visit()
  await go(`${paid.page}?choice=yes`)
  const refused = await cancel(paid.payId)
  expect([refused.status, refused.body.responseCode]).toEqual([422, '20200014'])
  expect(await read(paid.payId)).toMatchObject({ status: 'OK', amount: { capturedValue: 1000 } })
  await deliver()
  await expectSameBooks(paid.payId)
})

test('a second page of Stripe that the customer opens during a cancellation is ended too', async () => {
  const session = { transId: 'two pages', amount: { value: 1000, currency: 'EUR' }, urls }
  const { body } = await shop.gateway.call('POST', '/payments/sessions', session)
  const own = body._links.redirect.href
  await chooseCard(own)
  let second = ''
  // The customer chooses again in another tab just when the first page has ended.
  shop.double.beforeAnswer = async () => {
    shop.double.beforeAnswer = undefined
    second = await chooseCard(own)
  }
  const { status } = await shop.gateway.call('POST', `/payments/${body.payId}/cancellations`, {})
  expect(status).toBe(200)
  expect(second).not.toBe('')
  expect(shop.double.books.findSession(second.split('/').at(-1) ?? '').status).toBe('expired')
  expect(await read(body.payId)).toMatchObject({ status: 'FAILED', responseCode: '21000704' })
  await deliver()
  await expectSameBooks(body.payId)
})

test('if Stripe’s page cannot be ended when the customer turns back, money paid there later is given back', async () => {
  const { payId, own, page } = await visit()
  shop.double.arm('POST', /\/expire$/, 'error page')
  const back = await fetch(`${own}/cancel`, {
    method: 'POST',
    body: new URLSearchParams(),
    redirect: 'manual',
  })
  expect(back.headers.get('location')).toBe(`${urls.cancel}?PayId=${payId}`)
  expect(await read(payId)).toMatchObject({ status: 'FAILED', responseCode: '23000703' })
  await go(`${page}?choice=yes`)
  await deliver()
  const [refundId = ''] = [...shop.double.books.refunds.keys()].slice(-1)
  shop.double.books.moveRefund(refundId, 'succeeded')
  await deliver()
  expect(await read(payId)).toMatchObject({
    status: 'REVERSED',
    amount: { capturedValue: 1000, refundedValue: 1000 },
  })
  await expectSameBooks(payId)
})

describe('a challenge', () => {
  test.each([
    ['yes', 'OK', '00000000'],
    ['no', 'FAILED', '21000305'],
  ])('answered with %s ends as %s', async (choice, status, responseCode) => {
    const payment = cardPayment({ card: { number: challengedCard }, urls })
    const { body } = await direct.gateway.call('POST', '/payments', payment)
    expect(body).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '70000200' })
    const challenge = await go(body._links.redirect.href)
    expect(await go(await go(`${challenge}?choice=${choice}`))).toContain('https://shop.example/')
    expect(await read(body.payId, direct)).toMatchObject({ status, responseCode })
    await deliver('in order', direct)
    await expectSameBooks(body.payId, direct)
  })
})
