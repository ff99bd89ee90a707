/** What the endpoints of payment plans have in common: paths, pages, and the plan that their examples show. */

import { type PlanId, parsePlanId } from '#domain/ids.ts'
import { normalizeAddresses } from '#domain/text.ts'
import { checkShared } from '#endpoints/checks.ts'
import type { Services } from '#endpoints/services.ts'
import { NotFound } from '#http/server/ports.ts'
import type { ChargeRequest as Charge } from '#operations/plans/charge-plan.ts'
import { Type } from '#schemas/parts/type.ts'
import type { ChargeRequest } from '#schemas/payment-plan.ts'

export const planEndpoint = {
  tag: 'Payment plans',
  version: '2.5.0',
  access: 'merchant',
} as const

export const planPath = Type.Object({
  paymentPlanId: Type.String({ maxLength: 64, description: 'Our id of the plan.' }),
})

/** Any text is accepted in a path: one that is not an id of ours is not found. */
export function requirePlanId(text: string): PlanId {
  const planId = parsePlanId(text)
  if (!planId) throw new NotFound()
  return planId
}

/** The fields that every charge has, as the engine takes them. */
export function toCharge(
  body: ChargeRequest,
  environment: Services['environment'],
): Omit<Charge, 'merchant'> {
  checkShared(body, environment)
  const { transId, refNr, captureMethod, simulationMode, metadata, order, statementDescriptor, urls } = body
  const { value: _, currency: __, ...amountDetails } = body.amount ?? {}
  return {
    transId,
    refNr,
    captureMethod: captureMethod && {
      type: captureMethod.type,
      delayedHours: captureMethod.delayed?.delayedHours,
    },
    hints: { simulationMode },
    metadata,
    details: {
      order,
      statementDescriptor,
      urls: urls && normalizeAddresses(urls),
      metadata,
      amount: body.amount && amountDetails,
    },
  }
}

/** The example of `createPayment` that begins the plan. */
export const createdBy = 'createPayment 5'

export const planExample = {
  paymentPlanId: '019a3f6f44057e4fd9253d4e5f607182',
  merchantId: 'mer_4f2a9c1d7b3e8a60',
  gatewayCustomerId: '019a3f6b2c5f7b2c9d3e4f5a6b7c8d9e',
  merchantCustomerId: 'customer-4712',
  paymentMethodId: '019a3f6b2c607c3d8e4f5a6b7c8d9e0f',
  type: 'RECURRING',
  status: 'ACTIVE',
  amount: { value: 999, currency: 'EUR' },
  recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
  initialPayId: '019a3f6f44037c2db7031b2c3d4e5f60',
  schemeReferenceId: '482913605728301',
  numberOfPayments: 1,
  nextPaymentDate: '2026-12-15',
  lastPayment: {
    payId: '019a3f6f44037c2db7031b2c3d4e5f60',
    status: 'OK',
    responseCode: '00000000',
    creationDate: '2026-11-15T12:00:00.013Z',
  },
  createdAt: '2026-11-15T12:00:00.013Z',
  updatedAt: '2026-11-15T12:00:00.020Z',
}
