/** `GET /customers/{customerId}/payment-plans`: the customer's payment plans. */

import { requireCustomerId } from '#endpoints/customers/path.ts'
import { customerEndpoint } from '#endpoints/customers/shared.ts'
import { readPage } from '#endpoints/filters.ts'
import { createdBy, planExample } from '#endpoints/payment-plans/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { listCustomerPlans } from '#operations/plans/plans.ts'
import { Type } from '#schemas/parts/type.ts'
import { pageQuery, planList } from '#schemas/payment-plan.ts'

const path = Type.Object({
  customerId: Type.String({ maxLength: 64, description: 'Our id of the customer.' }),
})

export const listCustomerPlansEndpoint = endpoint<Services, undefined, typeof path, typeof pageQuery>({
  ...customerEndpoint,
  verb: 'GET',
  scope: 'read',
  path: '/customers/{customerId}/payment-plans',
  operationId: 'listCustomerPlans',
  summary: 'List the payment plans of a customer',
  description: 'The newest first, 20 on a page, whatever their status.',
  params: path,
  query: pageQuery,
  answers: { 200: planList },
  examples: [
    {
      summary: 'One plan',
      after: [createdBy],
      params: { customerId: '{customerInfo.gatewayCustomerId}' },
      status: 200,
      answer: { totalNumberOfPages: 1, totalNumberOfItems: 1, page: 1, pageSize: 20, data: [planExample] },
    },
  ],
  handle: async ({ params, query, merchant }, { engine }) => {
    const customerId = requireCustomerId(params.customerId)
    const page = readPage(query.page)
    return answer(200, await perform(listCustomerPlans(merchant, { page, customerId }, engine)))
  },
})
