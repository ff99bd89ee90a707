/** The live environment over HTTP: no simulator, no test tools, no simulationMode; and a durable database. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cardEntries, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { openPageShop, type PageShop } from '#test/support/browser/page-shop.ts'
import { cleanUpAll, makePreparedFolder, open } from '#test/support/database/embedded.ts'
import { startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { createAcquirer } from '#test/support/providers/acquirer.ts'
import { methodPayment, openShop, refused, type Shop, servedTypes } from '#test/support/shop.ts'

let gateway: TestGateway
let shop: Shop
let url: string
beforeAll(async () => {
  // A server of its own: durability is off on that of the other tests, and live refuses such a server.
  const database = await open(makePreparedFolder())
  url = database.url
  gateway = await startTestGateway({ environment: 'live', databaseUrl: url })
  shop = await openShop(gateway)
})
afterAll(async () => {
  await gateway.stop()
  await cleanUpAll()
})

test.each([
  ['GET', '/test/clock'],
  ['POST', '/test/clock'],
  ['GET', '/test/faults'],
  ['POST', '/test/faults'],
  ['DELETE', '/test/faults'],
  ['POST', `/test/payments/${'0'.repeat(32)}/customer-action`],
])('404 %s %s', async (verb, path) => {
  const body = verb === 'POST' ? { advance: 'PT1H' } : undefined
  expect((await shop.call(verb, path, body)).status).toBe(404)
})

test.each(['/docs', '/openapi.json', '/docs/reference.js'])('200 %s', async path => {
  const asked = async () => (await fetch(`${gateway.url}${path}`)).status
  expect([await asked(), await asked()]).toEqual([200, 200])
})

test.each(servedTypes)('20200012 %s has no connector', async type => {
  expect(await shop.create(type)).toMatchObject(refused('20200012'))
})

test('200 no payment method is listed to a merchant without accounts', async () => {
  const { status, body } = await shop.call('GET', '/payment-methods')
  expect({ status, body }).toEqual({ status: 200, body: { totalNumberOfItems: 0, data: [] } })
})

test.each([
  ['404', 'binLookup', { bin: '411111' }, { status: 404 }],
  [
    '200 no offer',
    'dccQuote',
    { bin: '411111', amount: { value: 100, currency: 'EUR' } },
    { status: 200, body: { eligible: false, reason: 'NON_ELIGIBLE_CARD' } },
  ],
  [
    '422 20200012',
    'accountUpdater',
    { transId: 't', cards: [{ number: '4111111111111111' }] },
    { status: 422, body: { status: 422, responseCode: '20200012' } },
  ],
])('%s %s knows only what was imported or configured', async (_, name, body, expected) => {
  expect(await shop.call('POST', `/services/${name}`, body)).toMatchObject(expected)
})

test('20200012 a credit has no connector either', async () => {
  const paymentMethods = {
    directDebit: { account: { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' } },
  }
  const body = { transId: 'credit', amount: { value: 1, currency: 'EUR' }, paymentMethods }
  expect(await shop.call('POST', '/payments/refunds', body)).toMatchObject(refused('20200012'))
})

describe('an address for results that is not https', () => {
  const urls = {
    return: 'http://shop.example/thanks',
    cancel: 'http://shop.example/basket',
    webhook: 'http://shop.example/hook',
  }
  const order = { transId: 'plain', amount: { value: 1, currency: 'EUR' } }
  const byPage = { integrationType: 'HOSTED', type: 'CARD' }

  test.each([
    ['/payments', { ...order, urls, paymentMethods: byPage }],
    ['/payments/sessions', { ...order, urls }],
    ['/payments/links', { ...order, urls }],
    ['/payment-intents', { ...order, urls }],
    [
      '/payment-plans/unscheduled-mit',
      { ...order, paymentPlanId: '0'.repeat(32), urls: { webhook: urls.webhook } },
    ],
  ])('400 on %s', async (path, body) => {
    expect(await shop.call('POST', path, body)).toMatchObject({
      status: 400,
      body: {
        field: 'urls.webhook',
        error: expect.stringContaining(`"${urls.webhook}"; allowed is an https`),
      },
    })
  })

  test.each(['https://127.0.0.1/hook', 'https://[fd00::1]/', 'https://localhost/hook'])(
    '400 nor one to which nothing would ever be sent: %s',
    async webhook => {
      const shown = { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' }
      for (const path of ['/payments/sessions', '/payments/links', '/payment-intents']) {
        expect(await shop.call('POST', path, { ...order, urls: { ...shown, webhook } })).toMatchObject({
          status: 400,
          body: {
            field: 'urls.webhook',
            error: expect.stringContaining(`"${webhook}"; allowed is a public https`),
          },
        })
      }
    },
  )

  test.each(['return', 'cancel'] as const)('400 nor is the customer sent there: urls.%s', async name => {
    const secure = { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' }
    const changed = { ...order, urls: { ...secure, [name]: urls[name] } }
    for (const path of ['/payments/sessions', '/payments/links', '/payment-intents']) {
      expect(await shop.call('POST', path, changed)).toMatchObject({
        status: 400,
        body: {
          field: `urls.${name}`,
          error: expect.stringContaining(`"${urls[name]}"; allowed is an https`),
        },
      })
    }
    expect((await shop.call('POST', '/payment-intents', { ...order, urls: secure })).status).toBe(201)
  })
})

describe('simulationMode is refused everywhere', () => {
  const simulationMode = '0000'

  test('400 on creating, as {field, error}', async () => {
    const body = methodPayment('CARD', { simulationMode })
    expect(await shop.call('POST', '/payments', body)).toMatchObject({
      status: 400,
      body: { field: 'simulationMode', error: expect.stringContaining('is "0000"') },
    })
  })

  test.each(['confirms', 'captures', 'incrementals'] as const)('400 on %s, as {field, error}', async name => {
    const answer = await shop.act('0'.repeat(32), name, 1, { simulationMode })
    expect(answer).toMatchObject({ status: 400, body: { field: 'simulationMode' } })
  })

  test.each(['reversals', 'refunds'] as const)('400 on %s, as problem details', async name => {
    const answer = await shop.act('0'.repeat(32), name, 1, { simulationMode })
    expect(answer).toMatchObject({ status: 400, body: { errors: { simulationMode: [expect.any(String)] } } })
  })

  test('400 on a credit, as problem details', async () => {
    const paymentMethods = {
      directDebit: { account: { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' } },
    }
    const body = { transId: 'c', amount: { value: 1, currency: 'EUR' }, paymentMethods, simulationMode }
    expect(await shop.call('POST', '/payments/refunds', body)).toMatchObject({
      status: 400,
      body: { errors: { simulationMode: [expect.any(String)] } },
    })
  })
})

describe('with a connector', () => {
  const acquirer = createAcquirer()
  let configured: TestGateway
  beforeAll(async () => {
    configured = await startTestGateway({
      environment: 'live',
      databaseUrl: url,
      beside: gateway,
      connectors: acquirer.connectors,
    })
  })
  afterAll(() => configured.stop())

  test('a payment is made, captured and refunded, in real time', async () => {
    const trader = await openShop(configured)
    const payId = await trader.sell('CARD')
    expect((await trader.act(payId, 'refunds', 1000)).status).toBe(200)
    expect(acquirer.ledger.map(({ operation }) => operation)).toEqual(['AUTHORIZATION', 'CAPTURE', 'REFUND'])
  })

  test('20200016 after ten declines of one card within an hour, unless the merchant wants another limit', async () => {
    const trader = await openShop(configured)
    const declining = { card: { number: '4000000000000002' } }
    for (let at = 0; at < 10; at += 1)
      expect((await trader.create('CARD', declining)).body.responseCode).toBe('21000305')
    const asked = acquirer.ledger.length
    expect(await trader.create('CARD', declining)).toMatchObject(refused('20200016'))
    expect(acquirer.ledger.length).toBe(asked)
    expect((await trader.create('CARD')).status).toBe(200)
    await configured.gateway.merchants.set(trader.merchantId, { declinesPerCard: 'none' })
    expect((await trader.create('CARD', declining)).body.responseCode).toBe('21000305')
  })

  describe('on the pages of customers', () => {
    const urls = { return: 'https://shop.example/thanks', cancel: 'https://shop.example/basket' }
    let trader: PageShop
    beforeAll(async () => {
      trader = await openPageShop(configured, { urls })
    })

    test('200 a form without test cards and without the banner', async () => {
      const { href } = await trader.session()
      const response = await fetch(href)
      const html = await response.text()
      expect(response.status).toBe(200)
      expect(html).toContain('id="number"')
      expect(html).not.toMatch(/test-card|Test cards|Test mode|4111 ?1111/)
    })

    const challenged = cardEntries('4000002760003184')

    // Each line: the page that the simulator would show, how the customer gets there, and the form before it.
    test.each([
      ['a provider', () => trader.hosted('IDEAL'), undefined],
      ['the bank of a card', () => trader.hosted('CARD'), challenged],
    ])('404 the page of %s, which only the simulator has', async (_, begin, entries) => {
      const { payId, href } = await begin()
      const { hidden } = await openPage(href)
      const body = entries && new URLSearchParams({ ...hidden, ...entries })
      const sent = await fetch(href, { method: body ? 'POST' : 'GET', body, redirect: 'manual' })
      const location = sent.headers.get('location') ?? ''
      expect([sent.status, location]).toEqual([303, expect.stringMatching(/^\/pay\/step\//)])
      const step = new URL(location, configured.url).href
      const shown = await fetch(step)
      expect([shown.status, await shown.text()]).toEqual([404, expect.not.stringContaining('approve')])
      expect(await sendForm({ url: step, hidden: {} }, { action: 'approve' })).toBe(404)
      expect((await trader.read(payId)).status).toBe('AUTHORIZE_REQUEST')
    })
  })
})

test('a database of live is refused by test', async () => {
  await expect(startTestGateway({ databaseUrl: url })).rejects.toThrow(/belongs to the live environment/)
})
