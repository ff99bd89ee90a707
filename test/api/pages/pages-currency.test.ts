/** The choice of a currency on the customer's page, over plain HTTP: asked once, stored, and never at another rate. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ConversionTerms } from '#connectors/contract.ts'
import { simulatedBy } from '#connectors/registry.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import { openPageShop, type PageShop } from '#test/support/browser/page-shop.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

const urls = { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' }
const untouched = ['AUTHORIZE_REQUEST', ['60000100']]

/** By the currency of the card; 49.99 EUR are 43.77 GBP in the test environment. */
const british = '4111111111111111'
const american = '5105105105105100'
const french = '4970100000000154'
const declining = '4000000000000002'
const asJson = { accept: 'application/json' }

let gateway: TestGateway
let shop: PageShop
/** The conversion terms that the acquirer got with each payment, newest last. */
const told: (ConversionTerms | undefined)[] = []
beforeAll(async () => {
  const simulator = createSimulator()
  gateway = await startTestGateway({
    logLevel: 'debug',
    connectors: simulatedBy({
      ...simulator,
      authorize(request, signal) {
        told.push(request.conversion)
        return simulator.authorize(request, signal)
      },
    }),
  })
  shop = await openConverting()
})
beforeEach(() => {
  told.length = 0
})
afterAll(() => gateway.stop())

async function openConverting(): Promise<PageShop> {
  const opened = await openPageShop(gateway, { urls })
  await gateway.gateway.merchants.set(opened.merchantId, { dcc: true })
  return opened
}

interface Sheet {
  readonly status: number
  readonly html: string
  readonly attempt: string
  /** The offer that the page shows; empty where it shows none. */
  readonly quoteId: string
  /** The choice that the page shows as selected. */
  readonly chosen: string | undefined
}

async function read(response: Response): Promise<Sheet> {
  const html = await response.text()
  const fieldOf = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? ''
  const chosen = /name="dcc" value="([a-z]+)" checked/.exec(html)?.[1]
  return { status: response.status, html, attempt: fieldOf('attempt'), quoteId: fieldOf('quoteId'), chosen }
}

const get = async (href: string): Promise<Sheet> => read(await fetch(href, { redirect: 'manual' }))

async function post(href: string, fields: Record<string, string>, headers = {}): Promise<Sheet> {
  const body = new URLSearchParams(fields)
  return read(await fetch(href, { method: 'POST', body, headers, redirect: 'manual' }))
}

const cardOf = (number: string) => ({
  type: 'CARD',
  number,
  expiry: '12/39',
  securityCode: '739',
  cardholderName: 'Ada Lovelace',
})

/** Sends the card once: the page that asks for the currency. */
async function ask(number = british, change: object = {}, who = shop) {
  const begun = await who.session(change)
  const { attempt } = await get(begun.href)
  const asked = await post(begun.href, { ...cardOf(number), attempt })
  return { ...begun, ...asked }
}

type Asked = Awaited<ReturnType<typeof ask>>

const reply = ({ href, attempt, quoteId }: Asked, dcc: string, change: Record<string, string> = {}) =>
  post(href, { ...cardOf(british), attempt, quoteId, dcc, ...change })

const recordOf = async (payId: string) => (await shop.read(payId)).paymentMethods.card.dcc

