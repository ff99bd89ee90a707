/** `GET /payment-plans/{paymentPlanId}/payments`: the payments of a plan. */
import { readPage } from '#endpoints/filters.ts'
import {
  createdBy,
  planEndpoint,
  planExample,
  planPath,
  requirePlanId,
} from '#endpoints/payment-plans/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { listPlanPayments } from '#operations/plans/plans.ts'
import { pageQuery, planPaymentList } from '#schemas/payment-plan.ts'

export const listPlanPaymentsEndpoint = endpoint<Services, undefined, typeof planPath, typeof pageQuery>({
  ...planEndpoint,
  verb: 'GET',
  scope: 'read',
  path: '/payment-plans/{paymentPlanId}/payments',
  operationId: 'listPlanPayments',
  summary: 'List the payments of a plan',
  description:
    'The newest first, declined ones included, 20 on a page. The initial payment has the sequence 1.',
  idempotent: false,
  dialect: 'service',
  params: planPath,
  query: pageQuery,
  answers: { 200: planPaymentList },
  examples: [
    {
      summary: 'A plan that has just begun',
      after: [createdBy],
      query: { page: '1' },
      status: 200,
      answer: {
        totalNumberOfPages: 1,
        totalNumberOfItems: 1,
        page: 1,
        pageSize: 20,
        data: [
          {
            payId: planExample.initialPayId,
            xId: '019a3f6f44047d3ec8142c3d4e5f6071',
            transId: 'order-4001',
            status: 'OK',
            responseCode: '00000000',
            responseDescription: 'Success.',
            amount: { value: 999, currency: 'EUR' },
            sequence: 1,
            initialPayment: true,
            creationDate: '2026-11-15T12:00:00.013Z',
          },
        ],
      },
    },
  ],
  handle: async ({ params, query, merchant }, { engine }) => {
    const planId = requirePlanId(params.paymentPlanId)
    return answer(
      200,
      await perform(listPlanPayments(merchant, { planId, page: readPage(query.page) }, engine)),
    )
  },
})
