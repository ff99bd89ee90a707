/** What must not compile: each line below a "must fail" comment is a mistake that people make. A test compiles this file. */
import { type OperationResult, type Outcome, Tollgate, type WebhookEvent } from '../src/index.ts'

declare const tollgate: Tollgate
declare const outcome: Outcome<OperationResult>
declare const event: WebhookEvent
const amount = { value: 1000, currency: 'EUR' }

// must fail: an amount as a text with a point
void tollgate.payments.capture('id', { transId: 'order-1', amount: { value: '10.00', currency: 'EUR' } })

// must fail: a misspelt member
void tollgate.payments.capture('id', { transId: 'order-1', ammount: amount })

// must fail: a payment without an amount
void tollgate.payments.create({
  transId: 'order-1',
  paymentMethods: { integrationType: 'HOSTED', type: 'CARD' },
})

// must fail: an integration type that does not exist
void tollgate.payments.create({
  transId: 'order-1',
  amount,
  paymentMethods: { integrationType: 'REDIRECT', type: 'CARD' },
})

// must fail: using the payId of an outcome that may be unknown
tollgate.payments.get(outcome.payId)

// must fail: a status that does not exist
if (outcome.status === 'PAID') throw new Error()

// must fail: FAILED is an error, never a result
if (outcome.status === 'FAILED') throw new Error()

// must fail: an event type that does not exist
if (event.type === 'payment.succeeded') throw new Error()

// must fail: a client without a key
new Tollgate({ baseUrl: 'https://pay.example.com/api/v2', merchantId: 'mer_1' })

// must fail: a list is iterated, not awaited
void (await tollgate.payments.list()).data

// must fail: a filter that does not exist
void tollgate.payments.list({ state: 'OK' })

// must fail: a limit that is no number
void tollgate.payments.list({ limit: true })

// must fail: changing an answer
outcome.responseCode = '00000000'
