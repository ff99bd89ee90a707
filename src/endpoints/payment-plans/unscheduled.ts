/** `POST /payment-plans/unscheduled-mit`: a merchant-initiated payment outside any schedule. */
import { isPseudoCardNumber } from '#domain/cards/card-numbers.ts'
import { parseCustomerId, parseStoredMethodId } from '#domain/ids.ts'
import {
  createdBy,
  planEndpoint,
  planExample,
  requirePlanId,
  toCharge,
} from '#endpoints/payment-plans/shared.ts'
import { readCard } from '#endpoints/payments/instruments.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { InvalidField, NotFound } from '#http/server/ports.ts'
import { findMethodByKey } from '#methods/catalogue.ts'
import type { Engine } from '#operations/engine.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { chargeCardOnFile, chargeStoredMethod, type OnFileCharge } from '#operations/plans/charge-on-file.ts'
import { chargePlan } from '#operations/plans/charge-plan.ts'
import { type UnscheduledRequest, unscheduledRequest } from '#schemas/payment-plan.ts'
import { failedResult, operationResult } from '#schemas/result.ts'

export const unscheduledPaymentEndpoint = endpoint<Services, typeof unscheduledRequest>({
  ...planEndpoint,
  verb: 'POST',
  scope: 'payments',
  path: '/payment-plans/unscheduled-mit',
  operationId: 'createUnscheduledPayment',
  summary: 'Make an unscheduled merchant-initiated payment',
  description:
    'Charges what is on file: by an active plan of any type, by a stored payment method of a customer, or by the pseudo ' +
    "number of a card with the scheme's reference of the agreement. Exactly one of the three.",
  idempotent: true,
  looksUp: true,
  dialect: 'payment',
  body: unscheduledRequest,
  answers: { 200: operationResult, 422: failedResult },
  examples: [
    {
      summary: 'By a plan',
      after: [createdBy],
      body: {
        transId: 'order-4003',
        amount: { value: 350, currency: 'EUR' },
        paymentPlanId: '{paymentPlanId}',
      },
      status: 200,
      answer: {
        payId: '019a3f716627906cfc58607182930415',
        merchantId: planExample.merchantId,
        transId: 'order-4003',
        xId: '019a3f716628917d0d69718293041526',
        status: 'OK',
        responseCode: '00000000',
        responseDescription: 'Success.',
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'sim3f4a5b6c7d8e9f011223' },
        },
        paymentPlanId: planExample.paymentPlanId,
      },
    },
  ],
  async handle({ body, merchant, key }, { engine, environment }) {
    const charge = { ...toCharge(body, environment), merchant, amount: body.amount, key }
    return perform(chargeNamedMethod(body, charge, engine))
  },
})

function chargeNamedMethod(
  { paymentPlanId, gatewayCustomerId = '', paymentMethodId = '', paymentMethods }: UnscheduledRequest,
  charge: OnFileCharge,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  if (paymentPlanId !== undefined) {
    return chargePlan({ ...charge, planId: requirePlanId(paymentPlanId), unscheduled: true }, engine)
  }
  const [objectKey = ''] = Object.keys(paymentMethods ?? {})
  const method = findMethodByKey(objectKey)
  const card = readCard(paymentMethods?.card)
  if (method && card) {
    // Only pseudo numbers are accepted here; merchants that have real card numbers make an ordinary payment.
    if (!isPseudoCardNumber(card.number.reveal()))
      throw new InvalidField('paymentMethods.card.number', 'must be a pseudo card number')
    const { schemeReferenceId } = paymentMethods?.card ?? {}
    return chargeCardOnFile({ ...charge, card, method, schemeReferenceId }, engine)
  }
  const customerId = parseCustomerId(gatewayCustomerId)
  const methodId = parseStoredMethodId(paymentMethodId)
  if (!customerId || !methodId) throw new NotFound()
  return chargeStoredMethod({ ...charge, customerId, methodId }, engine)
}
