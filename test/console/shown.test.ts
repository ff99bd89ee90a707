/**
 * Acts that move money do what the page showed, or report what has changed since: two people at once, and pages left
 * open.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createFormStore } from '#storage/console/forms.ts'
import { openDatabase } from '#storage/database.ts'
import { listActs, type Person, signUp } from '#test/support/browser/console.ts'
import { mainOf, readForms } from '#test/support/browser/console-forms.ts'
import { cardPayment, startTestGateway, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

let gateway: TestGateway
let owner: Person
let colleague: Person

beforeAll(async () => {
  gateway = await startTestGateway()
  owner = await signUp(gateway, { role: 'owner' })
  colleague = await signUp(gateway, { role: 'support' })
})
afterAll(() => gateway.stop())

const at = (path: string) => `/console/m/${gateway.merchantId}${path}`

/** Opens the page with the form of this act, sends it, and returns the page that asks for confirmation. */
async function ask(person: Person, action: string, entries: Record<string, string> = {}, page = action) {
  const shown = await (await person.get(page)).text()
  const form = readForms(mainOf(shown)).find(one => one.action === action)
  return (await person.post(action, { ...form?.fields, ...entries })).text()
}

/** Presses the button of a confirmation page. */
const confirm = (person: Person, asked: string) => {
  const [form] = readForms(mainOf(asked))
  return person.post(form?.action ?? '', form?.fields)
}

const recordOf = async (payId: string) => (await gateway.call('GET', `/payments/getByPayId/${payId}`)).body

const beginPlan = async (merchantCustomerId: string) => {
  const recurring = { frequency: 'MONTHLY', useCase: 'FIXED' }
  const payment = cardPayment({
    credentialOnFile: { type: 'RECURRING', initialPayment: true, recurring },
    customerInfo: { merchantCustomerId, email: 'plan@example.com' },
    card: { expiryDate: '209912' },
  })
  const { body } = await gateway.call('POST', '/payments', payment)
  const path = `/payment-plans/${body.paymentPlanId}`
  return {
    page: at(`/plans/${body.paymentPlanId}`),
    read: async () => (await gateway.call('GET', path)).body,
    patch: (change: object) => gateway.call('PATCH', path, change),
    pause: () => gateway.call('POST', `${path}/pause`),
  }
}

test('200 the test tools show every number of the catalogue', async () => {
  const page = await (await owner.get(at('/test'))).text()
  const { cards, accounts } = (await gateway.call('GET', '/test/catalogue')).body
  const numbers = [...cards, ...accounts].map(({ number }: { number: string }) => number)
  expect(numbers.filter(number => !page.includes(`>${number}<`))).toEqual([])
})

test('409 a plan is not charged an amount that the page did not show; the new one is asked about', async () => {
  const plan = await beginPlan('charged as shown')
  await plan.pause()
  const asked = await ask(owner, `${plan.page}/charge`, {}, plan.page)
  expect(asked).toMatch(/charge €10\.00 to visa •••• 1111 at once\?/i)
  await plan.patch({ amount: { value: 9900, currency: 'EUR' } })
  const refused = await confirm(owner, asked)
  const again = await refused.text()
  expect(refused.status).toBe(409)
  expect(again).toMatch(/has changed.*Nothing was done\..*charge €10\.00.*charge €99\.00/is)
  expect(await plan.read()).toMatchObject({ status: 'PAUSED', numberOfPayments: 1 })
  expect((await confirm(owner, again)).status).toBe(303)
  expect(await plan.read()).toMatchObject({ status: 'ACTIVE', numberOfPayments: 2 })
})

test('409 a plan is not charged on a card that the page did not show', async () => {
  const plan = await beginPlan('charged on the card shown')
  await gateway.call(
    'POST',
    '/payments',
    cardPayment({
      customerInfo: { merchantCustomerId: 'charged on the card shown', email: 'plan@example.com' },
      credentialOnFile: { type: 'UNSCHEDULED', initialPayment: true, unscheduled: { subType: 'CIT' } },
      card: { number: '5555555555554444', expiryDate: '209912' },
    }),
  )
  await plan.pause()
  const asked = await ask(owner, `${plan.page}/charge`, {}, plan.page)
  const choice = /<option value="([0-9a-f]{32})">mastercard/i.exec(await (await owner.get(plan.page)).text())
  await plan.patch({ paymentMethodId: choice?.[1] })
  const refused = await confirm(owner, asked)
  expect([refused.status, await refused.text()]).toEqual([
    409,
    expect.stringMatching(/mastercard •••• 4444/i),
  ])
  expect(await plan.read()).toMatchObject({ status: 'PAUSED', numberOfPayments: 1 })
})

