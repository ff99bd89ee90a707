/** The choice of an account, its capabilities, and refusals before anything is written. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AuthorizationRequest } from '#connectors/contract.ts'
import { cardEntries, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { createLateProvider, type LateProvider } from '#test/support/providers/late-provider.ts'
import {
  addProviderAccount,
  addRouteRule,
  setProviderAccount,
} from '#test/support/providers/provider-account.ts'
import { findBrokenRules, queryRows } from '#test/support/simulation/invariants.ts'

const word = 'a word that only the provider knows'
const secrets = { word }
let gateway: TestGateway
let first: LateProvider
let second: LateProvider
let narrow: LateProvider
/** Captures at once, and stores no methods. */
let once: LateProvider
/** Allows one capture, which releases the rest. */
let closing: LateProvider
/** Serves bank redirects only. */
let banks: LateProvider

beforeAll(async () => {
  first = createLateProvider()
  second = createLateProvider({ name: 'second' })
  narrow = createLateProvider({
    name: 'narrow',
    can: {
      rawCards: false,
      partialReversal: false,
      increment: false,
      partialCaptureReleasesRest: true,
      capture: 'one',
    },
    facts: {
      exponent: currency => (currency === 'XAF' ? undefined : currency === 'EUR' ? 1 : 2),
      minimum: () => 50,
    },
  })
  once = createLateProvider({ name: 'once', can: { capture: 'none', storedCredentials: false } })
  closing = createLateProvider({
    name: 'closing',
    can: { partialReversal: false, increment: false, capture: 'one', partialCaptureReleasesRest: true },
  })
  banks = createLateProvider({ name: 'banks' })
  const definitions = [first, second, narrow, once, closing, banks].map(({ definition }) => definition)
  gateway = await startTestGateway({ definitions, requestsPerSecond: 10_000 })
})
afterAll(async () => {
  expect(await findBrokenRules(gateway.databaseUrl)).toEqual({})
  await gateway.stop()
})

const euros = (value: number) => ({ value, currency: 'EUR' })

/** A new merchant with accounts at these providers, in this order. */
async function openShop(...providers: LateProvider[]) {
  const { merchantId, apiKey } = await gateway.gateway.merchants.create('Shop')
  const accounts: string[] = []
  for (const provider of providers) {
    const settings = provider === banks ? { types: 'IDEAL' } : undefined
    accounts.push(await addProviderAccount(gateway, provider.definition, { settings, secrets, merchantId }))
  }
  const authorization = `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}`
  const call = (verb: string, path: string, body?: unknown) =>
    gateway.call(verb, path, body, { authorization })
  const read = async (payId: string) => (await call('GET', `/payments/getByPayId/${payId}`)).body
  const deliver = async () => {
    for (const [index, provider] of providers.entries())
      for (const body of provider.tell(word))
        await fetch(`${gateway.url}/providers/${accounts[index]}/notices`, { method: 'POST', body })
    await queryRows(gateway.databaseUrl, 'UPDATE notice_item SET due_at = now() WHERE due_at IS NOT NULL')
    await gateway.gateway.notices.runDue()
  }
  return { accounts, call, read, deliver, merchantId }
}

test('200 after an account was certainly not reached, the next one is tried, as a new operation', async () => {
  const shop = await openShop(first, second)
  first.arm('AUTHORIZATION', 'unreached')
  const { status, body } = await shop.call('POST', '/payments', cardPayment())
  expect([status, body.status]).toEqual([200, 'PENDING'])
  await shop.deliver()
  const record = await shop.read(body.payId)
  expect(record).toMatchObject({
    status: 'OK',
    provider: { account: shop.accounts[1], connector: 'second' },
    operations: [
      { type: 'AUTHORIZATION', status: 'FAILED', provider: { account: shop.accounts[0] } },
      { type: 'AUTHORIZATION', status: 'OK' },
      { type: 'CAPTURE', status: 'OK' },
    ],
  })
  // Follow-ups go to the account that took the payment.
  const refund = await shop.call('POST', `/payments/${body.payId}/refunds`, {
    transId: 'r',
    amount: euros(10),
  })
  expect(refund.status).toBe(200)
  expect(second.requests.at(-1)).toMatchObject({ operation: 'REFUND' })
})

