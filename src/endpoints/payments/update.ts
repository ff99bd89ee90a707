/** `PATCH /payments/{id}`: changes the fields of a payment that may still be changed. */
import { checkShared } from '#endpoints/checks.ts'
import { requirePayId } from '#endpoints/payments/follow-up.ts'
import { paymentPath } from '#endpoints/payments/path.ts'
import { recordExample } from '#endpoints/payments/record-example.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { updatePayment } from '#operations/payments/update.ts'
import { updateRequest } from '#schemas/follow-ups.ts'
import { paymentRecord } from '#schemas/payment-record.ts'
import { failedResult } from '#schemas/result.ts'

export const updateEndpoint = endpoint<Services, typeof updateRequest, typeof paymentPath>({
  verb: 'PATCH',
  scope: 'payments',
  path: '/payments/{id}',
  operationId: 'updatePayment',
  summary: 'Update a payment',
  description:
    'Reference, order and metadata may change at any time; metadata and order are merged with what is there. The ' +
    'transId and the amount may change only while nothing has been approved or asked.',
  tag: 'Payments',
  version: '2.5.0',
  access: 'merchant',
  idempotent: true,
  dialect: 'payment',
  params: paymentPath,
  body: updateRequest,
  answers: { 200: paymentRecord, 422: failedResult },
  examples: [
    {
      summary: 'A note for the warehouse',
      after: ['createPayment'],
      params: { id: '{payId}' },
      body: { refNr: 'invoice-78', metadata: { shelf: '12' } },
      status: 200,
      answer: { ...recordExample, refNr: 'invoice-78', metadata: { basket: 'b-17', shelf: '12' } },
    },
  ],
  async handle({ body, params, merchant, key }, { engine, environment }) {
    checkShared(body, environment)
    return perform(updatePayment({ merchant, payId: requirePayId(params), command: body, key }, engine))
  },
})
