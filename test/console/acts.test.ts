/** Actions on the pages of the console, over HTTP: links, endpoints, settings, plans, evidence, accounts, keys. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readApiKey } from '#domain/api-key.ts'
import { listActs, type Person, signUp } from '#test/support/browser/console.ts'
import { mainOf, readForms } from '#test/support/browser/console-forms.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let owner: Person

beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await signUp(gateway, { role: 'owner' })
})
afterAll(() => gateway.stop())

const at = (path: string) => `/console/m/${gateway.merchantId}${path}`
const read = async (path: string) => (await owner.get(path)).text()

const actsOf = (object: string) => listActs(gateway, owner, object)

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

test('422 a link with an invalid amount is refused, and the form keeps what was typed', async () => {
  const refused = await owner.post(at('/links/new'), { amount: 'ten', currency: 'EUR', key: 'k2' })
  expect([refused.status, (await refused.text()).includes('value="ten"')]).toEqual([422, true])
})

/** Sends the form of a page as a browser does: all of its fields, with other entries for some. */
const send = (action: string, page: string, entries: Record<string, string> = {}) => {
  const form = readForms(mainOf(page)).find(one => one.action === action)
  return owner.post(action, { ...form?.fields, ...entries })
}

test('303 after a refusal the same form is corrected and sent again: its key was used up by the first amount', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  const address = at(`/payments/${body.payId}/refunds`)
  const asked = await send(address, await read(address), { amount: '999999' })
  const refused = await send(address, await asked.text())
  const page = await refused.text()
  expect([refused.status, page.includes('above what can be refunded')]).toEqual([422, true])
  const askedAgain = await send(address, page, { amount: '300' })
  expect((await send(address, await askedAgain.text())).status).toBe(303)
  const { body: record } = await gateway.call('GET', `/payments/getByPayId/${body.payId}`)
  expect(record.amount.refundedValue).toBe(300)
})

test('303 a refund that was declined is tried again with the same amount: the first answer is not repeated', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  const address = at(`/payments/${body.payId}/refunds`)
  await gateway.call('POST', '/test/faults', { operation: 'REFUND', fault: 'decline', times: 1 })
  const asked = await send(address, await read(address), { amount: '300' })
  const declined = await send(address, await asked.text())
  expect(declined.status).toBe(422)
  const askedAgain = await send(address, await declined.text())
  expect((await send(address, await askedAgain.text())).status).toBe(303)
})

test('422 a declined refund is in the audit trail and in the timeline with the name of the person', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  await gateway.call('POST', '/test/faults', { operation: 'REFUND', fault: 'decline', times: 1 })
  const refund = { amount: '300', key: 'k-declined', sure: 'yes' }
  expect((await owner.post(at(`/payments/${body.payId}/refunds`), refund)).status).toBe(422)
  expect(await actsOf(body.payId)).toEqual(['payment.refund by the owner'])
  const [row] = await queryRows<{ after: unknown }>(
    gateway.databaseUrl,
    `SELECT after FROM audit WHERE object = '${body.payId}'`,
  )
  const failure = { status: 'FAILED', responseCode: '21000305' }
  expect(row?.after).toEqual({ amount: 300, currency: 'EUR', ...failure })
  expect(await read(at(`/payments/${body.payId}`))).toMatch(/payment\.refund .*?FAILED/)
})

test('422 a form whose first entries took effect does not take effect again with others', async () => {
  const { body } = await gateway.call('POST', '/payments', cardPayment())
  const address = at(`/payments/${body.payId}/refunds`)
  const asked = await (await send(address, await read(address), { amount: '300' })).text()
  expect((await send(address, asked)).status).toBe(303)
  const changed = await send(address, asked, { amount: '400', once: 'another' })
  expect(changed.status).toBe(409)
  const refused = await send(address, await changed.text())
  expect(refused.status).toBe(422)
  expect((await send(address, await refused.text(), { sure: 'yes' })).status).toBe(422)
  const { body: record } = await gateway.call('GET', `/payments/getByPayId/${body.payId}`)
  expect(record.amount.refundedValue).toBe(300)
})