test.each([
  ['its first account', false],
  ['the fallback account after another was not reached', true],
] as const)(
  'a page at %s that is paid after its payment ended with a card elsewhere is refunded there',
  async (_, failsOver) => {
    const shop = await (failsOver ? openShop(first, banks) : openShop(banks, first))
    const { paymentMethods: __, ...session } = hosted()
    const { body } = await shop.call('POST', '/payments/sessions', session)
    const choose = async (fields: Record<string, string>) => {
      const { url, hidden } = await openPage(body._links.redirect.href)
      expect(await sendForm({ url, hidden }, fields)).toBeLessThan(400)
    }
    if (failsOver) first.arm('AUTHORIZATION', 'unreached')
    await choose({ type: 'IDEAL' })
    const { xId } = await shop.read(body.payId)
    first.arm('AUTHORIZATION', 'decline')
    await choose(cardEntries('4111111111111111'))
    await shop.deliver()
    expect((await shop.call('POST', `/payments/${body.payId}/cancellations`, {})).status).toBe(200)
    expect(await shop.read(body.payId)).toMatchObject({ paymentMethods: { type: 'CARD' } })
    banks.payAnyway(xId)
    await shop.deliver()
    await shop.deliver()
    const record = await shop.read(body.payId)
    expect(record).toMatchObject({
      status: 'REVERSED',
      amount: { capturedValue: 1000, refundedValue: 1000 },
      provider: { account: shop.accounts[failsOver ? 1 : 0], connector: 'banks' },
      paymentMethods: { type: 'IDEAL' },
    })
    // The card belongs to the other try, which did not pay.
    expect(record.paymentMethods).not.toHaveProperty('card')
    expect(JSON.stringify(record.paymentMethods)).not.toContain('"1111"')
    expect(banks.requests.at(-1)).toMatchObject({ operation: 'REFUND', authorizationReference: xId })
  },
)

test('200 an unknown outcome stays with its account: no other one is called', async () => {
  const shop = await openShop(first, second)
  const before = second.requests.length
  first.arm('AUTHORIZATION', 'lostBefore')
  const { body } = await shop.call('POST', '/payments', cardPayment())
  expect(body.status).toBe('PENDING')
  expect(second.requests).toHaveLength(before)
})

test('422 a card number if the account takes none, and nothing is written', async () => {
  const shop = await openShop(narrow)
  const { status, body } = await shop.call('POST', '/payments', cardPayment())
  expect([status, body.responseCode]).toEqual([422, '20200009'])
  const rows = await queryRows(
    gateway.databaseUrl,
    `SELECT 1 FROM payment WHERE merchant_id = '${shop.merchantId}'`,
  )
  expect(rows).toEqual([])
})

test('422 a method or currency that no account serves', async () => {
  const shop = await openShop(narrow)
  const body = cardPayment({ amount: { value: 1000, currency: 'XAF' } })
  const answer = await shop.call('POST', '/payments', body)
  expect([answer.status, answer.body.responseCode]).toEqual([422, '20200012'])
})

const redirect = { integrationType: 'HOSTED', type: 'IDEAL' }
const urls = { return: 'https://shop.example/back', cancel: 'https://shop.example/cancel' }
const hosted = (change: object = {}) => {
  const { paymentMethods: _, ...body } = cardPayment({ urls })
  return { ...body, paymentMethods: redirect, ...change }
}

// This provider has euro amounts with one decimal and a minimum of 50 cents.
test.each([
  [1001, 'multiples of 10'],
  [40, '50 EUR at least'],
])('400 %i cannot be expressed: %s', async (value, sentence) => {
  const shop = await openShop(narrow)
  const { status, text } = await shop.call('POST', '/payments', hosted({ amount: euros(value) }))
  expect(status).toBe(400)
  expect(text).toContain('amount.value')
  expect(text).toContain(sentence)
})

const pageOf = (change: object = {}) => {
  const { paymentMethods: _, ...body } = cardPayment({ urls })
  return { ...body, ...change }
}

test.each(['sessions', 'links'])('422 %s that no account can serve', async resource => {
  const shop = await openShop(narrow)
  const body = pageOf({ amount: { value: 1000, currency: 'XAF' } })
  const answer = await shop.call('POST', `/payments/${resource}`, body)
  expect([answer.status, answer.body.responseCode]).toEqual([422, '20200012'])
  const rows = await queryRows(
    gateway.databaseUrl,
    `SELECT 1 FROM payment WHERE merchant_id = '${shop.merchantId}'`,
  )
  expect(rows).toEqual([])
})

