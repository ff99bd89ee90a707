/** Stored bank accounts: which mandate a payment without the customer uses, and which accounts are stored at all. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { statement } from '#test/support/bank/files.ts'
import { type BankStage, openBankStage } from '#test/support/bank/stage.ts'

let stage: BankStage
beforeAll(async () => {
  stage = await openBankStage()
})
afterAll(() => stage.close())

const call = (...request: Parameters<BankStage['gateway']['call']>) => stage.gateway.call(...request)

let orders = 0
let iban: string
let ann: string
/** Every test has an account and a customer of its own. */
beforeEach(() => {
  orders += 1
  iban = ['DE02120300000000202051', 'DE89370400440532013000', 'FR1420041010050500013M02606'][orders % 3] ?? ''
  ann = `ann-${orders}`
})

const order = (name: string) => ({
  transId: `${name}-${++orders}`,
  amount: { value: 1000, currency: 'EUR' },
})

const named = (merchantCustomerId: string) => ({
  customerInfo: { merchantCustomerId, email: 'ann@example.com' },
})

async function debit(customer: string, mandateId: string): Promise<string> {
  const answer = await call('POST', '/payments', {
    ...order('debit'),
    ...named(customer),
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'DIRECTDEBIT',
      directDebit: {
        account: { number: iban, accountHolderName: customer },
        mandateId,
        dateOfSignature: '01.11.2026',
      },
    },
  })
  expect(answer.status, answer.text).toBe(200)
  return answer.body.customerInfo.gatewayCustomerId
}

const payOut = (customer: string) =>
  call('POST', '/payments/refunds', {
    ...order('payout'),
    ...named(customer),
    paymentMethods: { directDebit: { account: { number: iban, accountHolderName: 'Ann' } } },
  })

/** The customer transfers the money from that account. */
async function transfer(customer: string): Promise<string> {
  const asked = order('transfer')
  const { body } = await call('POST', '/payments', {
    ...asked,
    ...named(customer),
    paymentMethods: { integrationType: 'DIRECT', type: 'SEPACREDITTRANSFER', sepaCreditTransfer: {} },
  })
  const entry = { reference: asked.transId, cents: 1000, text: asked.transId, payer: { name: 'Ann', iban } }
  const file = stage.commands.file(`${asked.transId}.xml`, statement([entry]))
  expect(await stage.import(file)).toMatchObject({ booked: 1, unmatched: [] })
  const paid = await call('GET', `/payments/getByPayId/${body.payId}`)
  expect(paid.body).toMatchObject({ status: 'OK' })
  return paid.body.customerInfo.gatewayCustomerId
}

const methodsOf = async (customerId: string) =>
  (await call('GET', `/customers/${customerId}/paymentMethods`)).body.data

async function charge(gatewayCustomerId: string) {
  const [method] = await methodsOf(gatewayCustomerId)
  const request = { ...order('mit'), gatewayCustomerId, paymentMethodId: method.id }
  const answer = await call('POST', '/payment-plans/unscheduled-mit', request)
  expect(answer.status, answer.text).toBe(200)
  return (await call('GET', `/payments/getByPayId/${answer.body.payId}`)).body
}

const under = (mandateId: string) => ({
  status: 'CAPTURE_REQUEST',
  paymentMethods: { type: 'DIRECTDEBIT', directDebit: { mandateId } },
})

test('an account that two customers share is debited under the mandate of the customer who is charged', async () => {
  const first = await debit(ann, 'M-ann')
  const second = await debit(`${ann}-husband`, 'M-husband')
  expect(await charge(first)).toMatchObject(under('M-ann'))
  expect(await charge(second)).toMatchObject(under('M-husband'))
})

test('an account is debited under its mandate also after a payout to it and a transfer from it', async () => {
  const customerId = await debit(ann, 'M-before')
  expect((await payOut(ann)).status).toBe(200)
  expect(await charge(customerId)).toMatchObject(under('M-before'))
  await transfer(ann)
  expect(await charge(customerId)).toMatchObject(under('M-before'))
})

test('the account of a transfer cannot be charged without the customer until it was debited', async () => {
  const customerId = await transfer(ann)
  const [method] = await methodsOf(customerId)
  expect(method).toMatchObject({ type: 'SEPACREDITTRANSFER', last4Digits: iban.slice(-4) })
  const request = { ...order('mit'), gatewayCustomerId: customerId, paymentMethodId: method.id }
  expect(await call('POST', '/payment-plans/unscheduled-mit', request)).toMatchObject({
    status: 400,
    body: { field: 'paymentMethodId', error: expect.stringContaining('SEPACREDITTRANSFER') },
  })
  expect(await debit(ann, 'M-after')).toBe(customerId)
  expect(await methodsOf(customerId)).toMatchObject([{ id: method.id, type: 'DIRECTDEBIT' }])
  expect(await charge(customerId)).toMatchObject(under('M-after'))
  await transfer(ann)
  expect(await methodsOf(customerId)).toMatchObject([{ id: method.id, type: 'DIRECTDEBIT' }])
})
