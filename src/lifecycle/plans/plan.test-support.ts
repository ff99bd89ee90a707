/** A plan for tests of rules: monthly, fixed, begun on the last day of January. */
import type { MerchantId, PayId, PlanId } from '#domain/ids.ts'
import type { Plan } from '#lifecycle/plans/plan.ts'

export const createdAt = new Date('2027-01-31T23:30:00Z')

export const examplePlan = (change: Partial<Plan> = {}): Plan => ({
  merchantId: 'mer_1' as MerchantId,
  planId: 'f'.repeat(32) as PlanId,
  initialPayId: 'a'.repeat(32) as PayId,
  type: 'RECURRING',
  status: 'ACTIVE',
  amount: { value: 1000, currency: 'EUR' },
  recurring: { frequency: 'MONTHLY', useCase: 'FIXED' },
  nextPaymentDate: '2027-02-28',
  tries: 0,
  createdAt,
  updatedAt: createdAt,
  version: 2,
  ...change,
})
