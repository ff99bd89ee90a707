/** `PATCH /payment-plans/{paymentPlanId}`, `…/pause` and `…/resume`: changes, pauses and resumes plans. */
import { parseStoredMethodId } from '#domain/ids.ts'
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
import { pause, resume, updatePlan } from '#operations/plans/change-plan.ts'
import { noMembers } from '#schemas/parts/fields.ts'
import { patchRequest, planRecord, resumeRequest } from '#schemas/payment-plan.ts'
import { failedResult } from '#schemas/result.ts'

const shared = {
  ...planEndpoint,
  version: '2.6.0',
  scope: 'payments',
  idempotent: true,
  dialect: 'payment',
  params: planPath,
  answers: { 200: planRecord, 422: failedResult },
} as const

export const patchPlanEndpoint = endpoint<Services, typeof patchRequest, typeof planPath>({
  ...shared,
  verb: 'PATCH',
  path: '/payment-plans/{paymentPlanId}',
  operationId: 'updatePaymentPlan',
  summary: 'Change a payment plan',
  description:
    'Another amount for later charges, another stored card or account of the customer, another last day, or metadata. A ' +
    'plan that has not begun or has ended is refused with 27000001.',
  body: patchRequest,
  examples: [
    {
      summary: 'A new price',
      after: [createdBy],
      body: { amount: { value: 1299, currency: 'EUR' } },
      status: 200,
      answer: { ...planExample, amount: { value: 1299, currency: 'EUR' } },
    },
  ],
  async handle({ params, body, merchant, key }, { engine, environment }) {
    checkShared(body, environment)
    const { amount, metadata, recurring } = body
    const patch = { amount, metadata, expiryDate: recurring?.expiryDate }
    const paymentMethodId = body.paymentMethodId && parseStoredMethodId(body.paymentMethodId)
    const planId = requirePlanId(params.paymentPlanId)
    const request = { merchant, planId, patch, paymentMethodId: paymentMethodId || undefined, key }
    return perform(updatePlan(request, engine))
  },
})

const { nextPaymentDate: _, ...paused } = planExample

export const pausePlanEndpoint = endpoint<Services, typeof noMembers, typeof planPath>({
  ...shared,
  verb: 'POST',
  path: '/payment-plans/{paymentPlanId}/pause',
  operationId: 'pausePaymentPlan',
  summary: 'Pause a payment plan',
  description: 'Nothing is charged until the plan is resumed; a charge that is under way ends as it ends.',
  body: noMembers,
  examples: [
    {
      summary: 'The customer travels',
      after: [createdBy],
      status: 200,
      answer: { ...paused, status: 'PAUSED' },
    },
  ],
  async handle({ params, merchant, key }, { engine }) {
    return perform(pause({ merchant, planId: requirePlanId(params.paymentPlanId), key }, engine))
  },
})

export const resumePlanEndpoint = endpoint<Services, typeof resumeRequest, typeof planPath>({
  ...shared,
  verb: 'POST',
  path: '/payment-plans/{paymentPlanId}/resume',
  operationId: 'resumePaymentPlan',
  summary: 'Resume a payment plan',
  description:
    'A plan that is PAUSED or SUSPENDED is ACTIVE again. The next charge is on the next due day in the future, or at once ' +
    'with chargeNow; what was missed is not made up. A plan whose stored card or account was deleted is refused with ' +
    '27000001 until paymentMethodId names another one.',
  body: resumeRequest,
  examples: [
    {
      summary: 'The customer is back',
      after: ['pausePaymentPlan'],
      body: { chargeNow: false },
      status: 200,
      answer: planExample,
    },
  ],
  async handle({ params, body, merchant, key }, { engine }) {
    const planId = requirePlanId(params.paymentPlanId)
    return perform(resume({ merchant, planId, chargeNow: body.chargeNow === true, key }, engine))
  },
})
