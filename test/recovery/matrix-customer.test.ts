/**
 * The process dies during the customer's step, at every gap between two writes and with every kind of answer: a form on
 * our page, the provider's page, a challenge, a paid voucher. Another process recovers it; our books equal the
 * provider's, and a customer who was not approved may try again if there is a page to try on.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cardEntries, openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { type Crash, crashNames } from '#test/support/database/crash.ts'
import {
  faultOf,
  type Inheritance,
  isApproved,
  lucks,
  openInheritance,
} from '#test/support/database/inheritance.ts'
import type { TestAnswer, TestGateway, TestRequest } from '#test/support/gateway.ts'
import type { Acquirer } from '#test/support/providers/acquirer.ts'
import { type Shop, urls } from '#test/support/shop.ts'

let scene: Inheritance
let acquirer: Acquirer
let crash: Crash
let dying: TestGateway
let heir: TestGateway
let shop: Shop
beforeAll(async () => {
  scene = await openInheritance()
  ;({ acquirer, crash, dying, heir, shop } = scene)
})
afterAll(() => scene.close())

interface Created {
  readonly payId: string
  readonly page: string
}

type Step = (signal: AbortSignal | undefined) => Promise<unknown>

interface Row {
  readonly name: string
  readonly create: () => Promise<Created>
  /** Runs everything before the step that dies, and returns that step. */
  readonly prepare: (created: Created, declined: boolean) => Promise<Step>
  /** Whether the customer may try again after a failure. */
  readonly again: boolean
}

let orders = 0

async function create(type: string, more: object = {}, integrationType = 'HOSTED'): Promise<Created> {
  orders += 1
  const { body } = await shop.call('POST', '/payments', {
    transId: `customer-${orders}`,
    amount: { value: 1000, currency: 'EUR' },
    urls,
    paymentMethods: { integrationType, type },
    ...more,
  })
  return { payId: body.payId, page: body._links.redirect.href }
}

const challenged = '4000002760003184'

/** The page as served by the process that will die. */
const openDying = (page: string) => openPage(page.replace(heir.url, dying.url))

const fillIn: Row['prepare'] = async ({ page }, declined) => {
  const form = await openDying(page)
  const number = declined ? '4000000000009995' : '4111111111111111'
  return signal => sendForm(form, cardEntries(number), signal)
}

const decide: Row['prepare'] = async ({ page }, declined) => {
  const step = await openDying(page)
  return signal => sendForm(step, { action: declined ? 'decline' : 'approve' }, signal)
}

const actHeadless: Row['prepare'] =
  async ({ payId }, declined) =>
  signal =>
    dying.send({
      verb: 'POST',
      path: `/test/payments/${payId}/customer-action`,
      body: { action: declined ? 'decline' : 'approve' },
      headers: { authorization: shop.authorization },
      signal,
    })

const rows: readonly Row[] = [
  { name: 'a form on our page', create: () => create('CARD'), prepare: fillIn, again: true },
  { name: 'the page of a provider', create: () => create('PROVIDERP'), prepare: decide, again: true },
  {
    name: 'a challenge after a form',
    create: async () => {
      const created = await create('CARD')
      await sendForm(await openPage(created.page), cardEntries(challenged))
      return created
    },
    prepare: async (created, declined) => {
      // A customer who returns to the form may choose again; the challenge has an address of its own.
      const form = await openDying(created.page)
      const response = await fetch(form.url, {
        method: 'POST',
        body: new URLSearchParams({ ...form.hidden, ...cardEntries(challenged) }),
      })
      const step = { url: response.url, hidden: {} }
      await response.text()
      return signal => sendForm(step, { action: declined ? 'decline' : 'approve' }, signal)
    },
    again: true,
  },
  {
    name: 'a challenge of a DIRECT card',
    create: () =>
      create('CARD', {
        paymentMethods: {
          integrationType: 'DIRECT',
          type: 'CARD',
          card: { number: challenged, expiryDate: '203012' },
        },
      }),
    prepare: decide,
    again: false,
  },
  {
    name: 'a form without a browser',
    create: () => create('DIRECTDEBIT'),
    prepare: actHeadless,
    again: true,
  },
  {
    name: 'a voucher that is paid',
    create: () => create('BOLETO', { amount: { value: 1000, currency: 'BRL' } }, 'DIRECT'),
    prepare: actHeadless,
    again: false,
  },
]

