/** `POST /payment-plans/{paymentPlanId}/cancel`: ends a plan. */
import { checkShared } from '#endpoints/checks.ts'
import {
  createdBy,
  planEndpoint,
  planExample,
  planPath,
  requirePlanId,
} from '#endpoints/payment-plans/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { cancelPlan } from '#operations/plans/plans.ts'
import { cancelRequest, planRecord } from '#schemas/payment-plan.ts'
import { failedResult } from '#schemas/result.ts'

const { nextPaymentDate: _, ...rest } = planExample

export const cancelPlanEndpoint = endpoint<Services, typeof cancelRequest, typeof planPath>({
  ...planEndpoint,
  verb: 'POST',
  scope: 'payments',
  path: '/payment-plans/{paymentPlanId}/cancel',
  operationId: 'cancelPaymentPlan',
  summary: 'Cancel a payment plan',
  description:
    'Nothing is charged any more; a charge that is under way ends as it ends. A first payment that still waits for its ' +
    'customer or confirm is cancelled too. Cancelling again changes nothing. A plan that has come to its end by itself ' +
    'cannot be cancelled (422).',
  idempotent: true,
  dialect: 'payment',
  params: planPath,
  body: cancelRequest,
  answers: { 200: planRecord, 422: failedResult },
  examples: [
    {
      summary: 'The customer has left',
      after: [createdBy],
      body: { reason: 'Customer request' },
      status: 200,
      answer: {
        ...rest,
        status: 'CANCELLED',
        updatedAt: '2026-11-15T12:05:00.000Z',
        cancelledAt: '2026-11-15T12:05:00.000Z',
        cancellationReason: 'Customer request',
      },
    },
  ],
  async handle({ params, body, merchant, key }, { engine, environment }) {
    const planId = requirePlanId(params.paymentPlanId)
    checkShared(body, environment)
    const { reason, metadata } = body
    return perform(cancelPlan({ merchant, planId, reason, metadata, key }, engine))
  },
})
