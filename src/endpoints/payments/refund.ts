/** `POST /payments/{id}/refunds`: gives back captured money. */
import { textAt } from '#domain/json.ts'
import { checkShared } from '#endpoints/checks.ts'
import { exampleIds, exampleSuccess, requirePayId, toFollowUp } from '#endpoints/payments/follow-up.ts'
import { paymentPath } from '#endpoints/payments/path.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import type { RefundCommand } from '#lifecycle/refund.ts'
import { refund } from '#operations/payments/follow-up-kinds.ts'
import { type RefundRequest, refundRequest } from '#schemas/follow-ups.ts'
import { failedRefund, refundResult } from '#schemas/result.ts'

export const refundEndpoint = endpoint<Services, typeof refundRequest, typeof paymentPath>({
  verb: 'POST',
  scope: 'refunds',
  path: '/payments/{id}/refunds',
  operationId: 'refundPayment',
  summary: 'Refund a payment',
  description:
    'Gives back captured money, all of it or a part, as often as there is something left. With several captures the ' +
    'one named by its provider transaction id is credited, else the last one.',
  tag: 'Payments',
  version: '2.4.0',
  access: 'merchant',
  idempotent: true,
  frequent: true,
  dialect: 'followUp',
  params: paymentPath,
  body: refundRequest,
  answers: { 200: refundResult, 422: failedRefund },
  examples: [
    {
      summary: 'Part of the first parcel came back',
      after: ['createPayment', 'capturePayment'],
      params: { id: '{payId}' },
      body: { transId: 'order-1001', refNr: 'return-1', amount: { value: 500, currency: 'EUR' } },
      status: 200,
      answer: {
        ...exampleIds,
        transId: 'order-1001',
        xId: '019a3f6bb2127e40a15263748596a7b8',
        refNr: 'return-1',
        status: 'OK',
        ...exampleSuccess,
        paymentMethods: {
          card: {
            providerResponseCode: '00',
            providerTransactionId: 'sim1c0b9e8d7c6b5a4f3e2d',
            providerApprovalCode: 605728,
          },
        },
      },
    },
  ],
  async handle({ body, params, merchant, key }, { engine, environment }) {
    checkShared(body, environment)
    return perform(refund({ merchant, payId: requirePayId(params), command: toCommand(body), key }, engine))
  },
})

/** The object that names the capture stands under the key of the payment's method; others are refused later. */
function toCommand(body: RefundRequest): RefundCommand {
  const named = Object.values(body.paymentMethods ?? {}).map(object =>
    textAt(object, 'providerTransactionId'),
  )
  return { ...toFollowUp(body), captureTransactionId: named.find(id => id !== undefined) }
}
