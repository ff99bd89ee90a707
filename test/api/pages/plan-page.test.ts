/** The page that begins a plan: what is charged, how often, from when until when, and a button that says so. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { openShop, type Shop, urls } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
beforeAll(async () => {
  gateway = await startTestGateway()
  shop = await openShop(gateway)
})
afterAll(() => gateway.stop())

async function open(language: string, recurring: object): Promise<string> {
  const { body } = await shop.call('POST', '/payments/sessions', {
    transId: `plan-${language}-${JSON.stringify(recurring).length}`,
    amount: { value: 999, currency: 'EUR' },
    urls,
    language,
    allowedPaymentMethod: ['CARD'],
    customerInfo: { merchantCustomerId: 'c-1', email: 'ada@example.com' },
    credentialOnFile: { type: 'RECURRING', initialPayment: true, recurring },
  })
  return (await fetch(body._links.redirect.href)).text()
}

test('tells amount, interval, first and last charge, how to end it, and asks for consent', async () => {
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
  expect(page).toMatch(
    /By continuing you agree that .* may charge this amount at this interval\. To end it, contact/,
  )
})

test('in the customer’s language, and without an end until it is cancelled', async () => {
  const page = await open('de', { frequency: 'YEARLY', useCase: 'FIXED' })
  for (const text of ['Abonnieren und 9,99', 'Bis Sie kündigen', '1 Jahr']) expect(page).toContain(text)
})
