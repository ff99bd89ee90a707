/** Turns of plans as tables: what the plan's timer does, and how an outcome changes the plan. */
import { describe, expect, test } from 'vitest'
import type { PayId } from '#domain/ids.ts'
import { paymentOf } from '#lifecycle/example-payment.test-support.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { examplePlan } from '#lifecycle/plans/plan.test-support.ts'
import type { Plan } from '#lifecycle/plans/plan.ts'
import {
  type AutomaticTurn,
  decideMove,
  manualTurn,
  nextAfterManual,
  nextMoment,
  settleLate,
  settleTurn,
} from '#lifecycle/plans/plan-turn.ts'

const automatic = { frequency: 'MONTHLY', autoCharge: true } as const
const at = (text: string) => new Date(`${text}T00:00:00Z`)

describe('when a plan acts next', () => {
  test.each<[string, Partial<Plan>, string | undefined]>([
    ['a charge', { recurring: automatic }, '2027-02-28'],
    ['its first retry', { recurring: automatic, tries: 1 }, '2027-03-01'],
    ['its second retry', { recurring: automatic, tries: 2 }, '2027-03-03'],
    ['its third retry', { recurring: automatic, tries: 3 }, '2027-03-07'],
    ['an end after it', { recurring: { ...automatic, expiryDate: '2027-12-31' } }, '2027-02-28'],
    [
      'an end before a retry',
      { recurring: { ...automatic, expiryDate: '2027-02-28' }, tries: 2 },
      '2027-03-01',
    ],
    [
      'an end alone',
      { recurring: { ...automatic, expiryDate: '2027-12-31' }, nextPaymentDate: undefined },
      '2028-01-01',
    ],
    ['charged by the merchant', { recurring: { frequency: 'MONTHLY' } }, undefined],
    ['charged by the merchant, with an end', { recurring: { expiryDate: '2027-02-28' } }, '2027-03-01'],
    ['no schedule', { recurring: undefined }, undefined],
    ['a pause', { recurring: automatic, status: 'PAUSED' }, undefined],
    [
      'its end during a pause',
      { recurring: { ...automatic, expiryDate: '2027-12-31' }, status: 'PAUSED' },
      '2028-01-01',
    ],
    [
      'its end while it is suspended',
      { recurring: { ...automatic, expiryDate: '2027-02-28' }, status: 'SUSPENDED', tries: 4 },
      '2027-03-01',
    ],
    ['cancelled', { recurring: { expiryDate: '2027-02-28' }, status: 'CANCELLED' }, undefined],
    [
      'charged by the merchant, who asked for a charge at once',
      { recurring: undefined, askedOn: '2027-02-28' },
      '2027-02-28',
    ],
    [
      'charged by the merchant, whose charge at once was declined',
      { recurring: undefined, askedOn: '2027-02-28', tries: 1 },
      undefined,
    ],
    [
      'charged by the merchant, who asked for a charge on an earlier day',
      { recurring: undefined, askedOn: '2027-02-20' },
      undefined,
    ],
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
    ['before a retry', { tries: 1 }, at('2027-02-28'), { kind: 'wait', until: at('2027-03-01') }],
    [
      'while a charge is under way',
      { chargingPayId: 'b'.repeat(32) as PayId },
      at('2027-02-28'),
      { kind: 'rest' },
    ],
    ['of a cancelled plan', { status: 'CANCELLED' }, at('2027-02-28'), { kind: 'rest' }],
    ['of a suspended plan', { status: 'SUSPENDED' }, at('2027-02-28'), { kind: 'rest' }],
    [
      'of a plan that the merchant charges',
      { recurring: { frequency: 'MONTHLY' } },
      at('2027-02-28'),
      { kind: 'rest' },
    ],
    [
      'of a paused plan that has an end',
      { status: 'PAUSED', recurring: { ...automatic, expiryDate: '2027-03-31' } },
      at('2027-02-28'),
      { kind: 'wait', until: at('2027-04-01') },
    ],
    [
      'after the last day of a paused plan',
      { status: 'PAUSED', recurring: { ...automatic, expiryDate: '2027-02-27' } },
      at('2027-02-28'),
      { kind: 'complete' },
    ],
    [
      'after the last day of a suspended plan whose charge is still under way',
      {
        status: 'SUSPENDED',
        recurring: { ...automatic, expiryDate: '2027-02-27' },
        chargingPayId: 'b'.repeat(32) as PayId,
      },
      at('2027-02-28'),
      { kind: 'rest' },
    ],
    [
      'after the last day',
      { recurring: { ...automatic, expiryDate: '2027-02-27' } },
      at('2027-02-28'),
      { kind: 'complete' },
    ],
    [
      'on the last day of a plan that the merchant charges',
      { recurring: { expiryDate: '2027-02-28' } },
      at('2027-02-28'),
      { kind: 'wait', until: at('2027-03-01') },
    ],
  ])('%s', (_, change, now, move) => {
    expect(decideMove(examplePlan({ recurring: automatic, ...change }), now)).toEqual(move)
  })
})