test('303 a link that no account can serve is made after the currency is corrected in the same form', async () => {
  const { merchantId } = await gateway.gateway.merchants.create('A shop with a bank')
  const bank = {
    connector: 'bank',
    name: 'Our bank',
    'set.creditorName': 'Shop',
    'set.creditorIban': 'DE02120300000000202051',
    'set.creditorId': 'DE98ZZZ09999999999',
  }
  expect((await owner.post(`/console/m/${merchantId}/providers/new`, bank)).status).toBe(303)
  const address = `/console/m/${merchantId}/links/new`
  const refused = await send(address, await read(address), { amount: '1000', currency: 'USD' })
  expect(refused.status).toBe(422)
  expect((await send(address, await refused.text(), { currency: 'EUR' })).status).toBe(303)
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
  ['/links/new', { amount: '0', currency: 'EUR' }, 'amount.value is 0; allowed is a whole number of 1 to'],
  ['/links/new', { amount: '10', currency: 'ZZZ' }, 'amount.currency is &quot;ZZZ&quot;'],
  ['/links/new', { amount: '10.00', currency: 'eur' }, 'The currency is eur; allowed is an active ISO 4217'],
  ['/links/new', { amount: '10.0', currency: 'EUR' }, 'The amount is 10.0; allowed in EUR is'],
  ['/test/clock', { advance: 'P1000Y' }, 'advance is P1000Y'],
  [
    '/test/faults',
    { operation: 'X', fault: 'decline', times: '1' },
    'operation is &quot;X&quot;; allowed is one of',
  ],
  ['/keys', { name: 'x', expires: '2020-01-01' }, 'The end is 2020-01-01. It must lie in the future.'],
  ['/keys', { name: 'x'.repeat(129) }, 'The name has 129 characters; allowed are 1 to 128'],
  ['/endpoints', { url: `https://shop.example/${'x'.repeat(2048)}` }, 'characters; allowed are 2048 at most'],
])('422 %s names the wrong field, its value and what is allowed: %j', async (path, fields, said) => {
  const refused = await owner.post(at(path), fields)
  expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining(said)])
})

test('400 a list with two wrong filters names both of them', async () => {
  const refused = await owner.get(at('/payments?amountFrom=-1&status=NOPE'))
  const page = await refused.text()
  expect([refused.status, page.includes('amountFrom is &quot;-1&quot;')]).toEqual([400, true])
  expect(page).toContain('status holds &quot;NOPE&quot;; allowed: AUTHORIZE_REQUEST')
})

test.each([
  ['', 'The name has 0 characters'],
  ['x'.repeat(129), 'The name has 129 characters'],
])(
  '422 a merchant is not made under the name "%s", which would be left out or cut off',
  async (name, said) => {
    const refused = await owner.post('/console/merchants', { name })
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining(said)])
  },
)

test('the address of an endpoint is stored as the URL standard writes it', async () => {
  const page = await (
    await owner.post(at('/endpoints'), { url: 'HTTP://127.0.0.1:80/a b'.replace(' ', '%20') })
  ).text()
  expect(page).toContain('title="http://127.0.0.1/a%20b"')
})

test.each([
  { url: 'ftp://shop.example', types: '' },
  { url: 'https://user:secret@shop.example', types: '' },
  { url: 'https://shop.example', types: 'payment.exploded' },
])('422 an endpoint like $url $types is refused', async fields => {
  expect((await owner.post(at('/endpoints'), fields)).status).toBe(422)
})

test('303 retention is set, and an invalid duration is 422', async () => {
  expect((await owner.post(at('/settings/retention'), { personalData: 'soon' })).status).toBe(422)
  expect((await owner.post(at('/settings/retention'), { personalData: 'P2Y' })).status).toBe(303)
  expect(await read(at('/settings'))).toContain('value="P2Y"')
})

