/** `DELETE /customers/{customerId}/paymentMethods/{paymentMethodId}`: one stored payment method. */
import { methodPath, requireMethodPath } from '#endpoints/customers/path.ts'
import { createdBy, customerEndpoint, methodExample } from '#endpoints/customers/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { deleteStoredMethod } from '#operations/customers/customers.ts'
import { deletion } from '#schemas/customer.ts'

export const deleteMethodEndpoint = endpoint<Services, undefined, typeof methodPath>({
  ...customerEndpoint,
  verb: 'DELETE',
  scope: 'payments',
  path: '/customers/{customerId}/paymentMethods/{paymentMethodId}',
  operationId: 'deleteStoredMethod',
  summary: 'Delete a stored payment method',
  description:
    'The card is no longer stored with this customer. Its number is destroyed unless another customer keeps it. Paid ' +
    'with again, it is stored anew.',
  params: methodPath,
  answers: { 200: deletion },
  examples: [
    {
      summary: 'A card that is no longer wanted',
      after: [createdBy, 'listStoredMethods'],
      params: { customerId: '{gatewayCustomerId}', paymentMethodId: '{data.0.id}' },
      status: 200,
      answer: { id: methodExample.id, deleted: true },
    },
  ],
  handle: async ({ params, merchant }, { engine }) =>
    answer(200, await perform(deleteStoredMethod(merchant, requireMethodPath(params), engine))),
})
