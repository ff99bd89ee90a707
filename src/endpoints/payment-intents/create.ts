/** `POST /payment-intents`: prepares a payment that the shop's app will confirm. */
import { normalizeAddresses } from '#domain/text.ts'
import { checkShared } from '#endpoints/checks.ts'
import { readExpiry } from '#endpoints/payments/payment-command.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { merchantNow } from '#operations/engine.ts'
import { createIntent } from '#operations/intents/create-intent.ts'
import { createdIntent, createIntent as createIntentSchema } from '#schemas/payment-intent.ts'
import { failedResult } from '#schemas/result.ts'

export const createIntentEndpoint = endpoint<Services, typeof createIntentSchema>({
  verb: 'POST',
  scope: 'payments',
  path: '/payment-intents',
  operationId: 'createPaymentIntent',
  summary: 'Create a payment intent',
  description:
    'Prepares a payment on your server that a mobile app confirms. Give the app the id and an access token of the ' +
    'grant type `payment_intents`, which opens nothing but the confirmation of this intent. It lives until ' +
    '`expirationTime`, 24 hours if absent.',
  tag: 'Payment intents',
  version: '2.0.0',
  access: 'merchant',
  idempotent: true,
  dialect: 'payment',
  body: createIntentSchema,
  answers: { 201: createdIntent, 422: failedResult },
  examples: [
    {
      summary: 'An order of an app',
      body: {
        transId: 'app-order-1',
        amount: { value: 4999, currency: 'EUR' },
        captureMethod: { type: 'AUTOMATIC' },
        order: {
          merchantReference: 'basket-17',
          items: [{ name: 'Walking shoes', quantity: 1, grossPrice: 4999, totalTaxAmount: 798 }],
        },
        urls: { return: 'https://shop.example/paid', cancel: 'https://shop.example/basket' },
        device: { deviceType: 'SMARTPHONE', deviceOs: 'ANDROID', isMobileDevice: true },
        channel: 'APP',
      },
      status: 201,
      answer: { id: 'pi_8c1f0e5b7a924d36b0c8e2f4a6d19375' },
    },
  ],
  async handle({ body, merchant, key }, { engine, environment }) {
    checkShared(body, environment)
    const expiresAt = readExpiry(body.expirationTime, merchantNow(engine.clock, merchant))
    const request = body.urls ? { ...body, urls: normalizeAddresses(body.urls) } : body
    return perform(createIntent({ merchant, request, expiresAt, key }, engine))
  },
})