test('409 the amount of a plan is not changed from another one than the page showed', async () => {
  const plan = await beginPlan('changed as shown')
  const asked = await ask(owner, `${plan.page}/amount`, { amount: '12.00' }, plan.page)
  await plan.patch({ amount: { value: 2000, currency: 'EUR' } })
  expect((await confirm(owner, asked)).status).toBe(409)
  expect((await plan.read()).amount.value).toBe(2000)
})

const pay = async (captureType: 'AUTOMATIC' | 'MANUAL'): Promise<string> =>
  (await gateway.call('POST', '/payments', cardPayment({ captureMethod: { type: captureType } }))).body.payId

test.each([
  ['refunds', 'AUTOMATIC', 'refundedValue', 'refund'],
  ['captures', 'MANUAL', 'capturedValue', 'captur'],
  ['reversals', 'MANUAL', 'reversedValue', 'revers'],
] as const)(
  '409 of two people with the same page of %s the second is told of the first',
  async (name, capture, sum, said) => {
    const payId = await pay(capture)
    const address = at(`/payments/${payId}/${name}`)
    const first = await ask(owner, address, { amount: '300' })
    const second = await ask(colleague, address, { amount: '300' })
    expect((await confirm(owner, first)).status).toBe(303)
    const refused = await confirm(colleague, second)
    const again = await refused.text()
    expect(refused.status).toBe(409)
    expect(again).toMatch(new RegExp(`has changed.*€10\\.00 can be ${said}.*€7\\.00 can be ${said}`, 'is'))
    expect((await recordOf(payId)).amount[sum]).toBe(300)
    expect((await confirm(colleague, again)).status).toBe(303)
    expect((await recordOf(payId)).amount[sum]).toBe(600)
  },
)

test('303 of several captures the one is refunded that is chosen, by default the last', async () => {
  const payId = await pay('MANUAL')
  const step = (name: string, value: number) =>
    gateway.call('POST', `/payments/${payId}/${name}`, { transId: name, amount: { value, currency: 'EUR' } })
  for (const value of [300, 700]) await step('captures', value)
  const address = at(`/payments/${payId}/refunds`)
  const page = await (await owner.get(address)).text()
  const [last, first] = [...page.matchAll(/<option value="([^"]+)"/g)].map(([, id = '']) => id)
  const [form] = readForms(mainOf(page))
  expect(form?.fields).toMatchObject({ amount: '700', capture: last })
  const asked = await ask(owner, address, { amount: '300', capture: first ?? '' })
  expect(asked).toMatch(/Refund €3\.00 of the capture of €3\.00 on 20.* UTC\?/)
  expect((await confirm(owner, asked)).status).toBe(303)
  expect(await step('refunds', 700)).toMatchObject({ status: 200 })
  expect((await recordOf(payId)).amount.refundedValue).toBe(1000)
})

test('303 captures that share the provider’s id are refunded without a choice, the last one first', async () => {
  const payId = await pay('MANUAL')
  for (const value of [300, 700])
    await gateway.call('POST', `/payments/${payId}/captures`, {
      transId: 'captures',
      amount: { value, currency: 'EUR' },
    })
  // Stripe has one charge, and so one id, for all captures of a payment.
  await queryRows(
    gateway.databaseUrl,
    `UPDATE operation SET provider = jsonb_set(to_jsonb(provider), '{transactionId}', '"ch_1"')
     WHERE pay_id = $1 AND type = 'CAPTURE'`,
    [payId],
  )
  const address = at(`/payments/${payId}/refunds`)
  for (const [shown, amount] of [
    ['700', '700'],
    ['300', '300'],
  ] as const) {
    const [form] = readForms(mainOf(await (await owner.get(address)).text()))
    expect(form?.fields).toMatchObject({ amount: shown })
    expect(form?.fields).not.toHaveProperty('capture')
    const asked = await ask(owner, address, { amount })
    expect(asked).toMatch(new RegExp(`Refund €${amount[0]}\\.00\\?`))
    expect((await confirm(owner, asked)).status).toBe(303)
  }
  const { amount, operations } = await recordOf(payId)
  expect(amount.refundedValue).toBe(1000)
  expect(operations.filter(({ type }: { type: string }) => type === 'REFUND')).toHaveLength(2)
})

