import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getPage as get, postPage as post } from '#test/support/browser/customer-page.ts'
import { openPageShop, type PageShop } from '#test/support/browser/page-shop.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'

const urls = { return: 'https://shop.example/thanks?a=b%20c#top', cancel: 'https://shop.example/basket?' }
const number = '4111111111111111'
const card = { type: 'CARD', number, expiry: '12/39', securityCode: '739', cardholderName: 'Ada Lovelace' }

let gateway: TestGateway
let shop: PageShop
beforeAll(async () => {
  gateway = await startTestGateway({ logLevel: 'debug' })
  shop = await openPageShop(gateway, { urls })
})
afterAll(() => gateway.stop())

const untouched = ['AUTHORIZE_REQUEST', ['60000100']]

let orders = 0

describe('known customers', () => {
  const known = (merchantCustomerId: string) => ({
    customerInfo: { merchantCustomerId, email: 'ada@shop.example' },
  })
  const pay = async (href: string, change: Record<string, string> = {}) => {
    const { attempt } = await get(href)
    return post(href, { ...card, attempt, ...change })
  }
  const stored = async (payId: string): Promise<{ id: string; last4Digits: string }[]> => {
    const { customerInfo } = await shop.read(payId)
    return (await shop.call('GET', `/customers/${customerInfo.gatewayCustomerId}/paymentMethods`)).body.data
  }

  // Each line: who asks for the card, what the customer ticks, and whether the card is kept.
  test.each([
    ['session', {}, {}, false],
    ['session', {}, { saveCard: 'yes' }, true],
    [
      'session',
      { credentialOnFile: { type: 'UNSCHEDULED', initialPayment: true } },
      { planConsent: 'yes' },
      true,
    ],
    ['link', {}, {}, false],
    ['link', {}, { saveCard: 'yes' }, true],
    ['link', { linkType: 'TOKENIZE' }, {}, true],
  ] as const)('303 %s %j %j: kept %s', async (kind, more, ticked, kept) => {
    const { payId, href } = await shop[kind]({ ...known(`kept ${orders++}`), ...more })
    expect((await pay(href, ticked)).status).toBe(303)
    expect((await stored(payId)).map(({ last4Digits }) => last4Digits)).toEqual(kept ? ['1111'] : [])
    expect(JSON.stringify(await shop.read(payId))).not.toContain('keepCard')
  })

  test('303 the last try decides what is kept', async () => {
    const { payId, href } = await shop.session(known('undecided'))
    await pay(href, { number: '4000000000000002', saveCard: 'yes' })
    expect((await pay(href)).status).toBe(303)
    expect(await stored(payId)).toEqual([])
  })

  test('the box to save a card is ticked at first, and stays empty once it was cleared', async () => {
    const ticked = /id="saveCard"[^>]* checked/
    const { href } = await shop.session(known('asked'))
    expect((await get(href)).html).toMatch(ticked)
    const declined = { number: '4000000000000002' }
    expect((await pay(href, { ...declined, saveCard: 'yes' })).html).toMatch(ticked)
    expect((await pay(href, { number: '1' })).html).not.toMatch(ticked)
    expect((await pay(href, declined)).html).not.toMatch(ticked)
    expect((await get(href)).html).not.toMatch(ticked)
  })

  test('a remembered card pays without its code; nobody pays with the card of somebody else', async () => {
    const paid = await shop.create('CARD', known('owner'))
    const [method] = await stored(paid.body.payId)
    const own = await shop.session(known('owner'))
    expect((await get(own.href)).html).toContain(`name="remembered" value="${method?.id}"`)
    // Each: a page that is not the owner's, or not one on which it is known who sits before it.
    const other = await openPageShop(gateway, { urls })
    for (const { payId, href, reader } of [
      { ...(await shop.session(known('stranger'))), reader: shop },
      { ...(await shop.session()), reader: shop },
      { ...(await shop.link(known('owner'))), reader: shop },
      { ...(await other.session(known('owner'))), reader: other },
    ]) {
      expect((await get(href)).html).not.toContain('name="remembered"')
      expect((await pay(href, { remembered: method?.id ?? '' })).status).toBe(422)
      expect(await reader.tries(payId)).toEqual(untouched)
    }
    const { attempt } = await get(own.href)
    expect((await post(own.href, { type: 'CARD', remembered: method?.id ?? '', attempt })).status).toBe(303)
    expect(await shop.read(own.payId)).toMatchObject({
      status: 'OK',
      paymentMethods: { card: { last4Digits: '1111', cardHolderName: 'Ada Lovelace' } },
    })
  })

  test('an expired card is not offered', async () => {
    const late = await openPageShop(gateway, { urls })
    await late.create('CARD', known('owner'))
    await late.advance('P5Y')
    expect((await get((await late.session(known('owner'))).href)).html).not.toContain('name="remembered"')
  })
})

test('303 an account goes into the vault with its mandate', async () => {
  const { payId, href } = await shop.hosted('DIRECTDEBIT')
  const { attempt, html } = await get(href)
  expect(html).toContain(payId)
  const entries = { type: 'DIRECTDEBIT', accountHolder: 'Ada King', iban: 'de89 3704 0044 0532 0130 00' }
  expect((await post(href, { ...entries, attempt })).status).toBe(422)
  expect((await post(href, { ...entries, consent: 'yes', attempt })).status).toBe(303)
  expect((await shop.read(payId)).paymentMethods.directDebit).toMatchObject({
    account: { last4Digits: '3000', accountHolderName: 'Ada King' },
    mandateId: payId,
    dateOfSignature: expect.stringMatching(/^\d\d\.\d\d\.20\d\d$/),
  })
})