test('422 a route to an unknown account is refused', async () => {
  const refused = await owner.post(at('/providers/routes'), { accountId: 'acc_none', types: 'CARD' })
  expect(refused.status).toBe(422)
  expect((await owner.post(at('/providers/routes'), { types: 'TELEPATHY' })).status).toBe(422)
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
  const [change] = await queryRows(
    gateway.databaseUrl,
    `SELECT act, before, after FROM audit WHERE object = '${body.paymentPlanId}'`,
  )
  expect(change).toEqual({
    act: 'plan.amount',
    before: { amount: { value: 1000, currency: 'EUR' } },
    after: { amount: { value: 1299, currency: 'EUR' } },
  })
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

test('303 evidence is sent with its files, which are stored sealed; too much of it is 413', async () => {
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
  const large = await send({}, [new File(['x'.repeat(17_000_000)], 'a.pdf')])
  expect([large.status, await large.text()]).toEqual([413, expect.stringContaining('takes 16 MB')])
  const scan = await send({}, [new File(['x'.repeat(6_000_000)], 'scan.pdf', { type: 'application/pdf' })])
  const said = 'The file scan.pdf has 6.0 MB; allowed are 5 MB.'
  expect([scan.status, await scan.text()]).toEqual([422, expect.stringContaining(said)])
  expect((await send({ text: 'We WIN' }, [receipt])).status).toBe(303)
  expect((await gateway.call('GET', `/disputes/${disputeId}`)).body.status).not.toBe('OPEN')
  expect(await actsOf(disputeId)).toEqual(['dispute.evidence by the owner'])
})

test('401 the text of evidence is kept when the session ends, whatever files came with it', async () => {
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

test('303 a plan is paused, resumed, and cancelled only after a confirmation', async () => {
  const { body } = await beginPlan('the plan')
  const plan = at(`/plans/${body.paymentPlanId}`)
  expect(await read(at('/plans'))).toContain(body.paymentPlanId)
  for (const act of ['pause', 'resume']) expect((await owner.post(`${plan}/${act}`)).status).toBe(303)
  expect((await owner.post(`${plan}/cancel`)).status).toBe(200)
  expect(await read(plan)).toContain('ACTIVE')
  expect((await owner.post(`${plan}/cancel`, { sure: 'yes' })).status).toBe(303)
  expect(await read(plan)).toContain('CANCELLED')
})

/** What the command line refuses, too: the last one would write in red wherever a terminal shows it. */
const unfitNames = [' ', 'x'.repeat(129), 'a\nb', '\u001b[31mred'].map(name => ({ name }))

test('422 a merchant and a provider account get a name of visible characters that is not too long', async () => {
  for (const { name } of unfitNames) {
    const forms = [
      ['/console/merchants', { name }],
      [at('/providers/new'), { connector: 'simulator', name }],
    ] as const
    for (const [address, form] of forms) {
      const refused = await owner.post(address, form)
      expect([name, address, refused.status]).toEqual([name, address, 422])
      expect(await refused.text()).toContain('1 to 128 visible characters')
    }
  }
})

test('200 an API key has networks and an expiry, and is revoked only after a confirmation', async () => {
  const fields = { name: 'till', scopes: '', allowFrom: '10.0.0.0/8', expires: '2099-12-31' }
  for (const wrong of [{ allowFrom: 'here' }, { expires: '2001-01-01' }, { scopes: 'all' }, ...unfitNames]) {
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

test('303 a test payment is paid however far the test clock was moved: its card is valid by that clock', async () => {
  const { merchantId } = await gateway.gateway.merchants.create('A shop of the future')
  const tools = `/console/m/${merchantId}/test`
  expect((await owner.post(`${tools}/clock`, { advance: 'P5Y' })).status).toBe(303)
  expect((await owner.post(`${tools}/payment`)).status).toBe(303)
})