test('400 a session with an amount that no account can express; another account takes it', async () => {
  const body = pageOf({ amount: euros(1001) })
  const alone = await openShop(narrow)
  const refused = await alone.call('POST', '/payments/sessions', body)
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('amount.value')])
  const both = await openShop(narrow, second)
  const taken = await both.call('POST', '/payments/sessions', body)
  expect(taken.status).toBe(200)
})

test('400 or 422 if an open session is changed to an amount that no account can serve', async () => {
  const shop = await openShop(narrow)
  const { body } = await shop.call('POST', '/payments/sessions', pageOf({ amount: euros(1000) }))
  const path = `/payments/${body.payId}`
  const inexact = await shop.call('PATCH', path, { amount: euros(1001) })
  expect([inexact.status, inexact.text]).toEqual([400, expect.stringContaining('amount.value')])
  const foreign = await shop.call('PATCH', path, { amount: { value: 1000, currency: 'XAF' } })
  expect([foreign.status, foreign.body.responseCode]).toEqual([422, '20200012'])
  expect((await shop.call('PATCH', path, { amount: euros(2000) })).status).toBe(200)
})

test('a page offers only methods whose account supports the request: manual capture, later charges', async () => {
  const shop = await openShop(once)
  const manual = { captureMethod: { type: 'MANUAL' } }
  const byHand = await shop.call('POST', '/payments/sessions', pageOf(manual))
  expect([byHand.status, byHand.body.responseCode]).toEqual([422, '20200012'])
  const agreed = { credentialOnFile: { type: 'UNSCHEDULED', initialPayment: true } }
  const kept = await shop.call('POST', '/payments/sessions', pageOf(agreed))
  expect([kept.status, kept.body.responseCode]).toEqual([422, '20200012'])
  const direct = await shop.call('POST', '/payments', cardPayment(agreed))
  expect([direct.status, direct.body.responseCode]).toEqual([422, '20200009'])
  expect((await shop.call('POST', '/payments/sessions', pageOf())).status).toBe(200)
})

test('422 a confirm that the provider does not support: nothing may be captured without it', async () => {
  const shop = await openShop(first)
  const body = hosted({
    paymentMethods: { integrationType: 'HOSTED', type: 'PROVIDERP', providerP: { confirm: true } },
  })
  const wallet = await shop.call('POST', '/payments', body)
  expect([wallet.status, wallet.body.responseCode]).toEqual([422, '20200009'])
  // A card that we store ourselves is sent with the confirm.
  const card = await shop.call('POST', '/payments', cardPayment({ card: { eventToken: 'ORDER' } }))
  expect(card.body).toMatchObject({ status: 'AUTHORIZE_REQUEST', responseCode: '60000100' })
  const confirmed = await shop.call('POST', `/payments/${card.body.payId}/confirms`, {
    transId: card.body.transId,
    amount: euros(1000),
  })
  expect(confirmed.body.status).toBe('PENDING')
  await shop.deliver()
  expect(await shop.read(card.body.payId)).toMatchObject({ status: 'OK' })
  // A card whose number only the provider's page gets cannot wait for a confirm.
  const theirs = await openShop(narrow)
  const page = await theirs.call(
    'POST',
    '/payments',
    hosted({ paymentMethods: { integrationType: 'HOSTED', type: 'CARD', card: { eventToken: 'ORDER' } } }),
  )
  expect([page.status, page.body.responseCode]).toEqual([422, '20200009'])
})

test('200 a two-step method goes to the page of a provider that has only one step', async () => {
  const shop = await openShop(first)
  const paymentMethods = { integrationType: 'DIRECT', type: 'PROVIDERK' }
  const { status, body } = await shop.call('POST', '/payments', hosted({ paymentMethods }))
  expect([status, body.status]).toEqual([200, 'AUTHORIZE_REQUEST'])
  const page = await (await fetch(body._links.redirect.href)).text()
  expect(page).toContain('action="https://pay.late.example/checkout"')
  first.act(body.xId, 'approve')
  await shop.deliver()
  expect(await shop.read(body.payId)).toMatchObject({ status: 'OK' })
})

