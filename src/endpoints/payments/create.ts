/** `POST /payments`: a payment by one given method. */
import { checkShared } from '#endpoints/checks.ts'
import { payWithToken } from '#endpoints/payments/one-time-card.ts'
import { checkFit, composePayment, requireMethod } from '#endpoints/payments/payment-command.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { merchantNow } from '#operations/engine.ts'
import { createPayment } from '#operations/payments/create-payment.ts'
import { createPayment as createPaymentSchema } from '#schemas/create-payment.ts'
import { failedResult, operationResult } from '#schemas/result.ts'

export const createPaymentEndpoint = endpoint<Services, typeof createPaymentSchema>({
  verb: 'POST',
  scope: 'payments',
  path: '/payments',
  operationId: 'createPayment',
  summary: 'Create a payment',
  description:
    'Starts a payment with the given method. With capture AUTOMATIC the money is taken at once, with MANUAL it is ' +
    'reserved until captures take it. A decline answers 422 and leaves a FAILED payment; an outcome that is not yet ' +
    'known answers PENDING and is settled in the background.',
  tag: 'Payments',
  version: '2.5.0',
  access: 'merchant',
  idempotent: true,
  frequent: true,
  dialect: 'payment',
  body: createPaymentSchema,
  answers: { 200: operationResult, 422: failedResult },
  examples: [
    {
      summary: 'A card: reserve now, capture later',
      body: {
        transId: 'order-1001',
        refNr: 'invoice-77',
        amount: { value: 4999, currency: 'EUR' },
        paymentMethods: {
          integrationType: 'DIRECT',
          type: 'CARD',
          card: {
            number: '4111111111111111',
            expiryDate: '203012',
            cardholderName: 'Ada Lovelace',
            securityCode: '123',
          },
        },
        captureMethod: { type: 'MANUAL' },
        metadata: { basket: 'b-17' },
      },
      status: 200,
      answer: {
        payId: '019a3f6b2c4d7e8f9012a3b4c5d6e7f8',
        merchantId: 'mer_4f2a9c1d7b3e8a60',
        transId: 'order-1001',
        xId: '019a3f6b2c4e7a1b8c2d3e4f5a6b7c8d',
        refNr: 'invoice-77',
        status: 'AUTHORIZED',
        responseCode: '00000000',
        responseDescription: 'Success.',
        metadata: { basket: 'b-17' },
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'sim0c1f3a5b7d9e2468ace0' },
        },
      },
    },
    {
      summary: 'A card that the issuer declines',
      body: {
        transId: 'order-1002',
        amount: { value: 4999, currency: 'EUR' },
        paymentMethods: {
          integrationType: 'DIRECT',
          type: 'CARD',
          card: { number: '4000000000009995', expiryDate: '203012' },
        },
      },
      status: 422,
      answer: {
        payId: '019a3f6c11d27b0a95e1f2a3b4c5d6e7',
        merchantId: 'mer_4f2a9c1d7b3e8a60',
        transId: 'order-1002',
        xId: '019a3f6c11d37c1ba6f20a1b2c3d4e5f',
        status: 'FAILED',
        responseCode: '21000351',
        responseDescription: 'Declined: Insufficient funds.',
        paymentMethods: {
          card: {
            providerResponseCode: '51',
            providerResponseText: 'Insufficient funds',
            providerTransactionId: 'sim77aa55cc33ee11ff0022',
          },
        },
      },
    },
    {
      summary: 'A card order that is confirmed when it ships',
      body: {
        transId: 'order-2001',
        amount: { value: 4999, currency: 'EUR' },
        paymentMethods: {
          integrationType: 'DIRECT',
          type: 'CARD',
          card: { number: '4111111111111111', expiryDate: '203012', eventToken: 'ORDER' },
        },
      },
      status: 200,
      answer: {
        payId: '019a3f6d22e38c1ba6f20a1b2c3d4e5f',
        merchantId: 'mer_4f2a9c1d7b3e8a60',
        transId: 'order-2001',
        xId: '019a3f6d22e47d2cb7031b2c3d4e5f60',
        status: 'AUTHORIZE_REQUEST',
        responseCode: '60000100',
        responseDescription: 'The customer has a step to take.',
      },
    },
    {
      summary: 'A card that is kept for the customer',
      body: {
        transId: 'order-3001',
        amount: { value: 4999, currency: 'EUR' },
        paymentMethods: {
          integrationType: 'DIRECT',
          type: 'CARD',
          card: { number: '4111111111111111', expiryDate: '203012', cardholderName: 'Ada Lovelace' },
        },
        customerInfo: {
          merchantCustomerId: 'customer-4711',
          firstName: 'Ada',
          lastName: 'Lovelace',
          email: 'ada@example.com',
          phone: { countryCode: '+44', number: '2079460000' },
        },
        billingAddress: {
          streetName: 'St James’s Square',
          city: 'London',
          postalCode: 'SW1Y 4JH',
          country: 'GBR',
        },
      },
      status: 200,
      answer: {
        payId: '019a3f6e33f49d2cb7031b2c3d4e5f60',
        merchantId: 'mer_4f2a9c1d7b3e8a60',
        transId: 'order-3001',
        xId: '019a3f6e33f59e3dc8142c3d4e5f6071',
        status: 'OK',
        responseCode: '00000000',
        responseDescription: 'Success.',
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'sim1d2e3f4a5b6c7d8e9f01' },
        },
        customerInfo: { gatewayCustomerId: '019a3f6b2c5f7b2c9d3e4f5a6b7c8d9e' },
      },
    },
    {
      summary: 'The first payment of a monthly plan',
      body: {
        transId: 'order-4001',
        amount: { value: 999, currency: 'EUR' },
        paymentMethods: {
          integrationType: 'DIRECT',
          type: 'CARD',
          card: { number: '4111111111111111', expiryDate: '203012', cardholderName: 'Ada Lovelace' },
        },
        customerInfo: { merchantCustomerId: 'customer-4712', email: 'charles@example.com' },
        credentialOnFile: {
          type: 'RECURRING',
          initialPayment: true,
          recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
        },
      },
      status: 200,
      answer: {
        payId: '019a3f6f44037c2db7031b2c3d4e5f60',
        merchantId: 'mer_4f2a9c1d7b3e8a60',
        transId: 'order-4001',
        xId: '019a3f6f44047d3ec8142c3d4e5f6071',
        status: 'OK',
        responseCode: '00000000',
        responseDescription: 'Success.',
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'sim1d2e3f4a5b6c7d8e9f02' },
        },
        customerInfo: { gatewayCustomerId: '019a3f6b2c5f7b2c9d3e4f5a6b7c8d9e' },
        paymentPlanId: '019a3f6f44057e4fd9253d4e5f607182',
      },
    },
    {
      summary: 'A card whose holder will dispute the payment',
      body: {
        transId: 'order-5001',
        amount: { value: 2500, currency: 'EUR' },
        paymentMethods: {
          integrationType: 'DIRECT',
          type: 'CARD',
          card: { number: '4000000000002685', expiryDate: '203012', cardholderName: 'Ada Lovelace' },
        },
      },
      status: 200,
      answer: {
        payId: '019a3f7044037c2db7031b2c3d4e5f60',
        merchantId: 'mer_4f2a9c1d7b3e8a60',
        transId: 'order-5001',
        xId: '019a3f7044047d3ec8142c3d4e5f6071',
        status: 'OK',
        responseCode: '00000000',
        responseDescription: 'Success.',
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'sim1d2e3f4a5b6c7d8e9f03' },
        },
      },
    },
  ],
  async handle({ body, merchant, key }, { engine, environment }) {
    const method = requireMethod('paymentMethods.type', body.paymentMethods.type, merchant)
    checkShared(body, environment)
    checkFit(body, method)
    const { card: sent } = body.paymentMethods
    return payWithToken(sent, 'paymentMethods.card', { merchant, key, engine }, async (card, onStored) => {
      const paid = card ? { ...body, paymentMethods: { ...body.paymentMethods, card } } : body
      // Checks that depend on the card number, which is only known now.
      if (card) checkFit(paid, method)
      const composed = composePayment(paid, method, { merchant, now: merchantNow(engine.clock, merchant) })
      return perform(createPayment({ merchant, ...composed, key, onStored }, engine))
    })
  },
})
