/** `GET /payment-plans`: the merchant's payment plans, page by page. */
import { parseCustomerId } from '#domain/ids.ts'
import { bornBy, planEndpoint, planExample, readPage } from '#endpoints/payment-plans/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { InvalidField } from '#http/server/ports.ts'
import { listPlans } from '#operations/plans/plans.ts'
import { type PlanQuery, planList, planQuery } from '#schemas/payment-plan.ts'
import type { PlanConditions } from '#storage/plans/plans.ts'

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
  answers: { 200: planList },
  examples: [
    {
      summary: 'The active plans with a schedule',
      after: [bornBy],
      query: { page: '1', status: 'ACTIVE', type: 'RECURRING' },
      status: 200,
      answer: { totalNumberOfPages: 1, totalNumberOfItems: 1, page: 1, pageSize: 20, data: [planExample] },
    },
  ],
  handle: async ({ query, merchant }, { engine }) =>
    answer(
      200,
      await perform(
        listPlans(merchant, { page: readPage(query.page), conditions: toConditions(query) }, engine),
      ),
    ),
})

const dayMs = 24 * 60 * 60 * 1000

/** Days are those of UTC, both ends included. */
function toConditions(query: PlanQuery): PlanConditions {
  const { status, type, gatewayCustomerId, createdFrom, createdTo } = query
  const customerId = gatewayCustomerId === undefined ? undefined : parseCustomerId(gatewayCustomerId)
  if (gatewayCustomerId !== undefined && !customerId) {
    throw new InvalidField('gatewayCustomerId', 'must be an id of a customer: 32 hexadecimal digits')
  }
  return {
    status,
    type,
    customerId,
    createdFrom: createdFrom === undefined ? undefined : new Date(startOf(createdFrom)),
    createdBefore: createdTo === undefined ? undefined : new Date(startOf(createdTo) + dayMs),
  }
}

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`)