test('every page shows the account’s label for a neutral type', async () => {
  const shop = await openShop(first)
  const body = hosted({ paymentMethods: { integrationType: 'HOSTED', type: 'PROVIDERP' } })
  const { body: created } = await shop.call('POST', '/payments', body)
  const page = await (await fetch(created._links.redirect.href)).text()
  expect(page).toContain('Latepay')
  const result = await (await fetch(`${created._links.redirect.href}/result`)).text()
  expect(result).toContain('Latepay')
})

test('choosing card on our page leads to the page of a provider that takes no card numbers', async () => {
  const shop = await openShop(narrow)
  const body = hosted({ paymentMethods: { integrationType: 'HOSTED', type: 'CARD' } })
  const { body: created } = await shop.call('POST', '/payments', body)
  const page = await fetch(created._links.redirect.href)
  expect(await page.text()).toContain('action="https://pay.late.example/checkout"')
  expect(narrow.requests.at(-1)).not.toHaveProperty('card.number')
})

test('rules and method list use the intersection of row and account', async () => {
  const shop = await openShop(narrow)
  const list = await shop.call('GET', '/payment-methods?family=card')
  const card = list.body.data.find(({ type }: { type: string }) => type === 'CARD')
  expect(card.operations).not.toContain('increment')
  expect(card.operations).not.toContain('multi_capture')
  expect(card.integrationTypes).toEqual(['HOSTED'])
})

test.each([
  ['a card number', () => narrow, {}],
  ['a later capture', () => once, { captureMethod: { type: 'MANUAL' } }],
] as const)(
  'the method list names %s if any account takes it, as payments do',
  async (_, provider, asked) => {
    const shop = await openShop(provider(), first)
    const { status, body } = await shop.call('POST', '/payments', cardPayment(asked))
    expect([status, (await shop.read(body.payId)).provider.account]).toEqual([200, shop.accounts[1]])
    const list = await shop.call('GET', '/payment-methods?family=card')
    const card = list.body.data.find(({ type }: { type: string }) => type === 'CARD')
    expect(card).toMatchObject({
      integrationTypes: ['HOSTED', 'DIRECT'],
      captureMethods: ['AUTOMATIC', 'MANUAL', 'DELAYED'],
      operations: expect.arrayContaining(['capture', 'partial_capture', 'recurring']),
    })
    // The account that takes a payment decides what can be done with it later.
    const isFirst = provider() === narrow
    expect(card.operations.includes('increment')).toBe(!isFirst)
  },
)

test('a charge of a plan is routed by the country of the plan’s first payment', async () => {
  const shop = await openShop(first, second)
  const [, accountId = ''] = shop.accounts
  await addRouteRule(gateway, { merchantId: shop.merchantId, accountId, countries: ['DE'], priority: 1 })
  const begun = await shop.call(
    'POST',
    '/payments',
    cardPayment({
      billingAddress: { country: 'DEU' },
      credentialOnFile: { type: 'RECURRING', initialPayment: true, recurring: { frequency: 'MONTHLY' } },
    }),
  )
  await shop.deliver()
  const charge = await shop.call('POST', `/payment-plans/${begun.body.paymentPlanId}/charge`, {
    transId: 'second month',
    amount: euros(1000),
  })
  for (const { status, body } of [begun, charge]) {
    expect(status).toBe(200)
    expect((await shop.read(body.payId)).provider).toEqual({ account: accountId, connector: 'second' })
  }
  await shop.deliver()
})

test('the method list leaves out what a rule sends to an account that does not take it, as payments are refused', async () => {
  const shop = await openShop(first, banks)
  const [, account = ''] = shop.accounts
  const { merchantId } = shop
  await addRouteRule(gateway, {
    merchantId,
    accountId: account,
    types: ['CARD'],
    currencies: ['EUR'],
    priority: 1,
  })
  const { body } = await shop.call('POST', '/payments', cardPayment())
  expect(body.responseCode).toBe('20200012')
  const listed = async (query: string) =>
    (await shop.call('GET', `/payment-methods?family=card${query}`)).body.data.map(
      ({ type }: { type: string }) => type,
    )
  expect(await listed('&currency=EUR')).not.toContain('CARD')
  expect(await listed('&currency=EUR')).toContain('VISA')
  // In another currency the rule does not match.
  expect(await listed('&currency=USD')).toContain('CARD')
  expect(await listed('')).toContain('CARD')
})

