/** `GET /payment-plans/{paymentPlanId}`: one payment plan. */
import {
  createdBy,
  planEndpoint,
  planExample,
  planPath,
  requirePlanId,
} from '#endpoints/payment-plans/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { getPlan } from '#operations/plans/plans.ts'
import { planRecord } from '#schemas/payment-plan.ts'

export const getPlanEndpoint = endpoint<Services, undefined, typeof planPath>({
  ...planEndpoint,
  verb: 'GET',
  scope: 'read',
  path: '/payment-plans/{paymentPlanId}',
  operationId: 'getPaymentPlan',
  summary: 'Retrieve a payment plan',
  description: 'What was agreed, where it stands, and the last payment made within it.',
  idempotent: false,
  dialect: 'service',
  params: planPath,
  answers: { 200: planRecord },
  examples: [{ summary: 'A monthly plan', after: [createdBy], status: 200, answer: planExample }],
  handle: async ({ params, merchant }, { engine }) =>
    answer(200, await perform(getPlan(merchant, requirePlanId(params.paymentPlanId), engine))),
})
