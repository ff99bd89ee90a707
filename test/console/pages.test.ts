/** What the pages of the console show and do, over HTTP: lists, links, endpoints, the inbox, settings, search, the story. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { globalPages, merchantPages } from '#console/routes.ts'
import { provesBody } from '#console/sections/inbox.ts'
import { readApiKey } from '#domain/api-key.ts'
import { listActs, type Person, signUp } from '#test/support/console.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/invariants.ts'

let gateway: TestGateway
let owner: Person
let payId: string
let transId: string

beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await signUp(gateway, { role: 'owner' })
  const payment = cardPayment({ customerInfo: { email: 'Ada@Example.com' } })
  const paid = await gateway.call('POST', '/payments', payment)
  payId = paid.body.payId
  transId = paid.body.transId
})
afterAll(() => gateway.stop())

const at = (path: string) => `/console/m/${gateway.merchantId}${path}`
const read = async (path: string) => (await owner.get(path)).text()

const actsOf = (object: string) => listActs(gateway, owner, object)

test('200 a list asks the API, and its export is what the API answers', async () => {
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

test('200 an export walks on from page to page', async () => {
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

test('400 an export with a filter that the API refuses is what the API answers', async () => {
  const exported = await owner.get(at('/payments.json?amountFrom=much'))
  expect(exported.status).toBe(400)
  expect(await exported.text()).toContain('amountFrom')
})

test('200 a list shows of every payment what the record of the API has', async () => {
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

test('200 the next page of the list goes on where the first one ends, and a foreign cursor is 400', async () => {
  const { body } = await gateway.call('GET', '/payments?limit=2')
  const next = await owner.get(at(`/payments?limit=2&cursor=${body.nextCursor}`))
  const second = await gateway.call('GET', `/payments?limit=2&cursor=${body.nextCursor}`)
  expect(await next.text()).toContain(second.body.data[0].payId)
  expect((await owner.get(at('/payments?cursor=wrong'))).status).toBe(400)
})

test('200 an empty list says whether there is nothing, or nothing that matches', async () => {
  const { merchantId } = await gateway.gateway.merchants.create('A shop without payments')
  const viewer = await signUp(gateway, { role: 'viewer' })
  const address = `/console/m/${merchantId}/payments`
  expect(await read(address)).toContain('Make a first one')
  expect(await (await viewer.get(address)).text()).not.toContain('Make a first one')
  expect(await read(`${address}?status=OK`)).toContain('Nothing matches these filters')
})

test('400 a filter that the API refuses is told on the page', async () => {
  const page = await owner.get(at('/payments?amountFrom=much'))
  expect(page.status).toBe(400)
  expect(await page.text()).toContain('role="alert"')
})

test('words that every object inherits, and bytes that no text holds, are refused or find nothing', async () => {
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
])('200 the search finds a payment by its %s', async (_, typed) => {
  expect(await read(`/console/search?q=${encodeURIComponent(typed())}`)).toContain(`/payments/${payId}`)
})

test('303 a link is made, and its page has the address and a QR code until it is cancelled', async () => {
  const made = await owner.post(at('/links/new'), { amount: '1234', currency: 'EUR', key: 'k1' })
  const address = (made.headers.get('location') ?? '').split('?')[0] ?? ''
  const page = await read(address)
  expect(page).toMatch(/<code data-copy>http[^<]+\/pay\/[^<]+<\/code>/)
  expect(page).toContain('<svg')
  expect((await owner.post(`${address}/cancel`)).status).toBe(303)
  expect(await read(address)).toContain('CANCELLED')
  expect(await actsOf(address.split('/').at(-1) ?? '')).toEqual([
    'link.create by the owner',
    'link.cancel by the owner',
  ])
})

test('422 a link for an amount that is none is refused with what was typed', async () => {
  const refused = await owner.post(at('/links/new'), { amount: 'ten', currency: 'EUR', key: 'k2' })
  expect([refused.status, (await refused.text()).includes('value="ten"')]).toEqual([422, true])
})

test('200 an endpoint is added with its secret shown once, gets a new secret, and is removed', async () => {
  const url = 'http://127.0.0.1:9/hook'
  const added = await (await owner.post(at('/endpoints'), { url, types: 'payment.captured' })).text()
  const endpointId = /we_[0-9a-f]{32}/.exec(added)?.[0] ?? ''
  expect(added).toMatch(/whsec_/)
  expect(await read(at('/endpoints'))).not.toMatch(/whsec_/)
  expect(await (await owner.post(at('/endpoints/rotate'), { endpointId })).text()).toMatch(/whsec_/)
  expect((await owner.post(at('/endpoints/remove'), { endpointId })).status).toBe(303)
  expect(await read(at('/endpoints'))).not.toContain(endpointId)
  expect(await actsOf(endpointId)).toEqual([
    'webhook.add by the owner',
    'webhook.rotate-secret by the owner',
    'webhook.remove by the owner',
  ])
})

test.each([
  { url: 'ftp://shop.example', types: '' },
  { url: 'https://user:secret@shop.example', types: '' },
  { url: 'https://shop.example', types: 'payment.exploded' },
])('422 an endpoint like $url $types is refused', async fields => {
  expect((await owner.post(at('/endpoints'), fields)).status).toBe(422)
})

test('303 retention is set, and a duration that is none is 422', async () => {
  expect((await owner.post(at('/settings/retention'), { personalData: 'soon' })).status).toBe(422)
  expect((await owner.post(at('/settings/retention'), { personalData: 'P2Y' })).status).toBe(303)
  expect(await read(at('/settings'))).toContain('value="P2Y"')
})

test('422 a route to an account that is not there is refused', async () => {
  const refused = await owner.post(at('/providers/routes'), { accountId: 'acc_none', types: 'CARD' })
  expect(refused.status).toBe(422)
  expect((await owner.post(at('/providers/routes'), { types: 'TELEPATHY' })).status).toBe(422)
})

test('200 the inbox shows a webhook that nobody receives, with a signature that proves it', async () => {
  expect((await owner.post(at('/inbox'), { payId, type: 'payment.captured', key: 'k3' })).status).toBe(303)
  const inbox = await read(at('/inbox'))
  expect(inbox).toContain('signature is right')
  expect(inbox).toContain('webhook-signature')
  expect(inbox).toContain('&quot;type&quot;:&quot;payment.captured&quot;')
})

test('200 the inbox goes on to older webhooks until the last one, each shown once', async () => {
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

test('a signature of another body, of another secret or of none proves nothing', async () => {
  const headers = { 'webhook-id': 'a', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AAAA v2,x' }
  expect(provesBody(headers, '{}', Buffer.alloc(32))).toBe(false)
  expect(provesBody({}, '{}', Buffer.alloc(32))).toBe(false)
})

test('200 an event is sent again, and the story of its payment tells of it and of who did it', async () => {
  const { body } = await gateway.call('GET', `/events?payId=${payId}`)
  const eventId = body.data[0].id
  const sent = await owner.post(at(`/events/${eventId}/replay`), { key: 'k4' })
  expect(sent.status).toBe(303)
  const story = await read(at(`/payments/${payId}`))
  expect(story).toContain('Event payment.captured')
  expect(story).toContain(`by ${owner.email}`)
  expect(await actsOf(eventId)).toEqual(['event.replay by the owner'])
})

test('200 the story of a payment tells the notices that its provider sent, in their order of time', async () => {
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

const beginPlan = (merchantCustomerId: string) =>
  gateway.call(
    'POST',
    '/payments',
    cardPayment({
      credentialOnFile: {
        type: 'RECURRING',
        initialPayment: true,
        recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
      },
      customerInfo: { merchantCustomerId, email: 'plan@example.com' },
      card: { expiryDate: '209912' },
    }),
  )

test('303 a plan gets another amount and another card, and is resumed with a charge at once', async () => {
  const { body } = await beginPlan('the changing plan')
  const plan = at(`/plans/${body.paymentPlanId}`)
  const recordOf = async () => (await gateway.call('GET', `/payment-plans/${body.paymentPlanId}`)).body
  expect((await owner.post(`${plan}/amount`, { amount: 'ten', key: 'p0' })).status).toBe(422)
  const asked = await owner.post(`${plan}/amount`, { amount: '12.99', key: 'p1' })
  expect([asked.status, await asked.text()]).toEqual([200, expect.stringContaining('€12.99')])
  expect((await recordOf()).amount.value).toBe(1000)
  expect((await owner.post(`${plan}/amount`, { amount: '12.99', key: 'p1', sure: 'yes' })).status).toBe(303)
  expect((await recordOf()).amount.value).toBe(1299)
  expect(await read(plan)).not.toContain('Charge another stored method')
  await gateway.call(
    'POST',
    '/payments',
    cardPayment({
      customerInfo: { merchantCustomerId: 'the changing plan', email: 'plan@example.com' },
      credentialOnFile: { type: 'UNSCHEDULED', initialPayment: true, unscheduled: { subType: 'CIT' } },
      card: { number: '5555555555554444', expiryDate: '209912' },
    }),
  )
  const choice = /<option value="([0-9a-f]{32})">mastercard •••• 4444</i.exec(await read(plan))?.[1] ?? ''
  expect((await owner.post(`${plan}/method`, { paymentMethodId: choice, key: 'p2' })).status).toBe(303)
  expect((await recordOf()).paymentMethodId).toBe(choice)
  await owner.post(`${plan}/pause`)
  expect((await owner.post(`${plan}/charge`, { key: 'p3' })).status).toBe(200)
  for (let click = 0; click < 2; click++)
    expect((await owner.post(`${plan}/charge`, { key: 'p3', sure: 'yes' })).status).toBe(303)
  expect(await recordOf()).toMatchObject({ status: 'ACTIVE', numberOfPayments: 2 })
})

test('303 evidence goes out with its files, which are kept sealed; too much of it is 413', async () => {
  await gateway.call('POST', '/payments', cardPayment({ card: { number: '4000000000002685' } }))
  await gateway.call('POST', '/test/clock', { advance: 'P3D' })
  const { disputeId } = (await gateway.call('GET', '/disputes')).body.data[0]
  const address = at(`/disputes/${disputeId}`)
  const page = await read(address)
  expect(page).toContain('enctype="multipart/form-data"')
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const send = (fields: Record<string, string>, files: readonly File[]) => {
    const form = new FormData()
    for (const [name, value] of Object.entries({ csrf, key: 'e1', ...fields })) form.set(name, value)
    for (const file of files) form.append('files', file)
    return fetch(`${gateway.url}${address}/evidence`, {
      ...{ method: 'POST', redirect: 'manual', body: form, headers: { cookie: owner.cookie } },
    })
  }
  const receipt = new File(['%PDF-1.4\n%%EOF\n'], 'receipt.pdf', { type: 'application/pdf' })
  expect((await send({ text: ' ' }, [])).status).toBe(422)
  expect((await send({ text: 'x', csrf: 'wrong' }, [receipt])).status).toBe(403)
  expect((await send({ text: 'x' }, [new File(['<script>'], 'a.html', { type: 'text/html' })])).status).toBe(
    422,
  )
  expect((await send({}, [new File(['x'.repeat(17_000_000)], 'a.pdf')])).status).toBe(413)
  expect((await send({ text: 'We WIN' }, [receipt])).status).toBe(303)
  expect((await gateway.call('GET', `/disputes/${disputeId}`)).body.status).not.toBe('OPEN')
  expect(await actsOf(disputeId)).toEqual(['dispute.evidence by the owner'])
})

test('401 the text of evidence outlives the session, whatever files came with it', async () => {
  const form = new FormData()
  form.set('text', 'typed for an hour')
  form.append('files', new File(['x'.repeat(100_000)], 'a.pdf', { type: 'application/pdf' }))
  const answer = await fetch(`${gateway.url}${at('/disputes/x/evidence')}`, { method: 'POST', body: form })
  expect([answer.status, await answer.text()]).toEqual([
    401,
    expect.stringContaining('name="kept.text" value="typed for an hour"'),
  ])
})

test('303 a provider account is added and changed, and its secrets are never shown', async () => {
  const form = await read(at('/providers/new?connector=adyen'))
  for (const name of ['set.merchantAccount', 'secret.apiKey', 'secret.hmacKey'])
    expect(form).toContain(`name="${name}"`)
  const fields = {
    connector: 'adyen',
    name: 'Second PSP',
    'set.merchantAccount': 'Shop',
    others: 'types=IDEAL\nbaseUrl=http://127.0.0.1:9',
    'secret.apiKey': 'a-very-secret-api-key',
    'secret.hmacKey': 'ab'.repeat(32),
  }
  const wrong = await owner.post(at('/providers/new'), { ...fields, others: 'colour=red' })
  const refusal = await wrong.text()
  expect([wrong.status, refusal]).toEqual([422, expect.stringContaining('colour')])
  expect(refusal).not.toContain('a-very-secret-api-key')
  const added = await owner.post(at('/providers/new'), fields)
  const address = (added.headers.get('location') ?? '').split('?')[0] ?? ''
  const page = await read(address)
  expect(page).toContain('apiKey, hmacKey')
  expect(page).not.toContain('a-very-secret-api-key')
  const { connector: _, 'secret.apiKey': __, 'secret.hmacKey': ___, ...change } = fields
  expect((await owner.post(address, { ...change, name: 'Renamed', others: '' })).status).toBe(303)
  const accountId = address.split('/').at(-1) ?? ''
  const [account] = await queryRows<{ name: string; settings: object }>(
    gateway.databaseUrl,
    `SELECT name, settings FROM provider_account WHERE provider_account_id = '${accountId}'`,
  )
  expect(account).toEqual({ name: 'Renamed', settings: { merchantAccount: 'Shop' } })
  expect(await actsOf(accountId)).toEqual(['provider.add by the owner', 'provider.set by the owner'])
  const trail = await queryRows<{ row: string }>(gateway.databaseUrl, 'SELECT audit::text AS row FROM audit')
  expect(JSON.stringify(trail)).not.toContain('a-very-secret-api-key')
  const stranger = await signUp(gateway, { role: 'support' })
  expect((await stranger.get(address)).status).toBe(403)
  await queryRows(
    gateway.databaseUrl,
    `DELETE FROM provider_account WHERE provider_account_id = '${accountId}'`,
  )
})

test('a day that no month has is refused by name on the page that compares books', async () => {
  const page = await owner.get(at('/reconciliation?from=2026-02-31&to=2026-03-01'))
  expect([page.status, await page.text()]).toEqual([422, expect.stringContaining('must be days')])
})

test('200 notices that fit no payment are listed with the account they came to', async () => {
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

test('303 a plan is paused, resumed, and cancelled only when asked twice', async () => {
  const { body } = await beginPlan('the plan')
  const plan = at(`/plans/${body.paymentPlanId}`)
  expect(await read(at('/plans'))).toContain(body.paymentPlanId)
  for (const act of ['pause', 'resume']) expect((await owner.post(`${plan}/${act}`)).status).toBe(303)
  expect((await owner.post(`${plan}/cancel`)).status).toBe(200)
  expect(await read(plan)).toContain('ACTIVE')
  expect((await owner.post(`${plan}/cancel`, { sure: 'yes' })).status).toBe(303)
  expect(await read(plan)).toContain('CANCELLED')
})

test('200 an API key keeps to its networks and its end, and is revoked only when asked twice', async () => {
  const fields = { name: 'till', scopes: '', allowFrom: '10.0.0.0/8', expires: '2099-12-31' }
  for (const wrong of [{ allowFrom: 'here' }, { expires: '2001-01-01' }, { scopes: 'all' }, { name: ' ' }]) {
    const refused = await owner.post(at('/keys'), { ...fields, ...wrong })
    expect([refused.status, (await refused.text()).includes('role="alert"')]).toEqual([422, true])
  }
  const page = await (await owner.post(at('/keys'), fields)).text()
  const apiKey = /tg_test_[\w-]+/.exec(page)?.[0] ?? ''
  const keyId = readApiKey(apiKey)?.keyId ?? ''
  const [key] = (await gateway.gateway.merchants.listKeys(gateway.merchantId))?.filter(
    one => one.keyId === keyId,
  ) ?? [undefined]
  expect(key).toMatchObject({ name: 'till', allowFrom: ['10.0.0.0/8'], expiresAt: new Date('2099-12-31') })
  expect((await owner.post(at('/keys/revoke'), { keyId })).status).toBe(200)
  expect(await read(at('/keys'))).toContain(keyId)
  expect((await owner.post(at('/keys/revoke'), { keyId, sure: 'yes' })).status).toBe(303)
  expect(await read(at('/keys'))).not.toContain(keyId)
})

test('200 an API key is made for some scopes and shown once', async () => {
  const made = await owner.post(at('/keys'), { name: 'reader', scopes: 'read' })
  const key = /tg_test_[\w-]+/.exec(await made.text())?.[0] ?? ''
  const authorization = `Basic ${Buffer.from(`${gateway.merchantId}:${key}`).toString('base64')}`
  const list = await fetch(`${gateway.url}/api/v2/payments`, { headers: { authorization } })
  expect(list.status).toBe(200)
  expect(await read(at('/keys'))).not.toContain(key)
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
  // The name of the merchant stands on each of its pages.
  expect(shown).toBeGreaterThan(fixed.length)
})

test('404 ids that the merchant does not have', async () => {
  for (const path of ['/payments/x', '/links/x', '/plans/x', '/disputes/x', '/events/x', '/customers/x'])
    expect((await owner.get(at(path))).status).toBe(404)
})
