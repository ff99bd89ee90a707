/**
 * Every form of the console: none loses its entries when a session ends, none acts twice, each has a command for a
 * terminal.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Visit } from '#console/context.ts'
import { globalPages, merchantPages } from '#console/routes.ts'
import { actOnce } from '#console/sent-forms.ts'
import { totpCode, totpStep } from '#console/totp.ts'
import { type Person, readCookie, signUp } from '#test/support/browser/console.ts'
import { bodyOf, mainOf, readForms, type ShownForm } from '#test/support/browser/console-forms.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let owner: Person
/** Every page with forms, with data so that each form of the console is on one of them. */
let addresses: readonly string[]

const at = (path: string) => `/console/m/${gateway.merchantId}${path}`

const beginPlan = async (merchantCustomerId: string) => {
  const customerInfo = { merchantCustomerId, email: 'plan@example.com' }
  const recurring = { frequency: 'MONTHLY', useCase: 'FIXED' }
  const begun = await gateway.call(
    'POST',
    '/payments',
    cardPayment({
      customerInfo,
      credentialOnFile: { type: 'RECURRING', initialPayment: true, recurring },
      card: { expiryDate: '209912' },
    }),
  )
  const other = cardPayment({
    customerInfo,
    credentialOnFile: { type: 'UNSCHEDULED', initialPayment: true, unscheduled: { subType: 'CIT' } },
    card: { number: '5555555555554444', expiryDate: '209912' },
  })
  await gateway.call('POST', '/payments', other)
  return at(`/plans/${begun.body.paymentPlanId}`)
}

async function fillShop(): Promise<readonly string[]> {
  const plans = [await beginPlan('active'), await beginPlan('paused')]
  await owner.post(`${plans[1]}/pause`)
  const paid = await gateway.call('POST', '/payments', cardPayment())
  const held = await gateway.call('POST', '/payments', cardPayment({ captureMethod: { type: 'MANUAL' } }))
  await gateway.call('POST', '/payments', cardPayment({ card: { number: '4000000000002685' } }))
  await gateway.call('POST', '/test/clock', { advance: 'P3D' })
  const { disputeId } = (await gateway.call('GET', '/disputes')).body.data[0]
  const link = { transId: 'a-link', amount: { value: 100, currency: 'EUR' } }
  const { id: linkId, payId: linkPayId } = (await gateway.call('POST', '/payments/links', link)).body
  await gateway.call('POST', `/test/payments/${paid.body.payId}/events`, { type: 'payment.captured' })
  const [event] = (await gateway.call('GET', `/events?payId=${paid.body.payId}`)).body.data
  await gateway.call('POST', '/test/faults', { operation: 'CREDIT', fault: 'decline', times: 1 })
  await owner.post(at('/endpoints'), { url: 'https://shop.example/hook' })
  await owner.post(at('/providers/new'), { connector: 'simulator', name: 'Main', others: '' })
  const accounts = await (await owner.get(at('/providers'))).text()
  const accountId = /acc_[0-9a-f]+/.exec(accounts)?.[0] ?? ''
  await owner.post(at('/providers/routes'), { accountId })
  const other = await signUp(gateway, { role: 'viewer' })
  const [row] = await queryRows<{ operator_id: string }>(
    gateway.databaseUrl,
    `SELECT operator_id FROM operator WHERE email = '${other.email}'`,
  )
  const empty = await gateway.gateway.merchants.create('Empty shop')
  const money = (payId: string) =>
    ['captures', 'refunds', 'reversals', 'cancellations'].map(name => at(`/payments/${payId}/${name}`))
  return [
    ...globalPages.filter(isPlain).map(({ path }) => `/console${path}`),
    ...merchantPages.filter(isPlain).map(({ path }) => at(path)),
    ...[...plans, at(`/disputes/${disputeId}`), at(`/links/${linkId}`), at(`/events/${event.id}`)],
    ...[...money(paid.body.payId), ...money(held.body.payId), at(`/payments/${linkPayId}/cancellations`)],
    ...['simulator', 'bank', 'stripe', 'adyen'].map(name => at(`/providers/new?connector=${name}`)),
    at(`/providers/accounts/${accountId}`),
    `/console/operators/${(row?.operator_id ?? '').replaceAll('-', '')}`,
    `/console/m/${empty.merchantId}`,
  ]
}

const isPlain = ({ verb, path }: { readonly verb: string; readonly path: string }): boolean =>
  verb === 'GET' && !path.includes('{') && !/\.(json|csv)$/.test(path)

beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await signUp(gateway, { role: 'owner' })
  addresses = await fillShop()
  // A second session, to be ended from the first one.
  await signInAgain(owner, await (await fetch(`${gateway.url}/console/sign-in`)).text())
})
afterAll(() => gateway.stop())

/** Passkeys can be made only in a browser. */
const browserOnly = ['/console/passkeys']