test('303 a payment of a disabled merchant can be reversed here', async () => {
  const payId = await pay('MANUAL')
  const { merchants } = gateway.gateway
  await merchants.set(gateway.merchantId, { disabled: true })
  const asked = await ask(owner, at(`/payments/${payId}/reversals`), { amount: '1000' })
  expect((await confirm(owner, asked)).status).toBe(303)
  await merchants.set(gateway.merchantId, { disabled: false })
  expect(await recordOf(payId)).toMatchObject({ status: 'REVERSED' })
})

test('if two people confirm at the same moment, one refunds, and the other gets a message', async () => {
  const payId = await pay('AUTOMATIC')
  const address = at(`/payments/${payId}/refunds`)
  const asked = await Promise.all([owner, colleague].map(person => ask(person, address, { amount: '300' })))
  const answers = await Promise.all([confirm(owner, asked[0] ?? ''), confirm(colleague, asked[1] ?? '')])
  const refused = answers.filter(({ status }) => status !== 303)
  expect(refused.map(({ status }) => [409, 422].includes(status))).toEqual([true])
  expect(await refused[0]?.text()).toContain('Nothing was done.')
  expect((await recordOf(payId)).amount.refundedValue).toBe(300)
})

test('the lock of a stopped process expires after five minutes, and no process releases another’s lock', async () => {
  const database = openDatabase(gateway.databaseUrl, error => expect(error).toBeUndefined())
  const { hold } = createFormStore(database)
  const hash = 'c'.repeat(64)
  const stopped = await hold(hash)
  expect(await hold(hash)).toBeUndefined()
  await queryRows(
    gateway.databaseUrl,
    `UPDATE idempotency_key SET created_at = created_at - interval '6 minutes' WHERE path = '/console/held'`,
  )
  const next = await hold(hash)
  await stopped?.()
  expect(await hold(hash)).toBeUndefined()
  await next?.()
  const last = await hold(hash)
  expect(last).toBeDefined()
  await last?.()
  await database.close()
})

test('409 the second person sees a refund that is still under way', async () => {
  const payId = await pay('AUTOMATIC')
  const address = at(`/payments/${payId}/refunds`)
  const second = await ask(colleague, address, { amount: '300' })
  const amount = { value: 300, currency: 'EUR' }
  const transId = `under-way-${payId}`.slice(0, 40)
  await gateway.call('POST', `/payments/${payId}/refunds`, { transId, amount })
  // Written by SQL, because an inquiry could answer a real one at any moment.
  await queryRows(
    gateway.databaseUrl,
    `UPDATE operation SET state = 'PENDING', response_code = '60000200' WHERE trans_id = '${transId}'`,
  )
  const refused = await confirm(colleague, second)
  expect([refused.status, await refused.text()]).toEqual([409, expect.stringContaining('€3.00 is under way')])
})

test('409 a dispute is not accepted for another amount than the page showed', async () => {
  await gateway.call('POST', '/payments', cardPayment({ card: { number: '4000000000002685' } }))
  await gateway.call('POST', '/test/clock', { advance: 'P3D' })
  const [dispute] = (await gateway.call('GET', '/disputes')).body.data
  const page = at(`/disputes/${dispute.disputeId}`)
  const asked = await ask(colleague, `${page}/accept`, {}, page)
  expect(asked).toContain('€10.00')
  await queryRows(
    gateway.databaseUrl,
    `UPDATE dispute SET amount = 900 WHERE dispute_id = '${dispute.disputeId}'`,
  )
  expect((await confirm(colleague, asked)).status).toBe(409)
  const { body } = await gateway.call('GET', `/disputes/${dispute.disputeId}`)
  expect(body.status).toBe('OPEN')
})

test('303 a form that is sent again after the back button reports that it was executed before, and is audited once', async () => {
  const payId = await pay('AUTOMATIC')
  const address = at(`/payments/${payId}/refunds`)
  const form = readForms(mainOf(await (await owner.get(address)).text()))[0]
  const typed = { ...form?.fields, amount: '300' }
  await confirm(owner, await (await owner.post(address, typed)).text())
  // The browser keeps the fields of the page, the key of the form among them.
  const asked = await (await owner.post(address, { ...typed, once: 'another' })).text()
  const done = await confirm(owner, asked)
  expect([done.status, done.headers.get('location')]).toEqual([303, expect.stringMatching(/done=once$/)])
  expect((await recordOf(payId)).amount.refundedValue).toBe(300)
  expect(await listActs(gateway, owner, payId)).toEqual(['payment.refund by the owner'])
})
