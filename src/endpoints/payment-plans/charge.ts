/** `POST /payment-plans/{paymentPlanId}/charge`: a payment within a plan. */
import {
  createdBy,
  planEndpoint,
  planExample,
  planPath,
  requirePlanId,
  toCharge,
} from '#endpoints/payment-plans/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { chargePlan } from '#operations/plans/charge-plan.ts'
import { chargeRequest } from '#schemas/payment-plan.ts'
import { failedResult, operationResult } from '#schemas/result.ts'

export const chargePlanEndpoint = endpoint<Services, typeof chargeRequest, typeof planPath>({
  ...planEndpoint,
  verb: 'POST',
  scope: 'payments',
  path: '/payment-plans/{paymentPlanId}/charge',
  operationId: 'chargePaymentPlan',
  summary: 'Charge a payment plan',
  description:
    'An ordinary payment with what the customer left, without the customer. The plan must be ACTIVE (27000001) and the ' +
    'day within its period (27000002); a FIXED plan takes its own amount only (27000003). Captured as the initial payment ' +
    'was, unless given.',
  idempotent: true,
  dialect: 'payment',
  params: planPath,
  body: chargeRequest,
  answers: { 200: operationResult, 422: failedResult },
  examples: [
    {
      summary: 'The fixed amount',
      after: [createdBy],
      body: { transId: 'order-4002' },
      status: 200,
      answer: {
        payId: '019a3f7055168f5aea364e5f60718293',
        merchantId: planExample.merchantId,
        transId: 'order-4002',
        xId: '019a3f705517805bfb475f6071829304',
        status: 'OK',
        responseCode: '00000000',
        responseDescription: 'Success.',
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'sim2e3f4a5b6c7d8e9f0112' },
        },
        paymentPlanId: planExample.paymentPlanId,
      },
    },
  ],
  async handle({ params, body, merchant, key }, { engine, environment }) {
    const planId = requirePlanId(params.paymentPlanId)
    const charge = toCharge(body, environment)
    return perform(chargePlan({ ...charge, merchant, planId, amount: body.amount, key }, engine))
  },
})
