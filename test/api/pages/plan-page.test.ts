/** The page that begins a plan: amount, interval, first and last charge, and a button that names the obligation. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cardEntries, type OpenPage, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop, urls } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

let sessions = 0

function session(language: string, recurring?: object) {
  sessions += 1
  return shop.call('POST', '/payments/sessions', {
    transId: `plan-${sessions}`,
    amount: { value: 999, currency: 'EUR' },
    urls,
    language,
    allowedPaymentMethod: ['CARD'],
    customerInfo: { merchantCustomerId: 'c-1', email: 'ada@example.com' },
    credentialOnFile: { type: 'RECURRING', initialPayment: true, recurring },
  })
}

async function open(language: string, recurring?: object): Promise<string> {
  const { body } = await session(language, recurring)
  return (await fetch(body._links.redirect.href)).text()
}

test('the page shows amount, interval, first and last charge and how to end the plan, and asks for consent', async () => {
  const page = await open('en', { frequency: 'MONTHLY', useCase: 'FIXED', expiryDate: '2099-12-31' })
  expect(page).toContain('Subscribe and pay €9.99')
  for (const text of [
    'Your subscription',
    'Charge interval',
    '1 month',
    'First charge',
    'Last charge',
    'December 31, 2099',
  ])
    expect(page).toContain(text)
  expect(page).toContain('To end it, contact Shop.')
  const box = /<input type="checkbox" id="planConsent"[^>]*>/.exec(page)?.[0]
  expect(box).toContain('aria-required="true"')
  expect(box).not.toContain('checked')
  expect(page).toContain('I agree that Shop may charge this amount at this interval.')
})

test.each([
  ['MONTHLY', undefined, '2099-12-31', 'December 5, 2099</bdi><br><bdi>(Expires December 31, 2099)'],
  ['MONTHLY', undefined, '2099-12-05', 'December 5, 2099'],
  ['YEARLY', undefined, '2099-12-04', 'December 5, 2098</bdi><br><bdi>(Expires December 4, 2099)'],
  // Their days are not agreed, so any day up to the end may be the last.
  ['MONTHLY', 'FLEXIBLE_FREQUENCY', '2099-12-31', 'December 31, 2099'],
])(
  'the last charge is the last day on which one is due, not the last day of the plan: %s %s %s',
  async (frequency, useCase, expiryDate, shown) => {
    const page = await open('en', { frequency, useCase, startDate: '2090-12-05', expiryDate })
    expect(page).toContain(`<dt>Last charge</dt><dd><bdi>${shown}</bdi></dd>`)
  },
)

test('a plan that ends before its next due day has one charge, today', async () => {
  const { body } = await shop.call('GET', '/test/clock')
  const today = String(body.now).slice(0, 10)
  const page = await open('en', { frequency: 'YEARLY', useCase: 'FIXED', expiryDate: today })
  const [, first] = /<dt>First charge<\/dt><dd><bdi>(.*?)<\/bdi>/.exec(page) ?? []
  expect(page).toContain(`<dt>Last charge</dt><dd><bdi>${first}</bdi></dd>`)
})

test('a plan whose merchant leaves its interval open asks for consent too', async () => {
  const page = await open('en')
  expect(page).toContain('id="planConsent"')
  expect(page).toContain('Until you cancel')
})

test.each([
  ['a flexible amount', { frequency: 'MONTHLY', useCase: 'FLEXIBLE_AMOUNT' }],
  ['flexible days', { frequency: 'MONTHLY', useCase: 'FLEXIBLE_FREQUENCY' }],
  ['no interval', {}],
  ['no use case, which fixes no amount', { frequency: 'MONTHLY' }],
])('with %s the customer agrees to charges of any amount, not of this one', async (_, recurring) => {
  const page = await open('en', recurring)
  expect(page).toContain('I agree that Shop may make further charges without asking me each time.')
  expect(page).not.toContain('may charge this amount')
})

test('a plan without a schedule needs consent as well, but is not called a subscription', async () => {
  const { body } = await shop.call('POST', '/payments/sessions', {
    transId: 'unscheduled',
    amount: { value: 999, currency: 'EUR' },
    urls,
    language: 'en',
    allowedPaymentMethod: ['CARD'],
    customerInfo: { merchantCustomerId: 'c-2', email: 'ada@example.com' },
    credentialOnFile: { type: 'UNSCHEDULED', initialPayment: true, unscheduled: { subType: 'CIT' } },
  })
  const { href } = body._links.redirect
  const shown = await (await fetch(href)).text()
  expect(shown).toContain('I agree that Shop may make further charges without asking me each time.')
  expect(shown).toContain('To end it, contact Shop.')
  expect(shown).toContain('Pay €9.99')
  expect(shown).not.toContain('Subscribe')
  const page = await openPage(href)
  const { planConsent, ...entries } = cardEntries('4111111111111111')
  const refused = await fetch(page.url, {
    method: 'POST',
    body: new URLSearchParams({ ...page.hidden, ...entries }),
  })
  expect(await refused.text()).toContain('Please agree to these charges to continue.')
  await sendForm(await openPage(href), { ...entries, planConsent: planConsent ?? '' })
  expect((await shop.read(body.payId)).status).toBe('OK')
})

test('nothing is charged until the customer has agreed', async () => {
  const { body } = await session('en', { frequency: 'MONTHLY', useCase: 'FIXED' })
  const page = await openPage(body._links.redirect.href)
  const { planConsent, ...entries } = cardEntries('4111111111111111')
  const form = new URLSearchParams({ ...page.hidden, ...entries })
  const refused = await fetch(page.url, { method: 'POST', body: form })
  const shown = await refused.text()
  expect(shown).toContain('Please agree to these charges to subscribe.')
  expect(shown).toContain('value="Ada Lovelace"')
  const before = await shop.call('GET', `/payments/getByPayId/${body.payId}`)
  expect(before.body.status).toBe('AUTHORIZE_REQUEST')

  await sendForm(await openPage(body._links.redirect.href), { ...entries, planConsent: planConsent ?? '' })
  const after = await shop.call('GET', `/payments/getByPayId/${body.payId}`)
  expect(after.body).toMatchObject({ status: 'OK', paymentPlanId: expect.any(String) })
})

test('a link that is paid weeks later: the next payment is due a whole interval after the first', async () => {
  const payer = await openShop(gateway)
  const { body } = await payer.call('POST', '/payments/links', {
    transId: 'link',
    amount: { value: 999, currency: 'EUR' },
    expirationTime: new Date(Date.now() + 60 * 86_400_000).toISOString(),
    allowedPaymentMethod: ['CARD'],
    credentialOnFile: {
      type: 'RECURRING',
      initialPayment: true,
      recurring: { frequency: 'WEEKLY', useCase: 'FIXED', autoCharge: true },
    },
  })
  const today = async () => (await payer.call('GET', '/test/clock')).body.now.slice(0, 10)
  await payer.advance('P20D')
  const paidOn = await today()
  const entries = { ...cardEntries('4111111111111111'), planConsent: 'yes' }
  await sendForm(await openPage(body._links.redirect.href), entries)
  const { paymentPlanId } = await payer.read(body.payId)
  const plan = async () => (await payer.call('GET', `/payment-plans/${paymentPlanId}`)).body
  await payer.advance('P6D')
  expect((await plan()).numberOfPayments).toBe(1)
  await payer.advance('P1D')
  expect(await plan()).toMatchObject({ status: 'ACTIVE', numberOfPayments: 2 })
  const days = (Date.parse((await plan()).nextPaymentDate) - Date.parse(paidOn)) / 86_400_000
  expect(days).toBe(14)
})

test('a link takes no money any more once the plan that it begins is over, even if it was to be open longer', async () => {
  const payer = await openShop(gateway)
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
  const expiryDate = inDays(10).slice(0, 10)
  const over = `${inDays(11).slice(0, 10)}T00:00:00.000Z`
  const made = await payer.call('POST', '/payments/links', {
    transId: 'link',
    amount: { value: 999, currency: 'EUR' },
    expirationTime: inDays(60),
    credentialOnFile: {
      type: 'RECURRING',
      initialPayment: true,
      recurring: { frequency: 'WEEKLY', useCase: 'FIXED', expiryDate },
    },
  })
  expect(made.body.expirationTime).toBe(over)
  const link = `/payments/links/${made.body.id}`
  const changed = await payer.call('PATCH', link, { expirationTime: inDays(50) })
  expect(changed.body).toMatchObject({ status: 'ACTIVE', expirationTime: over })
  await payer.advance('P11D')
  expect((await fetch(made.body._links.redirect.href)).status).toBe(410)
  expect((await payer.call('GET', link)).body.status).toBe('EXPIRED')
  expect((await payer.read(made.body.payId)).status).toBe('FAILED')
})

describe('a plan that the merchant cancels before the customer pays', () => {
  const begin = async () => {
    const { body } = await session('en', { frequency: 'MONTHLY', useCase: 'FIXED' })
    const { paymentPlanId } = await shop.read(body.payId)
    return { payId: body.payId as string, href: body._links.redirect.href as string, paymentPlanId }
  }
  const send = async ({ url, hidden }: OpenPage) =>
    fetch(url, {
      method: 'POST',
      body: new URLSearchParams({ ...hidden, ...cardEntries('4111111111111111') }),
      redirect: 'manual',
    })

  test('200 ends its payment: the page says so, and its form pays nothing', async () => {
    const { payId, href, paymentPlanId } = await begin()
    const page = await openPage(href)
    const { status, body } = await shop.call('POST', `/payment-plans/${paymentPlanId}/cancel`, {
      reason: 'Gone',
    })
    expect([status, body.status, body.cancellationReason]).toEqual([200, 'CANCELLED', 'Gone'])
    expect((await send(page)).headers.get('location')).toContain(urls.cancel)
    const shown = await fetch(href)
    expect([shown.status, (await shown.text()).includes('Subscribe')]).toEqual([410, false])
    expect(await shop.read(payId)).toMatchObject({ status: 'FAILED', responseCode: '29000704' })
    expect(await shop.events(payId)).toMatchObject([{ status: 'FAILED', responseCode: '29000704' }])
    const again = await shop.call('POST', `/payment-plans/${paymentPlanId}/cancel`, {})
    expect([again.status, again.body.cancellationReason]).toEqual([200, 'Gone'])
  })

  test('410 its page takes no payment where only the plan could be ended; cancelling again ends both', async () => {
    const { payId, href, paymentPlanId } = await begin()
    const page = await openPage(href)
    const cancelled = "status = 'CANCELLED', cancelled_at = now(), version = version + 1"
    await queryRows(
      gateway.databaseUrl,
      `UPDATE payment_plan SET ${cancelled} WHERE plan_id = '${paymentPlanId}'`,
    )
    expect((await send(page)).headers.get('location')).toContain(urls.cancel)
    const shown = await fetch(href)
    expect([shown.status, (await shown.text()).includes('Subscribe')]).toEqual([410, false])
    expect((await shop.read(payId)).status).toBe('AUTHORIZE_REQUEST')
    await shop.call('POST', `/payment-plans/${paymentPlanId}/cancel`, {})
    expect((await shop.read(payId)).responseCode).toBe('29000704')
  })

  test('a plan that has begun keeps its payment', async () => {
    const { payId, href, paymentPlanId } = await begin()
    await send(await openPage(href))
    await shop.call('POST', `/payment-plans/${paymentPlanId}/cancel`, {})
    expect((await shop.read(payId)).status).toBe('OK')
  })
})

test.each([
  ['de', true, 'diese und spätere Zahlungen'],
  ['de', false, 'diese Zahlung von'],
  ['en', true, 'to collect this payment and later ones'],
  ['en', false, 'to collect this payment from'],
])(
  'the mandate of a direct debit is for all debits of a plan, not for the first alone: %s %s',
  async (language, begins, text) => {
    const plan = { type: 'RECURRING', initialPayment: true, recurring: { frequency: 'MONTHLY' } }
    const { body } = await shop.call('POST', '/payments/sessions', {
      transId: `mandate ${language} ${begins}`,
      amount: { value: 999, currency: 'EUR' },
      urls,
      language,
      allowedPaymentMethod: ['DIRECTDEBIT'],
      ...(begins ? { credentialOnFile: plan } : {}),
    })
    expect(await (await fetch(body._links.redirect.href)).text()).toContain(text)
  },
)

test('a HOSTED payment with a provider’s page asks for consent before it leads there', async () => {
  const { status, body } = await shop.call('POST', '/payments', {
    transId: 'hosted-plan',
    amount: { value: 999, currency: 'EUR' },
    urls,
    language: 'en',
    credentialOnFile: {
      type: 'RECURRING',
      initialPayment: true,
      recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
    },
    paymentMethods: { integrationType: 'HOSTED', type: 'PROVIDERP' },
  })
  expect([status, body.status]).toEqual([200, 'AUTHORIZE_REQUEST'])
  const page = await openPage(body._links.redirect.href)
  expect(page.html).toContain('I agree that Shop may charge this amount at this interval.')
  expect(await sendForm(page, { type: 'PROVIDERP' })).toBe(422)
  expect(await sendForm(page, { type: 'PROVIDERP', planConsent: 'yes' })).toBe(303)
  await sendForm(await openPage(page.url), { action: 'approve' })
  const { status: paid, paymentPlanId } = await shop.read(body.payId)
  const plan = await shop.call('GET', `/payment-plans/${paymentPlanId}`)
  expect([paid, plan.body.status]).toEqual(['OK', 'ACTIVE'])
})

test('the terms are in the customer’s language, and a plan without an end says so', async () => {
  const page = await open('de', { frequency: 'YEARLY', useCase: 'FIXED' })
  for (const text of ['Abonnieren und 9,99', 'Bis Sie kündigen', '1 Jahr']) expect(page).toContain(text)
})
