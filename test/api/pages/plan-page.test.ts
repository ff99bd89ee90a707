/** The page that begins a plan: what is charged, how often, from when until when, and a button that says so. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cardEntries, openPage, sendForm } from '#test/support/customer-page.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop, urls } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

let sessions = 0

function session(language: string, recurring: object) {
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

async function open(language: string, recurring: object): Promise<string> {
  const { body } = await session(language, recurring)
  return (await fetch(body._links.redirect.href)).text()
}

test('the page shows amount, interval, first and last charge and how to end the plan, and asks for consent', async () => {
  const page = await open('en', { frequency: 'MONTHLY', useCase: 'FIXED', expiryDate: '2099-12-31' })
  expect(page).toContain('Subscribe and pay €9.99')
  for (const text of [
    'Your subscription',
    'Charged every',
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

test('the terms are in the customer’s language, and a plan without an end says so', async () => {
  const page = await open('de', { frequency: 'YEARLY', useCase: 'FIXED' })
  for (const text of ['Abonnieren und 9,99', 'Bis Sie kündigen', '1 Jahr']) expect(page).toContain(text)
})