describe('the customer is asked for the currency', () => {
  test('200 with both amounts, the rate and nothing chosen; nothing is tried and nothing of the card is shown', async () => {
    const { payId, status, html, quoteId, chosen } = await ask()
    expect([status, chosen]).toEqual([200, undefined])
    expect(quoteId).toMatch(/^[0-9a-f]{32}$/)
    for (const text of ['£43.77', '€49.99', '1 EUR = 0.875500 GBP', '3.00%', 'SIMULATOR']) {
      expect(html).toContain(text)
    }
    expect(html).toContain('value="12/39"')
    expect(html).toContain('enter the card number and security code again')
    expect(html.replaceAll(' ', '').replace(/<bdiclass="code">\d+/g, '')).not.toMatch(/41111111|value="739/)
    expect(await shop.tries(payId)).toEqual(untouched)
    expect(gateway.logged.join('\n')).not.toMatch(/41111111|["=]739["&]/)
  })

  test('accepted: 303, at the rate that was shown, and on record as with DIRECT', async () => {
    const asked = await ask()
    expect((await reply(asked, 'accepted')).status).toBe(303)
    const terms = {
      quoteId: asked.quoteId,
      cardholderAmount: { value: 4377, currency: 'GBP' },
      exchangeRate: '0.875500',
      markupPercentage: '3.00',
    }
    expect(told).toEqual([terms])
    expect(await recordOf(asked.payId)).toEqual({ ...terms, accepted: true, rateSource: 'SIMULATOR' })
    expect((await shop.read(asked.payId)).amount).toMatchObject({ value: 4999, currency: 'EUR' })
  })

  test('refused: 303, in the currency of the merchant', async () => {
    const asked = await ask()
    expect((await reply(asked, 'refused')).status).toBe(303)
    expect(told).toEqual([undefined])
    expect(await recordOf(asked.payId)).toEqual({ quoteId: asked.quoteId, accepted: false })
  })

  test('200 for the script: the offer in words, and the same answers', async () => {
    const { payId, href } = await shop.session({ language: 'de' })
    const { attempt } = await get(href)
    const { status, html } = await post(href, { ...cardOf(british), attempt }, asJson)
    const { choice, errors, message } = JSON.parse(html)
    expect([status, errors, message]).toEqual([200, {}, undefined])
    expect(choice).toMatchObject({
      quoteId: expect.stringMatching(/^[0-9a-f]{32}$/),
      places: { rate: '1 EUR = 0,875500 GBP', source: 'SIMULATOR' },
      buttons: { accepted: expect.stringMatching(/43,77\s£/), refused: expect.stringMatching(/49,99\s€/) },
    })
    expect(html).not.toContain('411111')
    const { quoteId } = choice
    const paid = await post(href, { ...cardOf(british), attempt, quoteId, dcc: 'accepted' }, asJson)
    expect(JSON.parse(paid.html).redirect).toContain(`PayId=${payId}`)
    expect(told).toMatchObject([{ quoteId }])
  })

  test('422 without an answer: the same offer again, with what is missing', async () => {
    const asked = await ask()
    const again = await reply(asked, '')
    expect([again.status, again.quoteId, again.chosen]).toEqual([422, asked.quoteId, undefined])
    expect(again.html).toContain('href="#dcc"')
    expect((await reply(asked, 'both')).status).toBe(422)
    expect(await shop.tries(asked.payId)).toEqual(untouched)
  })

  test('303 a remembered card is asked for its currency, too', async () => {
    const known = { customerInfo: { merchantCustomerId: 'ada', email: 'ada@shop.example' } }
    await shop.create('CARD', known)
    const { payId, href } = await shop.session(known)
    const { attempt, html } = await get(href)
    const remembered = /name="remembered" value="([0-9a-f]+)"/.exec(html)?.[1] ?? ''
    const sent = { type: 'CARD', remembered, attempt }
    const asked = await post(href, sent)
    expect(asked.status).toBe(200)
    expect(asked.html).not.toContain('enter the card number and security code again')
    expect((await post(href, { ...sent, quoteId: asked.quoteId, dcc: 'accepted' })).status).toBe(303)
    expect(await recordOf(payId)).toMatchObject({ accepted: true, quoteId: asked.quoteId })
    // Its number was opened to see its currency, before anything was paid.
    const opened = await queryRows(
      gateway.databaseUrl,
      "SELECT after FROM audit WHERE act = 'cards.opened' AND object = $1 LIMIT 1",
      [shop.merchantId],
    )
    expect(opened).toEqual([{ after: { purpose: 'offer of a currency', cards: 1 } }])
  })

  test('the offer also holds after the bank has asked its customer, whose page shows it', async () => {
    const paymentMethods = { card: { threeDsPolicy: { challengePreference: 'MANDATE_CHALLENGE' } } }
    const asked = await ask(british, { paymentMethods })
    const body = new URLSearchParams({
      ...cardOf(british),
      attempt: asked.attempt,
      quoteId: asked.quoteId,
      dcc: 'accepted',
    })
    const response = await fetch(asked.href, { method: 'POST', body })
    expect(await response.text()).toContain('£43.77')
    const amount = { value: 5, currency: 'USD' }
    const changed = await shop.call('PATCH', `/payments/${asked.payId}`, { amount })
    expect(changed).toMatchObject({ status: 422, body: { responseCode: '20200011' } })
    await post(response.url, { action: 'approve' })
    expect(told).toMatchObject([{ quoteId: asked.quoteId, cardholderAmount: { value: 4377 } }])
    expect((await shop.read(asked.payId)).status).toBe('OK')
  })
})

describe('the customer is not asked for the currency', () => {
  // Each line: why, the card, and what is changed about the session.
  test.each([
    ['a card in the same currency', french, {}],
    ['a card that is not converted', '378282246310005', {}],
    ['a card without a rate', '4761730000000011', {}],
    [
      'an amount that is less than the smallest coin',
      '4012888888881881',
      { amount: { value: 1, currency: 'HUF' } },
    ],
  ])('303 %s', async (_, number, change) => {
    const { payId, status } = await ask(number, change)
    expect(status).toBe(303)
    expect((await shop.read(payId)).paymentMethods.card).not.toHaveProperty('dcc')
    expect(told).toEqual([undefined])
  })

  test('303 unless the merchant has switched it on: there is not even a place for it', async () => {
    const other = await openPageShop(gateway, { urls })
    const { href } = await other.session()
    const page = await get(href)
    expect(page.html).not.toContain('dcc')
    expect((await get((await shop.session()).href)).html).toContain('id="dcc"')
    expect((await post(href, { ...cardOf(british), attempt: page.attempt })).status).toBe(303)
    expect(told).toEqual([undefined])
  })

  test('303 by other methods, whatever their form says', async () => {
    const { payId, href } = await shop.hosted('DIRECTDEBIT')
    const { attempt } = await get(href)
    const account = { accountHolder: 'Ada King', iban: 'DE89370400440532013000', consent: 'yes' }
    const sent = { type: 'DIRECTDEBIT', ...account, attempt, quoteId: '0'.repeat(32), dcc: 'accepted' }
    expect((await post(href, sent)).status).toBe(303)
    expect((await shop.read(payId)).status).toBe('OK')
  })

  test('422 by a page that is out of date', async () => {
    const { payId, href } = await shop.session()
    for (const attempt of ['', '0', '99']) {
      const { status, html, quoteId } = await post(href, { ...cardOf(british), attempt })
      expect([status, quoteId, html.includes('out of date')]).toEqual([422, '', true])
    }
    expect(await shop.tries(payId)).toEqual(untouched)
  })

  test('303 after twenty offers to one payment', async () => {
    const { href } = await shop.session()
    const { attempt } = await get(href)
    const statuses: number[] = []
    for (let n = 0; n < 21; n += 1)
      statuses.push((await post(href, { ...cardOf(n % 2 ? british : american), attempt })).status)
    expect(statuses).toEqual([...Array(20).fill(200), 303])
  })
})

describe('an answer that does not hold', () => {
  test('422 after ten minutes: a new offer with nothing chosen; turned down it stays turned down', async () => {
    const asked = await ask()
    const other = await ask()
    await shop.advance('PT10M')
    const again = await reply(asked, 'accepted')
    expect([again.status, again.chosen]).toEqual([422, undefined])
    expect(again.quoteId).not.toBe(asked.quoteId)
    expect(again.html).toContain('no longer valid')
    expect(await shop.tries(asked.payId)).toEqual(untouched)
    expect((await reply({ ...asked, quoteId: again.quoteId }, 'accepted')).status).toBe(303)
    expect(told).toMatchObject([{ quoteId: again.quoteId }])
    expect((await reply(other, 'refused')).status).toBe(303)
  })

  // Each line: the answer, the card that is sent with it, and whether there is a new offer, nothing, or a payment.
  test.each([
    ['accepted', american, 422, 'offer'],
    ['refused', american, 422, 'offer'],
    ['accepted', french, 422, 'none'],
    ['refused', french, 303, 'none'],
  ])('%s for one card and sent with %s: %d, %s', async (dcc, number, status, kind) => {
    const asked = await ask()
    const again = await reply(asked, dcc, { number })
    expect(again.status).toBe(status)
    if (status === 303) return void expect(told).toEqual([undefined])
    expect(again.html).toMatch(kind === 'offer' ? /Pay in US Dollar/ : /out of date/)
    expect(again.quoteId).toMatch(kind === 'offer' ? /^(?!$)/ : /^$/)
    expect(again.quoteId).not.toBe(asked.quoteId)
    expect(await shop.tries(asked.payId)).toEqual(untouched)
    const { href, attempt } = asked
    const chosen: Record<string, string> = kind === 'offer' ? { quoteId: again.quoteId, dcc: 'refused' } : {}
    expect((await post(href, { ...cardOf(number), attempt, ...chosen })).status).toBe(303)
    expect(told).toEqual([undefined])
  })

  test('422 an offer that another payment has taken, of another merchant, or made up', async () => {
    const asked = await ask()
    const card = { number: british, expiryDate: '203912', dcc: { quoteId: asked.quoteId, accepted: true } }
    const paid = await shop.create('CARD', {
      amount: { value: 4999, currency: 'EUR' },
      paymentMethods: { integrationType: 'DIRECT', type: 'CARD', card },
    })
    expect(paid.status).toBe(200)
    const foreign = await ask(british, {}, await openConverting())
    told.length = 0
    for (const quoteId of [asked.quoteId, foreign.quoteId, 'f'.repeat(32), "' OR 1=1 --"]) {
      const again = await reply({ ...asked, quoteId }, 'accepted')
      expect([again.status, again.chosen]).toEqual([422, undefined])
      expect(again.html).toContain('no longer valid')
    }
    expect(told).toEqual([])
    expect(await shop.tries(asked.payId)).toEqual(untouched)
  })

  test('422 an offer for an amount that the merchant has changed since', async () => {
    const asked = await ask()
    const amount = { value: 9998, currency: 'EUR' }
    expect((await shop.call('PATCH', `/payments/${asked.payId}`, { amount })).status).toBe(200)
    const again = await reply(asked, 'accepted')
    expect(again.status).toBe(422)
    expect(again.html).toContain('£87.53')
    expect((await reply({ ...asked, ...again }, 'accepted')).status).toBe(303)
    expect(told).toMatchObject([{ quoteId: again.quoteId, cardholderAmount: { value: 8753 } }])
  })
})

test('303 the same answer three times at once pays once', async () => {
  const asked = await ask()
  const all = await Promise.all([1, 2, 3].map(() => reply(asked, 'accepted')))
  expect(all.map(({ status }) => status)).toEqual([303, 303, 303])
  expect(told.length).toBe(1)
  expect(await shop.tries(asked.payId)).toEqual(['OK', ['00000000']])
})

test('of two payments that accept one offer at once, one gets it', async () => {
  const [one, other] = [await ask(), await ask()]
  const sent = [one, { ...other, quoteId: one.quoteId }].map(asked => reply(asked, 'accepted'))
  const statuses = (await Promise.all(sent)).map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([303, 422])
  expect(told).toMatchObject([{ quoteId: one.quoteId }])
})

test('422 the same card in the other currency: what was chosen last is on record', async () => {
  const asked = await ask(declining)
  const { attempt } = await reply(asked, 'accepted', { number: declining })
  expect(await recordOf(asked.payId)).toMatchObject({ accepted: true, cardholderAmount: { currency: 'USD' } })
  expect((await reply({ ...asked, attempt }, 'refused', { number: declining })).status).toBe(422)
  expect(told).toMatchObject([{ quoteId: asked.quoteId }, undefined])
  expect(await recordOf(asked.payId)).toEqual({ quoteId: asked.quoteId, accepted: false })
})

test('422 a decline keeps the choice, and the next try pays at the same rate', async () => {
  const asked = await ask(declining)
  const declined = await reply(asked, 'accepted', { number: declining })
  expect([declined.status, declined.quoteId, declined.chosen]).toEqual([422, asked.quoteId, 'accepted'])
  expect(declined.html).toContain('did not accept')
  const mended = '4000000000000077'
  const paid = await reply({ ...asked, attempt: declined.attempt }, 'accepted', { number: mended })
  expect(paid.status).toBe(303)
  expect(told.map(terms => terms?.quoteId)).toEqual([asked.quoteId, asked.quoteId])
  expect((await shop.tries(asked.payId))[1]).toEqual(['21000305', '00000000'])
})
