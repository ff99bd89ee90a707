/** `POST /payments/{id}/cancellations`: ends a payment that waits for its customer or its confirm. */
import { checkShared } from '#endpoints/checks.ts'
import { exampleIds, requirePayId } from '#endpoints/payments/follow-up.ts'
import { paymentPath } from '#endpoints/payments/path.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { cancelPayment } from '#operations/payments/cancel.ts'
import { cancellationRequest, cancellationResult } from '#schemas/follow-ups.ts'
import { failedResult } from '#schemas/result.ts'

export const cancelPaymentEndpoint = endpoint<Services, typeof cancellationRequest, typeof paymentPath>({
  verb: 'POST',
  scope: 'payments',
  path: '/payments/{id}/cancellations',
  operationId: 'cancelPayment',
  summary: 'Cancel an open payment',
  description:
    'Ends a session, a link, a hosted payment or one that waits for its confirm. Its page then says so, and the event is ' +
    'sent. A payment that is not open is refused with 20200015; one whose try is at the provider with 20200014: wait.',
  tag: 'Payments',
  version: '2.6.0',
  access: 'merchant',
  idempotent: true,
  dialect: 'payment',
  params: paymentPath,
  body: cancellationRequest,
  answers: { 200: cancellationResult, 422: failedResult },
  examples: [
    {
      summary: 'The invoice was paid in cash',
      after: ['createLink'],
      params: { id: '{payId}' },
      body: { reason: 'paid in cash' },
      status: 200,
      answer: {
        ...exampleIds,
        transId: 'invoice-4001',
        xId: '019a3f6b2c4e7a1b8c2d3e4f5a6b7c8d',
        status: 'FAILED',
        responseCode: '29000704',
        responseDescription: 'Cancelled by the merchant.',
      },
    },
  ],
  async handle({ body, params, merchant, key }, { engine, environment }) {
    checkShared(body, environment)
    return perform(cancelPayment({ merchant, payId: requirePayId(params), ...body, key }, engine))
  },
})
