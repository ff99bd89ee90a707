/** Rules of plans as tables: when the next payment is due, and what may be charged. */
import { describe, expect, test } from 'vitest'
import { createdAt, examplePlan } from '#lifecycle/plans/plan.test-support.ts'
import {
  cancelPlan,
  decidePlanCharge,
  decideUnscheduled,
  endPlan,
  isCancellable,
  nextPaymentAfter,
  type Plan,
  type PlanStatus,
  type RecurringTerms,
} from '#lifecycle/plans/plan.ts'

describe('the next payment', () => {
  test.each<[RecurringTerms | undefined, after: string, next: string | undefined]>([
    [{ frequency: 'MONTHLY' }, '2027-01-31', '2027-02-28'],
    [{ frequency: 'MONTHLY' }, '2027-02-28', '2027-03-31'],
    [{ frequency: 'MONTHLY', startDate: '2027-06-15' }, '2027-01-31', '2027-06-15'],
    [{ frequency: 'MONTHLY', startDate: '2026-06-15' }, '2027-01-31', '2027-02-15'],
    [{ frequency: 'MONTHLY', expiryDate: '2027-02-28' }, '2027-01-31', '2027-02-28'],
    [{ frequency: 'MONTHLY', expiryDate: '2027-02-27' }, '2027-01-31', undefined],
    [{ frequency: 'YEARLY', startDate: '2024-02-29' }, '2027-01-31', '2027-02-28'],
    [{ useCase: 'FLEXIBLE_FREQUENCY' }, '2027-01-31', undefined],
    [undefined, '2027-01-31', undefined],
  ])('%j after %s: %s', (recurring, after, next) => {
    expect(nextPaymentAfter({ recurring, createdAt }, after)).toBe(next)
  })
})

describe('a charge', () => {
  const period = { startDate: '2027-02-01', expiryDate: '2027-06-30' }
  const eur = (value: number) => ({ value, currency: 'EUR' })
  test.each<[string, Partial<Plan>, value: number, day: string, refusal: string | undefined]>([
    ['fixed', {}, 1000, '2027-02-28', undefined],
    ['more than the fixed amount', {}, 1001, '2027-02-28', 'PLAN_AMOUNT_DIFFERS'],
    ['less than the fixed amount', {}, 999, '2027-02-28', 'PLAN_AMOUNT_DIFFERS'],
    ['flexible', { recurring: { useCase: 'FLEXIBLE_AMOUNT' } }, 5, '2027-02-28', undefined],
    ['without a use case', { recurring: undefined }, 5, '2027-02-28', undefined],
    ['after an account verification', { amount: eur(0) }, 5, '2027-02-28', undefined],
    ['on the first day', { recurring: period }, 5, '2027-02-01', undefined],
    ['before the first day', { recurring: period }, 5, '2027-01-31', 'OUTSIDE_PLAN_PERIOD'],
    ['on the last day', { recurring: period }, 5, '2027-06-30', undefined],
    ['after the last day', { recurring: period }, 5, '2027-07-01', 'OUTSIDE_PLAN_PERIOD'],
    ['completed', { status: 'COMPLETED' }, 1000, '2027-02-28', 'OUTSIDE_PLAN_PERIOD'],
    ['pending', { status: 'PENDING' }, 1000, '2027-02-28', 'PLAN_NOT_ACTIVE'],
    ['suspended', { status: 'SUSPENDED' }, 1000, '2027-02-28', 'PLAN_NOT_ACTIVE'],
    ['cancelled', { status: 'CANCELLED' }, 1, '2027-02-28', 'PLAN_NOT_ACTIVE'],
    [
      'cancelled before its end',
      { status: 'CANCELLED', recurring: period },
      5,
      '2027-07-01',
      'PLAN_NOT_ACTIVE',
    ],
    [
      'the period comes before the amount',
      { recurring: { ...period, useCase: 'FIXED' } },
      1,
      '2027-07-01',
      'OUTSIDE_PLAN_PERIOD',
    ],
  ])('%s', (_, change, value, day, refusal) => {
    const decision = decidePlanCharge(examplePlan(change), eur(value), day)
    expect(decision.accepted ? undefined : decision.refusal).toBe(refusal)
  })

  test('is refused in another currency', () => {
    for (const useCase of ['FIXED', 'FLEXIBLE_AMOUNT'] as const) {
      const decision = decidePlanCharge(
        examplePlan({ recurring: { useCase } }),
        { value: 1000, currency: 'USD' },
        '2027-02-28',
      )
      expect(decision).toEqual({ accepted: false, refusal: 'PLAN_AMOUNT_DIFFERS' })
    }
  })

  test('is allowed without a schedule as long as the plan is active', () => {
    const alive = (change: Partial<Plan>, day = '2027-01-01') =>
      decideUnscheduled(examplePlan(change), day).accepted
    expect(alive({ recurring: period })).toBe(true)
    expect(alive({ recurring: period }, '2027-07-01')).toBe(false)
    for (const status of ['PENDING', 'SUSPENDED', 'CANCELLED', 'COMPLETED'] as const)
      expect(alive({ status })).toBe(false)
  })
})

describe('the end of a plan', () => {
  const now = new Date('2027-03-01T00:00:00Z')
  test.each<[PlanStatus, boolean | undefined]>([
    ['PENDING', true],
    ['ACTIVE', true],
    ['SUSPENDED', true],
    ['CANCELLED', false],
    ['COMPLETED', undefined],
  ])('whether a plan that is %s can be cancelled: %s', (status, cancellable) => {
    expect(isCancellable(examplePlan({ status }))).toBe(cancellable)
  })
  test('a cancellation stores its time and reason, and adds its metadata', () => {
    const plan = examplePlan({ metadata: { a: 1, b: 2 } })
    expect(cancelPlan(plan, { reason: 'moved', metadata: { b: 3 } }, now)).toEqual({
      ...plan,
      status: 'CANCELLED',
      nextPaymentDate: undefined,
      cancelledAt: now,
      cancellationReason: 'moved',
      metadata: { a: 1, b: 3 },
      updatedAt: now,
      version: 3,
    })
  })
  test('a completed or suspended plan has no due day', () => {
    expect(endPlan(examplePlan(), 'COMPLETED', now)).toMatchObject({ status: 'COMPLETED', version: 3 })
    expect(endPlan(examplePlan(), 'SUSPENDED', now).nextPaymentDate).toBeUndefined()
  })
})