describe('brands allowed by name', () => {
  const [visa, mastercard, amex] = ['4111111111111111', '5555555555554444', '378282246310005']
  const both = { allowedPaymentMethod: ['VISA', 'MASTERCARD'] }
  const pay = async (href: string, change: Record<string, string> = {}) => {
    const { attempt } = await get(href)
    return post(href, { ...card, type: 'VISA', attempt, ...change })
  }

  test.each([
    ['session', both, visa, 'VISA'],
    ['session', both, mastercard, 'MASTERCARD'],
    ['link', both, mastercard, 'MASTERCARD'],
    ['session', { allowedPaymentMethod: ['VISA', 'CARD'] }, amex, 'CARD'],
  ] as const)('303 a %s that allows %j pays the card %s as %s', async (kind, allowed, typed, type) => {
    const { payId, href } = await shop[kind]({ ...allowed, ...(kind === 'link' ? { urls } : {}) })
    const { html } = await get(href)
    expect(html.match(/name="number"/g)).toHaveLength(1)
    const shown = /<input type="hidden" name="type" value="([^"]+)"/.exec(html)?.[1] ?? ''
    expect((await pay(href, { type: shown, number: typed })).status).toBe(303)
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', paymentMethods: { type } })
  })

  test.each([
    ['several', both, 'Only these cards are accepted here: Visa and Mastercard.'],
    ['one', { allowedPaymentMethod: ['VISA'] }, 'Only these cards are accepted here: Visa.'],
  ])('422 a card of another brand, with the brands that are allowed: %s', async (_, allowed, sentence) => {
    const { payId, href } = await shop.session({ ...allowed, language: 'en' })
    const { html } = await get(href)
    expect(html).toContain(sentence)
    // Not among the test cards either.
    expect(html).not.toContain('3700 0000')
    const refused = await pay(href, { number: amex })
    // In the summary and beside the field.
    expect([refused.status, refused.html.split(sentence).length]).toEqual([422, 3])
    expect(await shop.tries(payId)).toEqual(untouched)
    expect((await pay(href, { number: visa })).status).toBe(303)
  })

  test('303 a payment that was made for one brand takes any card, as its provider decides', async () => {
    const { payId, href } = await shop.hosted('MASTERCARD')
    expect((await get(href)).html).not.toContain('Only these cards')
    expect((await pay(href, { type: 'MASTERCARD', number: visa })).status).toBe(303)
    expect(await shop.read(payId)).toMatchObject({ status: 'OK', paymentMethods: { type: 'MASTERCARD' } })
  })

  test('after a decline the form still stands for all allowed brands', async () => {
    const session = await shop.session({ allowedPaymentMethod: ['IDEAL', 'MASTERCARD', 'VISA'] })
    expect((await pay(session.href, { number: '4000000000000002' })).status).toBe(422)
    const { html } = await get(session.href)
    expect(html).toMatch(/name="type" value="MASTERCARD" checked/)
    expect(html).not.toContain('value="VISA"')
    expect((await pay(session.href, { type: 'MASTERCARD', number: visa })).status).toBe(303)
  })

  test('a remembered card of another brand is neither offered nor taken', async () => {
    const customer = { customerInfo: { merchantCustomerId: 'brands', email: 'ada@shop.example' } }
    for (const typed of [visa, mastercard]) {
      const begun = await shop.session(customer)
      expect((await pay(begun.href, { type: 'CARD', number: typed, saveCard: 'yes' })).status).toBe(303)
    }
    const ids = (html: string) => [...html.matchAll(/name="remembered" value="(\w+)"/g)].map(([, id]) => id)
    const all = ids((await get((await shop.session(customer)).href)).html)
    const { payId, href } = await shop.session({ ...customer, allowedPaymentMethod: ['MASTERCARD'] })
    const offered = ids((await get(href)).html)
    expect([all.length, offered.length]).toEqual([2, 1])
    const other = all.find(id => !offered.includes(id)) ?? ''
    expect((await pay(href, { type: 'MASTERCARD', remembered: other })).status).toBe(422)
    expect(await shop.tries(payId)).toEqual(untouched)
    expect((await pay(href, { type: 'MASTERCARD', remembered: offered[0] ?? '' })).status).toBe(303)
  })
})

describe('what is paid elsewhere', () => {
  const choices = async (href: string) => {
    const { html } = await get(href)
    const [, action = ''] = /<form method="post" action="(\/pay\/step\/[^"]+)"/.exec(html) ?? []
    const [, shown = ''] = /name="shown" value="([^"]+)"/.exec(html) ?? []
    return { step: `${gateway.url}${action}`, shown }
  }

  // Each line: what the customer does with the reference it was given, and what becomes of the payment.
  test.each([
    ['approve', ['OK', ['00000000']], 'https://shop.example/thanks'],
    ['decline', ['AUTHORIZE_REQUEST', ['25000305']], '/pay/'],
    ['cancel', ['FAILED', ['25000703']], 'https://shop.example/basket'],
    ['pending', ['PENDING', ['60000200']], '/pay/'],
  ])('303 a voucher in the test environment: %s', async (action, tries, place) => {
    const { payId, href } = await shop.hosted('MULTIBANCO')
    const { step, shown } = await choices(href)
    const { status, headers } = await post(step, { action, shown })
    expect([status, headers.get('location')]).toEqual([303, expect.stringContaining(place)])
    expect(await shop.tries(payId)).toEqual(tries)
  })

  test('303 an approval of an amount that was not shown has no effect', async () => {
    const { payId, href } = await shop.hosted('MULTIBANCO')
    const { step, shown } = await choices(href)
    expect(shown).toBe('4999 EUR')
    await post(step, { action: 'approve', shown: '1 EUR' })
    expect(await shop.tries(payId)).toEqual(untouched)
  })
})
