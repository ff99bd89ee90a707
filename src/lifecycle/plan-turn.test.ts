/** Turns of plans as tables: what a timer finds to do, and what an outcome makes of the plan. */
import { describe, expect, test } from 'vitest'
import type { PayId } from '#domain/ids.ts'
import { paymentOf } from '#lifecycle/example-payment.test-support.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { examplePlan } from '#lifecycle/plan.test-support.ts'
import type { Plan } from '#lifecycle/plan.ts'
import { type AutomaticTurn, decideMove, manualTurn, nextMoment, settleTurn } from '#lifecycle/plan-turn.ts'

const automatic = { frequency: 'MONTHLY', autoCharge: true } as const
const at = (text: string) => new Date(`${text}T00:00:00Z`)

describe('when a plan acts next', () => {
  test.each<[string, Partial<Plan>, string | undefined]>([
    ['a charge', { recurring: automatic }, '2027-02-28'],
    ['its first repetition', { recurring: automatic, tries: 1 }, '2027-03-01'],
    ['its second', { recurring: automatic, tries: 2 }, '2027-03-03'],
    ['its third', { recurring: automatic, tries: 3 }, '2027-03-07'],
    ['an end after it', { recurring: { ...automatic, expiryDate: '2027-12-31' } }, '2027-02-28'],
    [
      'an end before a repetition',
      { recurring: { ...automatic, expiryDate: '2027-02-28' }, tries: 2 },
      '2027-03-01',
    ],
    [
      'an end alone',
      { recurring: { ...automatic, expiryDate: '2027-12-31' }, nextPaymentDate: undefined },
      '2028-01-01',
    ],
    ['by hand', { recurring: { frequency: 'MONTHLY' } }, undefined],
    ['by hand with an end', { recurring: { expiryDate: '2027-02-28' } }, '2027-03-01'],
    ['no schedule', { recurring: undefined }, undefined],
  ])('%s', (_, change, day) => {
    expect(nextMoment(examplePlan(change))).toEqual(day && at(day))
  })
})

describe('what a plan does when its timer fires', () => {
  const plan = examplePlan({ recurring: automatic })
  test('it charges on the due day', () => {
    expect(decideMove(plan, at('2027-02-28'))).toEqual({
      kind: 'charge',
      turn: {
        initialPayId: plan.initialPayId,
        next: '2027-03-31',
        expiryDate: undefined,
        automatic: { dueDate: '2027-02-28', tries: 0 },
      },
    })
  })
  test.each<[string, Partial<Plan>, now: Date, object]>([
    ['too early', {}, new Date(at('2027-02-28').getTime() - 1), { kind: 'wait', until: at('2027-02-28') }],
    ['before a repetition', { tries: 1 }, at('2027-02-28'), { kind: 'wait', until: at('2027-03-01') }],
    [
      'while a charge is under way',
      { chargingPayId: 'b'.repeat(32) as PayId },
      at('2027-02-28'),
      { kind: 'rest' },
    ],
    ['of a cancelled plan', { status: 'CANCELLED' }, at('2027-02-28'), { kind: 'rest' }],
    ['of a suspended plan', { status: 'SUSPENDED' }, at('2027-02-28'), { kind: 'rest' }],
    ['of a plan by hand', { recurring: { frequency: 'MONTHLY' } }, at('2027-02-28'), { kind: 'rest' }],
    [
      'after the last day',
      { recurring: { ...automatic, expiryDate: '2027-02-27' } },
      at('2027-02-28'),
      { kind: 'complete' },
    ],
    [
      'on the last day, by hand',
      { recurring: { expiryDate: '2027-02-28' } },
      at('2027-02-28'),
      { kind: 'wait', until: at('2027-03-01') },
    ],
  ])('%s', (_, change, now, move) => {
    expect(decideMove(examplePlan({ recurring: automatic, ...change }), now)).toEqual(move)
  })
})

describe('a charge that the merchant makes', () => {
  test.each<[string, Partial<Plan>, day: string, next: string | undefined]>([
    ['on the day', {}, '2027-02-28', '2027-03-31'],
    ['ahead of it', {}, '2027-02-03', '2027-03-31'],
    ['late', {}, '2027-03-05', '2027-03-31'],
    ['so late that another day has passed', {}, '2027-04-02', '2027-04-30'],
    [
      'the last one',
      { recurring: { frequency: 'MONTHLY', expiryDate: '2027-03-30' } },
      '2027-02-28',
      undefined,
    ],
  ])('%s', (_, change, day, next) => {
    expect(manualTurn(examplePlan(change), day)).toEqual({ initialPayId: examplePlan().initialPayId, next })
  })
  test('leaves the schedule alone where the gateway charges, or where nothing is due', () => {
    expect(manualTurn(examplePlan({ recurring: automatic }), '2027-02-28')).toBeUndefined()
    expect(manualTurn(examplePlan({ nextPaymentDate: undefined }), '2027-02-28')).toBeUndefined()
  })
})

describe('what a plan does with the outcome of a charge', () => {
  const turn = (tries: number, change: Partial<AutomaticTurn> = {}): AutomaticTurn => ({
    initialPayId: examplePlan().initialPayId,
    next: '2027-03-31',
    automatic: { dueDate: '2027-02-28', tries },
    ...change,
  })
  const failed = (responseCode: string): Payment => {
    const payment = paymentOf()
    const operations = payment.operations.map(operation => ({
      ...operation,
      state: 'FAILED' as const,
      responseCode,
    }))
    return { ...payment, status: 'FAILED', operations }
  }
  const paid: Payment = { ...paymentOf(), status: 'OK' }
  const now = at('2027-02-28')

  test('an approved charge moves the plan to the next due day', () => {
    expect(settleTurn(paid, turn(2), now)).toEqual({
      status: 'ACTIVE',
      nextPaymentDate: '2027-03-31',
      tries: 0,
      wakeAt: at('2027-03-31'),
    })
  })
  test('after a late approval the next due day is charged at once, but not before its time', () => {
    expect(settleTurn(paid, turn(0), at('2027-05-05')).wakeAt).toEqual(at('2027-05-05'))
  })
  test('after the last approval the plan wakes up for its end, if it has one', () => {
    const last = { next: undefined }
    expect(settleTurn(paid, turn(0, last), now)).toEqual({
      status: 'ACTIVE',
      nextPaymentDate: undefined,
      tries: 0,
      wakeAt: undefined,
    })
    expect(settleTurn(paid, turn(0, { ...last, expiryDate: '2027-03-15' }), now).wakeAt).toEqual(
      at('2027-03-16'),
    )
  })
  test.each<[code: string, tries: number, wakeAt: string | undefined]>([
    ['21000351', 0, '2027-03-01'],
    ['21000361', 1, '2027-03-03'],
    ['21000365', 2, '2027-03-07'],
    ['21000391', 2, '2027-03-07'],
    ['23000396', 0, '2027-03-01'],
    ['21000351', 3, undefined],
    ['21000305', 0, undefined],
    ['21000354', 1, undefined],
    ['21000402', 0, undefined],
    // A simulation's own code that only ends like a soft one.
    ['21001351', 0, undefined],
  ])('a charge declined with %s after %i tries is repeated on %s', (code, tries, wakeAt) => {
    expect(settleTurn(failed(code), turn(tries), now)).toEqual({
      status: wakeAt ? 'ACTIVE' : 'SUSPENDED',
      nextPaymentDate: '2027-02-28',
      tries: tries + 1,
      ...(wakeAt ? { wakeAt: at(wakeAt) } : {}),
    })
  })
})