const messagesOf = (payId: string) => acquirer.ledger.filter(message => message.payId === payId)
const approvedSum = (payId: string, type: string): number =>
  messagesOf(payId)
    .filter(({ operation, approved }) => operation === type && approved)
    .reduce((sum, { amount }) => sum + amount, 0)

interface Sums {
  readonly amount: { readonly authorizedValue: number; readonly capturedValue: number }
  readonly operations: readonly { readonly status: string }[]
}

/** Our books equal the acquirer's, and it got no request twice. */
function expectBooksOf(payId: string, { amount, operations }: Sums): void {
  expect(amount).toMatchObject({
    authorizedValue: approvedSum(payId, 'AUTHORIZATION'),
    capturedValue: approvedSum(payId, 'CAPTURE'),
  })
  const sent = messagesOf(payId).map(({ reference }) => reference)
  expect(new Set(sent).size).toBe(sent.length)
  expect(operations.filter(({ status }) => status === 'PENDING')).toEqual([])
}

const cells = rows.flatMap(row => crashNames.flatMap(point => lucks.map(luck => ({ ...row, point, luck }))))

describe.each(cells)('$name dies $point, $luck', ({ point, luck, create: begin, prepare, again }) => {
  test("is settled once with the acquirer's result, and sent as one event", async () => {
    const created = await begin()
    const { payId } = created
    const step = await prepare(created, luck === 'declined')
    const fault = faultOf[luck]
    if (fault) acquirer.failNext('AUTHORIZATION', fault)
    const send = async ({ signal }: TestRequest): Promise<TestAnswer> => {
      throw new Error(`it should have died, but was answered: ${JSON.stringify(await step(signal))}`)
    }
    expect(await crash.die(point, { send }, { verb: 'POST', path: '' })).toBeUndefined()
    await scene.inherit()

    const approved = isApproved(point, luck)
    const record = await shop.read(payId)
    expectBooksOf(payId, record)
    expect(record.status).toBe(approved ? 'OK' : again ? 'AUTHORIZE_REQUEST' : 'FAILED')
    expect(record.amount.capturedValue).toBe(approved ? 1000 : 0)
    const told = approved || !again ? [{ status: record.status, sequence: 1 }] : []
    expect(await shop.events(payId)).toMatchObject(told)

    // The customer returns and repeats the step: a paid payment stays paid, a failed one can be paid now.
    const messages = messagesOf(payId).length
    const after = await shop.customer(payId, 'approve')
    expectBooksOf(payId, after)
    const paid = approved || again
    expect(after.status).toBe(paid ? 'OK' : 'FAILED')
    expect(messagesOf(payId).length - messages).toBe(again && !approved ? 2 : 0)
    expect(await shop.events(payId)).toHaveLength(1)
  })
})

describe.each(rows)('$name, where only the answer to the capture is lost', ({ create: begin, prepare }) => {
  test.each(crashNames)('dies %s: both halves are settled', async point => {
    const created = await begin()
    const step = await prepare(created, false)
    acquirer.failNext('AUTHORIZATION', 'lost_capture_answer')
    const send = async ({ signal }: TestRequest): Promise<TestAnswer> => {
      throw new Error(`it should have died, but was answered: ${JSON.stringify(await step(signal))}`)
    }
    expect(await crash.die(point, { send }, { verb: 'POST', path: '' })).toBeUndefined()
    await scene.inherit()
    const record = await shop.read(created.payId)
    expectBooksOf(created.payId, record)
    expect(record.amount.capturedValue).toBe(point === 'afterRecord' ? 0 : 1000)
  })
})
