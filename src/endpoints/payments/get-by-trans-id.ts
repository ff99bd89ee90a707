/** `GET /payments/getByTransId/{id}`: the newest payment that has this transId. */

import { recordExample } from '#endpoints/payments/record-example.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { retrieveByTransId } from '#operations/payments/retrieve.ts'
import { Type } from '#schemas/parts/type.ts'
import { paymentRecord } from '#schemas/payment-record.ts'

const transIdPath = Type.Object({
  id: Type.String({ maxLength: 192, description: 'The transId the merchant gave, percent-encoded.' }),
})

export const getByTransIdEndpoint = endpoint<Services, undefined, typeof transIdPath>({
  verb: 'GET',
  scope: 'read',
  path: '/payments/getByTransId/{id}',
  operationId: 'getPaymentByTransId',
  summary: 'Retrieve a payment by transId',
  description:
    'The newest payment with this transId: a failed try may be followed by another with the same one.',
  tag: 'Payments',
  version: '2.5.0',
  access: 'merchant',
  idempotent: false,
  dialect: 'payment',
  params: transIdPath,
  answers: { 200: paymentRecord },
  examples: [
    {
      summary: 'A payment',
      after: ['createPayment'],
      params: { id: '{transId}' },
      status: 200,
      answer: recordExample,
    },
  ],
  async handle({ params, merchant }, { engine }) {
    return answer(200, await perform(retrieveByTransId(merchant, params.id, engine)))
  },
})