describe('a charge that the merchant makes', () => {
  const ending = { recurring: { frequency: 'MONTHLY', expiryDate: '2027-03-30' } } as const
  test.each<[string, Partial<Plan>, day: string, paid: string, next: string | undefined]>([
    ['on the day', {}, '2027-02-28', '2027-02-28', '2027-03-31'],
    ['before the day', {}, '2027-02-03', '2027-02-28', '2027-03-31'],
    ['late', {}, '2027-03-05', '2027-03-05', '2027-03-31'],
    ['so late that another due day has passed', {}, '2027-04-02', '2027-04-02', '2027-04-30'],
    ['the last one', ending, '2027-02-28', '2027-02-28', undefined],
  ])('%s', (_, change, day, paid, next) => {
    const { initialPayId } = examplePlan()
    expect(manualTurn(examplePlan(change), day)).toEqual({ initialPayId, paid, next })
  })
  test('moves the plan by the terms at the time of the approval', () => {
    const { initialPayId } = examplePlan()
    const paid = '2027-02-28'
    expect(nextAfterManual(examplePlan(), { initialPayId, paid })).toBe('2027-03-31')
    expect(nextAfterManual(examplePlan(ending), { initialPayId, paid, next: '2027-03-31' })).toBeUndefined()
    expect(nextAfterManual(examplePlan({ paidUntil: '2027-04-30' }), { initialPayId, paid })).toBe(
      '2027-05-31',
    )
    // Written by an earlier release, which did not store the day.
    expect(nextAfterManual(examplePlan(), { initialPayId, next: '2027-03-31' })).toBe('2027-03-31')
  })
  test('leaves the schedule alone where the gateway charges, or where nothing is due', () => {
    expect(manualTurn(examplePlan({ recurring: automatic }), '2027-02-28')).toBeUndefined()
    expect(manualTurn(examplePlan({ nextPaymentDate: undefined }), '2027-02-28')).toBeUndefined()
  })
})

describe('how the outcome of a charge changes the plan', () => {
  const turn = (tries: number): AutomaticTurn => ({
    initialPayId: examplePlan().initialPayId,
    next: '2027-03-31',
    automatic: { dueDate: '2027-02-28', tries },
  })
  const plan = examplePlan({ recurring: automatic })
  const endingOn = (expiryDate: string) => examplePlan({ recurring: { ...automatic, expiryDate } })
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
    expect(settleTurn(paid, turn(2), { plan, now })).toEqual({
      status: 'ACTIVE',
      nextPaymentDate: '2027-03-31',
      tries: 0,
      wakeAt: at('2027-03-31'),
    })
  })
  test('after a late approval the next due day is charged at once, but not before its time', () => {
    expect(settleTurn(paid, turn(0), { plan, now: at('2027-05-05') }).wakeAt).toEqual(at('2027-05-05'))
  })
  test('after the last approval the plan wakes up for its end', () => {
    expect(settleTurn(paid, turn(0), { plan: endingOn('2027-03-15'), now })).toEqual({
      status: 'ACTIVE',
      nextPaymentDate: undefined,
      tries: 0,
      wakeAt: at('2027-03-16'),
    })
  })
  test('the plan’s current end applies, not the one at the time of the charge', () => {
    const begun = { ...turn(0), next: undefined, expiryDate: '2027-03-15' }
    const later = { plan: endingOn('2027-12-31'), now }
    expect(settleTurn(paid, begun, later)).toMatchObject({
      nextPaymentDate: '2027-03-31',
      wakeAt: at('2027-03-31'),
    })
  })
  test.each([paid, failed('21000351'), failed('21000305')])(
    'a plan that was cancelled or paused meanwhile stays as it is, and sets no timer (%#)',
    payment => {
      for (const status of ['CANCELLED', 'PAUSED'] as const) {
        const ended = { ...plan, status, nextPaymentDate: undefined }
        expect(settleTurn(payment, turn(0), { plan: ended, now })).toEqual({
          status,
          nextPaymentDate: undefined,
          tries: 0,
        })
      }
    },
  )
  test('a plan that was paused meanwhile, or suspended by this charge, wakes up for its end', () => {
    const ending = endingOn('2027-03-15')
    const wakeAt = at('2027-03-16')
    const paused = { plan: { ...ending, status: 'PAUSED' as const }, now }
    expect(settleTurn(paid, turn(0), paused)).toMatchObject({ status: 'PAUSED', wakeAt })
    expect(settleTurn(failed('21000305'), turn(0), { plan: ending, now })).toMatchObject({
      status: 'SUSPENDED',
      wakeAt,
    })
  })
  test.each([paid, failed('21000351')])(
    'a plan that was resumed meanwhile keeps the due day of its resumption: no missed day is charged (%#)',
    payment => {
      const resumed = { plan: { ...plan, nextPaymentDate: '2027-06-30' }, now: at('2027-06-15') }
      expect(settleTurn(payment, turn(0), resumed)).toEqual({
        status: 'ACTIVE',
        nextPaymentDate: '2027-06-30',
        tries: 0,
        wakeAt: at('2027-06-30'),
      })
    },
  )
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
    // A simulated decline whose code only ends like a soft one.
    ['21001351', 0, undefined],
  ])('a charge declined with %s after %i tries is repeated on %s', (code, tries, wakeAt) => {
    expect(settleTurn(failed(code), turn(tries), { plan, now })).toEqual({
      status: wakeAt ? 'ACTIVE' : 'SUSPENDED',
      nextPaymentDate: '2027-02-28',
      tries: tries + 1,
      ...(wakeAt ? { wakeAt: at(wakeAt) } : {}),
    })
  })
})

