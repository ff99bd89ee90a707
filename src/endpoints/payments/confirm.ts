/** `POST /payments/{id}/confirms`: confirms a payment that was created in a first step. */
import { checkShared } from '#endpoints/checks.ts'
import { exampleIds, exampleSuccess, requirePayId, toFollowUp } from '#endpoints/payments/follow-up.ts'
import { paymentPath } from '#endpoints/payments/path.ts'
import { readExpiry } from '#endpoints/payments/payment-command.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import type { ConfirmCommand } from '#lifecycle/confirm.ts'
import { merchantNow } from '#operations/engine.ts'
import { confirm } from '#operations/payments/confirm.ts'
import { type ConfirmRequest, confirmRequest } from '#schemas/confirm.ts'
import { confirmResult, failedConfirm } from '#schemas/result.ts'

export const confirmEndpoint = endpoint<Services, typeof confirmRequest, typeof paymentPath>({
  verb: 'POST',
  scope: 'payments',
  path: '/payments/{id}/confirms',
  operationId: 'confirmPayment',
  summary: 'Confirm a payment',
  description:
    'Finishes a payment of a method that works in several steps, or a card payment created with an event token. A ' +
    'lower amount than the created one becomes the authorised amount. An order is merged with that of the payment; ' +
    'addresses replace the ones that are there. A decline makes the payment FAILED.',
  tag: 'Payments',
  version: '2.2.0',
  access: 'merchant',
  idempotent: true,
  dialect: 'payment',
  params: paymentPath,
  body: confirmRequest,
  answers: { 200: confirmResult, 422: failedConfirm },
  examples: [
    {
      summary: 'The parcel of a card order was sent',
      after: ['createPayment 3'],
      params: { id: '{payId}' },
      body: {
        transId: 'order-2001',
        amount: { value: 4999, currency: 'EUR' },
        paymentMethods: { card: { eventToken: 'DELAYED_SHIPMENT' } },
      },
      status: 200,
      answer: {
        ...exampleIds,
        transId: 'order-2001',
        xId: '019a3f6bd4147062c3748596a7b8c9da',
        status: 'OK',
        ...exampleSuccess,
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'sim3e2d1c0b9e8d7c6b5a4f' },
        },
      },
    },
  ],
  async handle({ body, params, merchant, key }, { engine, environment }) {
    checkShared(body, environment)
    // A confirmation with an expiration time must not be carried out after it.
    readExpiry(body.expirationTime, merchantNow(engine.clock, merchant))
    return perform(confirm({ merchant, payId: requirePayId(params), command: toCommand(body), key }, engine))
  },
})

function toCommand({ captureMethod, ...body }: ConfirmRequest): ConfirmCommand {
  return {
    ...toFollowUp(body),
    captureMethod: captureMethod && {
      type: captureMethod.type,
      delayedHours: captureMethod.delayed?.delayedHours,
    },
    clientToken: body.paymentMethods?.providerK?.accessToken,
  }
}
