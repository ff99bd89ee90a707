/** `GET /payments/getByPayId/{id}`: everything about a payment. */
import { parsePayId } from '#domain/ids.ts'
import { paymentPath } from '#endpoints/payments/path.ts'
import { recordExample } from '#endpoints/payments/record-example.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { NotFound } from '#http/server/ports.ts'
import { retrieveByPayId } from '#operations/payments/retrieve.ts'
import { paymentRecord } from '#schemas/payment-record.ts'

export const getByPayIdEndpoint = endpoint<Services, undefined, typeof paymentPath>({
  verb: 'GET',
  scope: 'read',
  path: '/payments/getByPayId/{id}',
  operationId: 'getPaymentByPayId',
  summary: 'Retrieve a payment by payId',
  description: 'The payment with its sums, its masked payment method and every operation made on it.',
  tag: 'Payments',
  version: '2.5.0',
  access: 'merchant',
  idempotent: false,
  dialect: 'payment',
  params: paymentPath,
  answers: { 200: paymentRecord },
  examples: [
    {
      summary: 'A payment',
      after: ['createPayment'],
      params: { id: '{payId}' },
      status: 200,
      answer: recordExample,
    },
  ],
  async handle({ params, merchant }, { engine }) {
    const payId = parsePayId(params.id)
    if (!payId) throw new NotFound()
    return answer(200, await perform(retrieveByPayId(merchant, payId, engine)))
  },
})
