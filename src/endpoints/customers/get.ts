/** `GET /customers/{id}`: one customer. */
import { customerPath, requireCustomerId } from '#endpoints/customers/path.ts'
import { createdBy, customerEndpoint, detailExample } from '#endpoints/customers/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { getCustomer } from '#operations/customers/customers.ts'
import { customerDetail } from '#schemas/customer.ts'

export const getCustomerEndpoint = endpoint<Services, undefined, typeof customerPath>({
  ...customerEndpoint,
  verb: 'GET',
  scope: 'read',
  path: '/customers/{id}',
  operationId: 'getCustomer',
  summary: 'Retrieve a customer',
  description: 'What is known of the customer, with the address and the time of the last successful payment.',
  params: customerPath,
  answers: { 200: customerDetail },
  examples: [
    {
      summary: 'A customer',
      after: [createdBy],
      params: { id: '{customerInfo.gatewayCustomerId}' },
      status: 200,
      answer: detailExample,
    },
  ],
  handle: async ({ params, merchant }, { engine }) =>
    answer(200, await perform(getCustomer(merchant, requireCustomerId(params.id), engine.customers))),
})