async function readAll(): Promise<
  readonly (ShownForm & { readonly address: string; readonly page: string })[]
> {
  const found = new Map<string, ShownForm & { readonly address: string; readonly page: string }>()
  for (const address of addresses) {
    const page = mainOf(await (await owner.get(address)).text())
    for (const form of readForms(page))
      if (!browserOnly.includes(form.action))
        found.set(`${form.action} ${Object.keys(form.fields).join(' ')}`, { ...form, address, page })
  }
  return [...found.values()]
}

/** The route that an address belongs to. */
const routes = [
  ...globalPages.map(({ verb, path }) => ({ verb, path: `/console${path}` })),
  ...merchantPages.map(({ verb, path }) => ({ verb, path: `/console/m/{merchant}${path}` })),
].filter(({ verb }) => verb === 'POST')

const routeOf = (action: string): string | undefined =>
  routes.find(({ path }) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(action))?.path

const send = (address: string, body: FormData | URLSearchParams, cookie?: string) =>
  fetch(`${gateway.url}${address}`, {
    ...{ method: 'POST', redirect: 'manual', body },
    headers: cookie === undefined ? {} : { cookie },
  })

test('the pages of this test show a form for every act of the console', async () => {
  const shown = new Set((await readAll()).map(({ action }) => routeOf(action)))
  const missing = routes.map(({ path }) => path).filter(path => !shown.has(path))
  expect(missing).toEqual(browserOnly)
})

test('every form shows the request that does the same from a terminal', async () => {
  const lacking = (await readAll()).filter(({ page }) => !page.includes('class="curl"'))
  expect(lacking.map(({ action }) => routeOf(action))).toEqual([])
})

/** Of every script, in several lines, and with everything that means something in HTML, addresses and forms. */
const text = `Größe & "Maß" <b>'1'</b>\r\n100 % + ключ=値; `

/** Typed texts may be as long as the longest text that the API accepts. */
const typeInto = (name: string): string =>
  name === 'text' ? 'ключ値 🔑'.repeat(2_800).slice(0, 20_000) : text

async function signInAgain({ email, password, totpSecret }: Person, page: string) {
  const [form] = readForms(page)
  if (!form) throw new Error('there is no form to sign in')
  // Each code works once, and this test signs in several times within one time step.
  await queryRows(gateway.databaseUrl, `UPDATE operator SET totp_step = 0 WHERE email = '${email}'`)
  const code = totpCode(totpSecret, totpStep(Date.now()))
  const back = await send(form.action, bodyOf(form, { ...form.fields, email, password, code }))
  return { cookie: readCookie(back), form: readForms(await back.text())[0] }
}

test('no form loses what was typed when the session ends', async () => {
  const forms = await readAll()
  const lost: unknown[] = []
  for (const shown of forms) {
    const typed = Object.fromEntries(shown.typed.map(name => [name, typeInto(name)]))
    const fields = { ...shown.fields, ...typed }
    const refused = await send(shown.action, bodyOf(shown, fields))
    const { form } = await signInAgain(owner, await refused.text())
    const { csrf: _, sure: __, ...asked } = fields
    const wanted = Object.entries(asked).filter(([name]) => !name.startsWith('secret.'))
    const missing = wanted.filter(([name, value]) => form?.fields[name] !== value).map(([name]) => name)
    if (refused.status !== 401 || form?.action !== shown.action || missing.length > 0)
      lost.push([shown.action, refused.status, form?.action, missing])
    if (form?.isMultipart !== shown.isMultipart) lost.push([shown.action, 'files cannot be chosen again'])
  }
  expect(lost).toEqual([])
  expect(forms.length).toBeGreaterThan(40)
})

/** Valid entries for the required fields. */
const sensible: Readonly<Record<string, string>> = {
  name: 'A name',
  email: 'new@example.com',
  url: 'https://shop.example/other',
  personalData: 'P2Y',
  text: 'Evidence',
  'set.creditorName': 'Shop',
  'set.creditorIban': 'DE02120300000000202051',
  'set.creditorId': 'DE98ZZZ09999999999',
  'set.merchantAccount': 'ShopECOM',
  'secret.apiKey': 'AQE1234567890',
  'secret.hmacKey': 'ab'.repeat(32),
  'secret.secretKey': 'sk_test_1234567890',
  'secret.webhookSecret': 'whsec_1234567890abcdef',
  amount: '10',
}

const readActs = async () =>
  (await queryRows<{ act: string }>(gateway.databaseUrl, 'SELECT act FROM audit ORDER BY number')).map(
    ({ act }) => act,
  )

/** The order of forms: changes first, then those that end an object, and last those that break other forms. */
const rankOf = ({ action }: ShownForm): number =>
  /test\/(clock|faults)|evidence|resume|switch/.test(action)
    ? 2
    : Number(/remove|revoke|cancel|accept|end$/.test(action))

