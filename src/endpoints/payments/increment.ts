/** `POST /payments/{id}/incrementals`: raises an authorisation. */
import { checkShared } from '#endpoints/checks.ts'
import { exampleIds, exampleSuccess, requirePayId, toFollowUp } from '#endpoints/payments/follow-up.ts'
import { paymentPath } from '#endpoints/payments/path.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { increment } from '#operations/payments/follow-up-kinds.ts'
import { incrementalRequest } from '#schemas/follow-ups.ts'
import { failedIncremental, incrementalResult } from '#schemas/result.ts'

export const incrementalEndpoint = endpoint<Services, typeof incrementalRequest, typeof paymentPath>({
  verb: 'POST',
  scope: 'payments',
  path: '/payments/{id}/incrementals',
  operationId: 'incrementPayment',
  summary: 'Raise an authorisation',
  description:
    'Adds an amount to what is authorised, before anything was captured. The ceiling rises with the approval, never ' +
    'before. `duration` prolongs the authorisation by that many days.',
  tag: 'Payments',
  version: '2.0.0',
  access: 'merchant',
  idempotent: true,
  dialect: 'payment',
  params: paymentPath,
  body: incrementalRequest,
  answers: { 200: incrementalResult, 422: failedIncremental },
  examples: [
    {
      summary: 'The guest stays two more nights',
      after: ['createPayment'],
      params: { id: '{payId}' },
      body: { transId: 'order-1001', amount: { value: 2000, currency: 'EUR' }, duration: 2 },
      status: 200,
      answer: {
        ...exampleIds,
        transId: 'order-1001',
        xId: '019a3f6bc3137f51b263748596a7b8c9',
        status: 'OK',
        ...exampleSuccess,
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'sim7c6b5a4f3e2d1c0b9e8d' },
        },
      },
    },
  ],
  async handle({ body: { duration, ...body }, params, merchant, key }, { engine, environment }) {
    checkShared(body, environment)
    const command = { ...toFollowUp(body), durationDays: duration }
    return perform(increment({ merchant, payId: requirePayId(params), command, key }, engine))
  },
})