test('a charge at once is not retried if the merchant charges the plan', () => {
  const byHand = examplePlan({ recurring: { frequency: 'MONTHLY' }, askedOn: '2027-02-28' })
  const now = at('2027-02-28')
  const move = decideMove(byHand, now)
  if (move.kind !== 'charge') throw new Error(`the plan does not charge but ${move.kind}`)
  expect(move.turn.automatic).toEqual({ dueDate: '2027-02-28', tries: 0, asked: true })
  const paid: Payment = { ...paymentOf(), status: 'OK' }
  expect(settleTurn(paid, move.turn, { plan: byHand, now })).toEqual({
    status: 'ACTIVE',
    nextPaymentDate: '2027-03-31',
    tries: 0,
  })
  const ahead = { ...byHand, paidUntil: '2027-04-30' }
  expect(settleTurn(paid, move.turn, { plan: ahead, now }).nextPaymentDate).toBe('2027-05-31')
  const declined = settleTurn({ ...paid, status: 'FAILED' }, move.turn, { plan: byHand, now })
  expect(declined).toEqual({ status: 'ACTIVE', nextPaymentDate: '2027-02-28', tries: 1 })
  expect(decideMove({ ...byHand, ...declined }, now)).toEqual({ kind: 'rest' })
})

describe('a failed charge that turns out to be paid and is kept', () => {
  const charge = (dueDate: string) => ({
    initialPayId: 'a'.repeat(32) as PayId,
    automatic: { dueDate, tries: 0 },
  })
  const byHand = (paid: string) => ({ initialPayId: 'a'.repeat(32) as PayId, paid })
  test.each<[string, Partial<Plan>, Parameters<typeof settleLate>[1], object | undefined]>([
    [
      'is not retried',
      { tries: 1 },
      charge('2027-02-28'),
      { status: 'ACTIVE', nextPaymentDate: '2027-03-31' },
    ],
    [
      'does not resume a plan that was suspended because of it',
      { status: 'SUSPENDED', tries: 4 },
      charge('2027-02-28'),
      { status: 'SUSPENDED', nextPaymentDate: '2027-03-31', tries: 0 },
    ],
    [
      'made by the merchant covers its due day too',
      {},
      byHand('2027-02-28'),
      { nextPaymentDate: '2027-03-31', paidUntil: '2027-02-28' },
    ],
    ['for an earlier due day changes nothing', {}, charge('2027-01-31'), undefined],
    [
      'made by the merchant in advance counts when the suspended plan is resumed',
      { status: 'SUSPENDED', nextPaymentDate: undefined },
      byHand('2027-02-28'),
      { status: 'SUSPENDED', nextPaymentDate: undefined, paidUntil: '2027-02-28' },
    ],
    [
      'made by the merchant takes back no later day that is paid',
      { status: 'SUSPENDED', nextPaymentDate: undefined, paidUntil: '2027-03-31' },
      byHand('2027-02-28'),
      undefined,
    ],
    [
      'made by the merchant for a plan that has ended changes nothing',
      { status: 'CANCELLED', nextPaymentDate: undefined },
      byHand('2027-02-28'),
      undefined,
    ],
    [
      'of a plan that has ended changes nothing',
      { nextPaymentDate: undefined },
      charge('2027-02-28'),
      undefined,
    ],
  ])('%s', (_, change, turn, expected) => {
    const plan = examplePlan({ recurring: automatic, ...change })
    const settled = settleLate(plan, turn, at('2027-03-01'))
    expect(settled).toEqual(
      expected && { ...plan, tries: 0, ...expected, updatedAt: at('2027-03-01'), version: plan.version + 1 },
    )
  })
})
