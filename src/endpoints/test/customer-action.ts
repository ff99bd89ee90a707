/** `POST /test/payments/{payId}/customer-action`: the customer's step on a provider's page, without a browser. */

import { requirePayId } from '#endpoints/payments/follow-up.ts'
import { recordExample } from '#endpoints/payments/record-example.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { actOnce } from '#endpoints/test/once.ts'
import { endpoint } from '#http/endpoint.ts'
import { actForCustomer } from '#operations/payments/customer-pages/customer-action.ts'
import { retrieveByPayId } from '#operations/payments/retrieve.ts'
import { Type } from '#schemas/parts/type.ts'
import { paymentRecord } from '#schemas/payment-record.ts'
import { failedResult } from '#schemas/result.ts'
import { customerAction } from '#schemas/test-tools.ts'

const path = Type.Object({ payId: Type.String({ maxLength: 64, description: 'The payId of the payment.' }) })

export const customerActionEndpoint = endpoint<Services, typeof customerAction, typeof path>({
  verb: 'POST',
  scope: 'test',
  path: '/test/payments/{payId}/customer-action',
  operationId: 'takeCustomerAction',
  summary: "Take the customer's step",
  description:
    'Approves, declines, cancels or leaves open what a customer would decide on a page. A payment that waits for no ' +
    'customer is left as it is.',
  tag: 'Test',
  version: '2.5.0',
  access: 'merchant',
  idempotent: true,
  testOnly: true,
  dialect: 'payment',
  params: path,
  body: customerAction,
  answers: { 200: paymentRecord, 422: failedResult },
  examples: [
    {
      summary: 'The customer approves',
      after: ['createPayment'],
      params: { payId: '{payId}' },
      body: { action: 'approve' },
      status: 200,
      answer: recordExample,
    },
  ],
  handle: (call, services) =>
    actOnce(call, services, async () => {
      const { body, params, merchant } = call
      const { engine } = services
      const payId = requirePayId({ id: params.payId })
      await perform(actForCustomer({ merchant, payId, action: body.action }, engine))
      return { body: await perform(retrieveByPayId(merchant, payId, engine)) }
    }),
})
