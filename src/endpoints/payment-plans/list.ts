/** `GET /payment-plans`: the merchant's payment plans, page by page. */
import { parseCustomerId } from '#domain/ids.ts'
import { collectFaults, readAll, readDays, readPage } from '#endpoints/filters.ts'
import { createdBy, planEndpoint, planExample } from '#endpoints/payment-plans/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { listPlans } from '#operations/plans/plans.ts'
import { type PlanQuery, planList, planQuery } from '#schemas/payment-plan.ts'

export const listPlansEndpoint = endpoint<Services, undefined, undefined, typeof planQuery>({
  ...planEndpoint,
  verb: 'GET',
  scope: 'read',
  path: '/payment-plans',
  operationId: 'listPaymentPlans',
  summary: 'List payment plans',
  description:
    'The newest first, 20 on a page. A plan is made by a payment with credentialOnFile.initialPayment. A page beyond ' +
    'the end is empty.',
  idempotent: false,
  dialect: 'service',
  query: planQuery,
  findFaults: query => collectFaults(() => readFilters(query)),
  answers: { 200: planList },
  examples: [
    {
      summary: 'The active plans with a schedule',
      after: [createdBy],
      query: { page: '1', status: 'ACTIVE', type: 'RECURRING' },
      status: 200,
      answer: { totalNumberOfPages: 1, totalNumberOfItems: 1, page: 1, pageSize: 20, data: [planExample] },
    },
  ],
  async handle({ query, merchant }, { engine }) {
    const { page, days } = readFilters(query)
    const { status, type } = query
    // The schema has already refused anything that is not one of our ids.
    const customerId = parseCustomerId(query.gatewayCustomerId ?? '')
    const conditions = { ...days, status, type, customerId }
    return answer(200, await perform(listPlans(merchant, { page, conditions }, engine)))
  },
})

const readFilters = (query: Partial<PlanQuery>) =>
  readAll({ page: () => readPage(query.page), days: () => readDays(query) })
