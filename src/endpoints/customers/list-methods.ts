/** `GET /customers/{id}/paymentMethods`: the customer's stored payment methods. */
import { customerPath, requireCustomerId } from '#endpoints/customers/path.ts'
import { createdBy, customerEndpoint, itemExample, methodExample } from '#endpoints/customers/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { listStoredMethods } from '#operations/customers/customers.ts'
import { storedMethodList } from '#schemas/customer.ts'

export const listStoredMethodsEndpoint = endpoint<Services, undefined, typeof customerPath>({
  ...customerEndpoint,
  verb: 'GET',
  scope: 'read',
  path: '/customers/{id}/paymentMethods',
  operationId: 'listStoredMethods',
  summary: 'List the stored payment methods of a customer',
  description: 'The one used last first. The pseudo card number may be sent wherever a card number may.',
  params: customerPath,
  answers: { 200: storedMethodList },
  examples: [
    {
      summary: 'One card',
      after: [createdBy],
      params: { id: '{customerInfo.gatewayCustomerId}' },
      status: 200,
      answer: { gatewayCustomerId: itemExample.id, data: [methodExample] },
    },
  ],
  handle: async ({ params, merchant }, { engine }) =>
    answer(200, await perform(listStoredMethods(merchant, requireCustomerId(params.id), engine.customers))),
})