test('422 operations that the account lacks; a partial capture that releases the rest closes the payment', async () => {
  const shop = await openShop(closing)
  const { body } = await shop.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  await shop.deliver()
  const act = (name: string, value: number) =>
    shop.call('POST', `/payments/${body.payId}/${name}`, { transId: name, amount: euros(value) })
  for (const [name, value] of [
    ['reversals', 400],
    ['incrementals', 100],
  ] as const) {
    const refused = await act(name, value)
    expect([name, refused.status, refused.body.responseCode]).toEqual([name, 422, '20200009'])
  }
  expect((await act('captures', 600)).status).toBe(200)
  expect(closing.requests.at(-1)).toMatchObject({ operation: 'CAPTURE', newTotal: 600, final: true })
  await shop.deliver()
  expect(await shop.read(body.payId)).toMatchObject({
    status: 'OK',
    amount: { authorizedValue: 1000, capturedValue: 600, reversedValue: 400 },
  })
  const again = await act('captures', 100)
  expect([again.status, again.body.responseCode]).toEqual([422, '20200006'])
})

test('an account that is narrowed to other types keeps its limits for the payments that it has', async () => {
  const shop = await openShop(closing)
  const [accountId = ''] = shop.accounts
  const { body } = await shop.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  await shop.deliver()
  await setProviderAccount(gateway, closing.definition, { accountId, settings: { types: 'IDEAL' } })
  await expect.poll(async () => (await shop.call('POST', '/payments', cardPayment())).status).toBe(422)
  const act = (name: string, value: number) =>
    shop.call('POST', `/payments/${body.payId}/${name}`, { transId: name, amount: euros(value) })
  for (const [name, value] of [
    ['reversals', 400],
    ['incrementals', 100],
  ] as const)
    expect((await act(name, value)).body.responseCode).toBe('20200009')
  expect((await act('captures', 600)).status).toBe(200)
  await shop.deliver()
  expect((await shop.read(body.payId)).amount).toMatchObject({ capturedValue: 600, reversedValue: 400 })
  expect((await act('captures', 100)).body.responseCode).toBe('20200006')
})

test('every field of the request reaches the provider, including the security code', async () => {
  const shop = await openShop(first)
  const said = {
    refNr: 'invoice-1',
    language: 'de',
    order: { merchantReference: 'o-1' },
    billingAddress: { streetName: 'Main Street', city: 'Berlin', postalCode: '10115', country: 'DEU' },
    shipping: { address: { city: 'Hamburg', country: 'DEU' } },
    customerInfo: { merchantCustomerId: 'c-1', email: 'ada@example.com' },
    browserInfo: { ipAddress: '203.0.113.7' },
    statementDescriptor: 'SHOP',
    channel: 'ECOM',
  }
  const threeDsData = {
    acsProtocolVersion: '2.2.0',
    transStatus: 'Y',
    eci: '05',
    dsTransId: '0198a3f2-bcde-7f12-89ab-cdef01234567',
    authenticationValue: 'AAABBEg0VhI0VniQEjRWAAAAAAA=',
  }
  const body = cardPayment({ ...said, captureMethod: { type: 'MANUAL' }, card: { threeDsData } })
  const { status, body: created, text } = await shop.call('POST', '/payments', body)
  expect([status, text]).toEqual([200, expect.any(String)])
  const request = first.requests.at(-1) as AuthorizationRequest
  expect(request.payment).toMatchObject({
    transId: body.transId,
    refNr: said.refNr,
    language: said.language,
    order: said.order,
    billing: said.billingAddress,
    shipping: said.shipping,
    customer: said.customerInfo,
    browser: said.browserInfo,
    descriptor: said.statementDescriptor,
    channel: said.channel,
    captureMethod: 'MANUAL',
  })
  expect(request.card?.securityCode?.reveal()).toBe('123')
  expect(request.threeDs?.authenticationValue?.reveal()).toBe(threeDsData.authenticationValue)
  expect(request.payment.returnUrl).toMatch(/\/pay\/return\//)
  await shop.deliver()
  await shop.call('POST', `/payments/${created.payId}/captures`, {
    transId: 'c',
    amount: euros(100),
    order: { merchantReference: 'o-2' },
    statementDescriptor: 'PARCEL',
  })
  expect(first.requests.at(-1)).toMatchObject({
    operation: 'CAPTURE',
    newTotal: 100,
    final: false,
    payment: { order: { merchantReference: 'o-2' }, descriptor: 'PARCEL', authorizedValue: 1000 },
  })
})
