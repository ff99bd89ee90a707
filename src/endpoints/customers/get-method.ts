/** `GET /customers/{customerId}/paymentMethods/{paymentMethodId}`: one stored payment method. */
import { methodPath, requireMethodPath } from '#endpoints/customers/path.ts'
import { createdBy, customerEndpoint, itemExample, methodExample } from '#endpoints/customers/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { getStoredMethod } from '#operations/customers/customers.ts'
import { storedMethodDetail } from '#schemas/customer.ts'

export const getMethodEndpoint = endpoint<Services, undefined, typeof methodPath>({
  ...customerEndpoint,
  verb: 'GET',
  scope: 'read',
  path: '/customers/{customerId}/paymentMethods/{paymentMethodId}',
  operationId: 'getStoredMethod',
  summary: 'Retrieve a stored payment method',
  description: 'The card as its customer has stored it, masked.',
  params: methodPath,
  answers: { 200: storedMethodDetail },
  examples: [
    {
      summary: 'A card',
      after: [createdBy, 'listStoredMethods'],
      params: { customerId: '{gatewayCustomerId}', paymentMethodId: '{data.0.id}' },
      status: 200,
      answer: { ...methodExample, gatewayCustomerId: itemExample.id },
    },
  ],
  handle: async ({ params, merchant }, { engine }) =>
    answer(200, await perform(getStoredMethod(merchant, requireMethodPath(params), engine.customers))),
})