async function sendTwice(form: ShownForm) {
  const typed = Object.fromEntries(form.typed.map(name => [name, sensible[name] ?? form.fields[name] ?? '']))
  const before = (await readActs()).length
  const body = () => bodyOf(form, { ...form.fields, ...typed })
  const answers = await Promise.all([
    send(form.action, body(), owner.cookie),
    send(form.action, body(), owner.cookie),
  ])
  const late = await send(form.action, body(), owner.cookie)
  const pages = await Promise.all([...answers, late].map(answer => answer.text()))
  const statuses = new Set([...answers, late].map(({ status }) => status))
  return {
    pages,
    statuses,
    location: late.headers.get('location'),
    acts: (await readActs()).slice(before),
  }
}

test('a form that is sent twice, at the same moment or later, acts once and gets the same answer', async () => {
  const forms = (await readAll()).toSorted((a, b) => rankOf(a) - rankOf(b))
  const wrong: unknown[] = []
  const done = new Set<string>()
  const check = async (form: ShownForm): Promise<void> => {
    const { acts, statuses, pages, location } = await sendTwice(form)
    if (acts.length > 1 || statuses.size !== 1 || new Set(pages).size !== 1)
      wrong.push([form.action, acts, [...statuses]])
    for (const act of acts) done.add(act)
    if (acts.length === 1 && location?.includes('done=')) expect(location).toMatch(/done=once$/)
    // The form of a confirmation is sent twice as well.
    const next = readForms(mainOf(pages[0] ?? '')).find(({ fields }) => fields.sure === 'yes')
    if (next && form.fields.sure === undefined) await check(next)
  }
  for (const form of forms) await check(form)
  expect(wrong).toEqual([])
  expect([...done].toSorted()).toMatchInlineSnapshot(`
    [
      "dispute.accept",
      "event.replay",
      "key.create",
      "key.revoke",
      "link.cancel",
      "link.create",
      "merchant.create",
      "merchant.set",
      "operator.add",
      "operator.link",
      "operator.remove",
      "operator.set",
      "payment.capture",
      "payment.refund",
      "plan.amount",
      "plan.cancel",
      "plan.charge",
      "plan.method",
      "plan.pause",
      "provider.add",
      "provider.disable",
      "provider.set",
      "route.add",
      "route.remove",
      "session.end",
      "test.clock",
      "test.event",
      "test.fault",
      "test.faults.clear",
      "test.payment",
      "webhook.add",
      "webhook.remove",
      "webhook.rotate-secret",
    ]
  `)
})

test('a form that was sent before and never answered is offered again instead of being executed', async () => {
  let acted = 0
  const visit = {
    request: { verb: 'POST', url: '/console/merchants', form: { name: 'A shop' }, headers: {}, query: {} },
    ...{
      sessionId: 's',
      csrf: 'c',
      once: 'o',
      operator: { email: 'a@example.com', role: 'owner' },
      merchants: [],
    },
    deps: { environment: 'test', forms: { claim: async () => false, find: async () => ({ status: 202 }) } },
  } as unknown as Visit
  const act = async () => {
    acted += 1
    return { status: 200 }
  }
  const { status, body } = await actOnce(visit, act, { looks: 2, pauseMs: 0 })
  const [form] = readForms(mainOf(String(body)))
  expect([status, acted, form?.action, form?.fields.name]).toEqual([409, 0, '/console/merchants', 'A shop'])
})

test('a form that failed may be sent again, and another text in it is another form', async () => {
  const sent = new Map<string, { status: number; body?: string }>()
  const forms = {
    claim: async (key: string) => !sent.has(key) && sent.set(key, { status: 202 }) !== undefined,
    find: async (key: string) => sent.get(key),
    answer: async (key: string, answer: { status: number; body: string }) => void sent.set(key, answer),
    release: async (key: string) => void sent.delete(key),
  }
  const visit = (name: string) =>
    ({
      request: { verb: 'POST', url: '/console/merchants', form: { name }, headers: {}, query: {} },
      ...{ sessionId: 's', csrf: 'c', once: 'o', deps: { forms } },
    }) as unknown as Visit
  const fail = () => Promise.reject(new Error('the database is gone'))
  await expect(actOnce(visit('A'), fail)).rejects.toThrow('the database is gone')
  expect(await actOnce(visit('A'), async () => ({ status: 200, body: 'first' }))).toMatchObject({
    body: 'first',
  })
  expect(await actOnce(visit('A'), async () => ({ status: 200, body: 'second' }))).toMatchObject({
    body: 'first',
  })
  expect(await actOnce(visit('B'), async () => ({ status: 200, body: 'third' }))).toMatchObject({
    body: 'third',
  })
  // The stored answers are sealed: a reader of the table learns nothing.
  expect(
    [...sent.values()].map(({ body = '' }) => Buffer.from(body, 'base64').toString()).join(),
  ).not.toContain('first')
})
