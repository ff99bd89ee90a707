/** `POST /payments/{id}/reversals`: releases the amount that is authorised and not captured. */
import { checkShared } from '#endpoints/checks.ts'
import { exampleIds, exampleSuccess, requirePayId, toFollowUp } from '#endpoints/payments/follow-up.ts'
import { paymentPath } from '#endpoints/payments/path.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { reverse } from '#operations/payments/follow-up-kinds.ts'
import { reversalRequest } from '#schemas/follow-ups.ts'
import { failedReversal, reversalResult } from '#schemas/result.ts'

export const reversalEndpoint = endpoint<Services, typeof reversalRequest, typeof paymentPath>({
  verb: 'POST',
  scope: 'payments',
  path: '/payments/{id}/reversals',
  operationId: 'reversePayment',
  summary: 'Reverse an authorisation',
  description:
    'Gives back an authorisation before anything was captured, all of it or a part. With nothing left the payment is ' +
    'REVERSED and its transId is free again.',
  tag: 'Payments',
  version: '2.4.0',
  access: 'merchant',
  idempotent: true,
  dialect: 'followUp',
  params: paymentPath,
  body: reversalRequest,
  answers: { 200: reversalResult, 422: failedReversal },
  examples: [
    {
      summary: 'The order was cancelled',
      after: ['createPayment'],
      params: { id: '{payId}' },
      body: { transId: 'order-1001', refNr: 'cancel-1', amount: { value: 4999, currency: 'EUR' } },
      status: 200,
      answer: {
        ...exampleIds,
        transId: 'order-1001',
        xId: '019a3f6ba0117d3f90415263748596a7',
        refNr: 'cancel-1',
        status: 'OK',
        ...exampleSuccess,
        paymentMethods: {
          card: {
            providerResponseCode: '00',
            providerTransactionId: 'sim5a4f3e2d1c0b9e8d7c6b',
            providerApprovalCode: 482913,
          },
        },
      },
    },
  ],
  async handle({ body, params, merchant, key }, { engine, environment }) {
    checkShared(body, environment)
    return perform(reverse({ merchant, payId: requirePayId(params), command: toFollowUp(body), key }, engine))
  },
})
