/** `GET /payment-intents/{id}` and `POST /payment-intents/{id}/cancel`: reads an intent, and cancels it. */

import { parseIntentId } from '#domain/ids.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { NotFound } from '#http/server/ports.ts'
import { cancelIntent, getIntent } from '#operations/intents/end-intent.ts'
import { noMembers } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'
import { failedIntent, intentRecord } from '#schemas/payment-intent.ts'

const intentPath = Type.Object({
  id: Type.String({ maxLength: 64, description: 'The id of the payment intent.' }),
})

function requireIntentId({ id }: { readonly id: string }) {
  const intentId = parseIntentId(id)
  if (!intentId) throw new NotFound()
  return intentId
}

const example = {
  id: 'pi_8c1f0e5b7a924d36b0c8e2f4a6d19375',
  status: 'OPEN',
  amount: { value: 4999, currency: 'EUR' },
  transId: 'app-order-1',
  expirationTime: '2026-11-16T12:00:00.000Z',
  creationDate: '2026-11-15T12:00:00.000Z',
}

const shared = { tag: 'Payment intents', version: '2.6.0', params: intentPath } as const

export const getIntentEndpoint = endpoint<Services, undefined, typeof intentPath>({
  ...shared,
  verb: 'GET',
  scope: 'read',
  path: '/payment-intents/{id}',
  operationId: 'getPaymentIntent',
  summary: 'Retrieve a payment intent',
  description:
    "Where the intent stands, for the merchant and for the intent's own access token; `metadata` is for the merchant alone.",
  access: 'intent',
  idempotent: false,
  dialect: 'customer',
  answers: { 200: intentRecord },
  examples: [
    {
      summary: 'Before the app has confirmed it',
      after: ['createPaymentIntent'],
      params: { id: '{id}' },
      status: 200,
      answer: example,
    },
  ],
  async handle({ params, merchant, intentId: ownIntent }, { engine }) {
    const intentId = requireIntentId(params)
    const shown = await perform(getIntent(merchant, { intentId, isDevice: ownIntent !== undefined }, engine))
    return answer(200, shown)
  },
})

export const cancelIntentEndpoint = endpoint<Services, typeof noMembers, typeof intentPath>({
  ...shared,
  verb: 'POST',
  scope: 'payments',
  path: '/payment-intents/{id}/cancel',
  operationId: 'cancelPaymentIntent',
  summary: 'Cancel a payment intent',
  description:
    'An intent that is OPEN cannot be confirmed any more. One that is not is refused with 20200015.',
  access: 'merchant',
  idempotent: true,
  dialect: 'payment',
  body: noMembers,
  answers: { 200: intentRecord, 422: failedIntent },
  examples: [
    {
      summary: 'The basket was emptied',
      after: ['createPaymentIntent'],
      params: { id: '{id}' },
      status: 200,
      answer: { ...example, status: 'CANCELLED' },
    },
  ],
  async handle({ params, merchant, key }, { engine }) {
    return perform(cancelIntent({ merchant, intentId: requireIntentId(params), key }, engine))
  },
})
