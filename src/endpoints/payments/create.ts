/** `POST /payments`: a payment by one given method. */
import { parseInstant } from '#domain/dates.ts'
import type { Merchant } from '#domain/merchant.ts'
import { checkShared } from '#endpoints/checks.ts'
import { readAccount, readCard } from '#endpoints/payments/instruments.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { InvalidField } from '#http/ports.ts'
import { nearestNames } from '#http/schema-words.ts'
import type { CreateCommand } from '#lifecycle/create.ts'
import { defaultCapture, findMethod, findMisfit, methodTypes } from '#methods/catalogue.ts'
import type { Method } from '#methods/rows.ts'
import { createPayment } from '#operations/create-payment.ts'
import { merchantNow } from '#operations/engine.ts'
import { type CreatePayment, createPayment as createPaymentSchema } from '#schemas/create-payment.ts'
import { failedResult, operationResult } from '#schemas/result.ts'

export const createPaymentEndpoint = endpoint<Services, typeof createPaymentSchema>({
  verb: 'POST',
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
        responseDescription: 'Insufficient funds.',
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
  ],
  async handle({ body, merchant, key }, { engine, environment }) {
    const method = requireMethod(body.paymentMethods.type)
    checkShared(body, environment)
    checkFit(body, method)
    const command = toCommand(body, method, { merchant, now: merchantNow(engine.clock, merchant) })
    return perform(
      createPayment(
        {
          merchant,
          command,
          card: readCard(body.paymentMethods.card),
          account: readAccount(body.paymentMethods.directDebit),
          offer: body.paymentMethods.card?.dcc,
          key,
        },
        engine,
      ),
    )
  },
})

function requireMethod(type: string): Method {
  const method = findMethod(type)
  if (method) return method
  const near = nearestNames(type, methodTypes)
  const hint =
    near.length > 0 ? `did you mean ${near.join(' or ')}?` : `allowed: ${methodTypes.slice(0, 21).join(', ')}`
  throw new InvalidField('paymentMethods.type', `${type} is not a payment method; ${hint}`)
}

/** The method's own limits. What fields demand of each other is in the schema. */
function checkFit(body: CreatePayment, method: Method): void {
  const misfit = findMisfit(method, body)
  if (misfit) throw new InvalidField(misfit.field, misfit.error)
  // A quote is made for a card, and a page does not know it yet.
  if (body.paymentMethods.card?.dcc && body.paymentMethods.card.number === undefined) {
    throw new InvalidField('paymentMethods.card.dcc', 'goes with a card number in the same request only')
  }
}

/** What is kept of the request; the method's object stays out, because that is where card data is. */
function toCommand(
  body: CreatePayment,
  method: Method,
  { merchant, now }: { merchant: Merchant; now: Date },
): CreateCommand {
  const { transId, refNr, amount, captureMethod, simulationMode, paymentMethods, ...rest } = body
  const { value, currency, ...amountDetails } = amount
  return {
    merchantId: merchant.merchantId,
    transId,
    refNr,
    method,
    integrationType: paymentMethods.integrationType,
    amount: { value, currency },
    captureMethod: {
      type: captureMethod?.type ?? defaultCapture(method),
      delayedHours: captureMethod?.delayed?.delayedHours,
    },
    metadata: body.metadata,
    simulationMode,
    confirmsLater: confirmsLater(paymentMethods) || undefined,
    expiresAt: readExpiry(body.expirationTime, now),
    details: { ...rest, amount: amountDetails },
  }
}

/** The merchant takes the second step itself: a card created for an order to come, or a wallet that says so. */
const confirmsLater = ({ card, providerP }: CreatePayment['paymentMethods']): boolean =>
  card?.eventToken === 'ORDER' || card?.eventToken === 'DELAYED_SHIPMENT' || providerP?.confirm === true

/** 70 days: the contract's own limit; whoever has not paid by then starts anew. */
const longestWaitMs = 70 * 24 * 60 * 60 * 1000

function readExpiry(expirationTime: string | undefined, now: Date): Date | undefined {
  const instant = expirationTime === undefined ? undefined : parseInstant(expirationTime)
  if (instant === undefined) return undefined
  if (instant <= now.getTime() || instant > now.getTime() + longestWaitMs) {
    const latest = new Date(now.getTime() + longestWaitMs).toISOString()
    throw new InvalidField('expirationTime', `must lie between now, ${now.toISOString()}, and ${latest}`)
  }
  return new Date(instant)
}
