/**
 * Automatic charges: runs when a plan's timer fires. Recording the charge, beginning the plan's turn and dropping the
 * timer are one commit, so that a turn begins once, even if several processes run it or one dies. From then on the
 * charge is an ordinary payment; settling it advances the plan and sets the next timer.
 */

import type { PlanId } from '#domain/ids.ts'
import { startOfDay } from '#domain/time/calendar.ts'
import { endPlan, type Plan } from '#lifecycle/plans/plan.ts'
import { type AutomaticTurn, decideMove } from '#lifecycle/plans/plan-turn.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { ChargeRefused, createPayment } from '#operations/payments/create-payment.ts'
import { MethodMisfit } from '#operations/payments/follow-up.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import { openInstruments, toChargeCommand } from '#operations/plans/charge-plan.ts'
import { planTimers } from '#operations/plans/plan-book.ts'
import { commitWithPlanEvent } from '#operations/plans/plan-event.ts'
import { type DueTimer, type TimerKey, timerAt } from '#operations/timer.ts'
import type { ChargeablePlan } from '#storage/plans/plans.ts'

export async function runPlan(due: DueTimer, engine: Engine): Promise<void> {
  const { timer, merchant, dueAt } = due
  // See planTimer: the timer of a plan has the plan's id in this column.
  const found = await engine.plans.findChargeable(timer.merchantId, timer.xId as string as PlanId)
  const move = found ? decideMove(found.plan, dueAt) : { kind: 'rest' as const }
  switch (move.kind) {
    case 'rest':
      await rest(found?.plan, due, engine)
      return
    case 'wait':
      await wait(found?.plan, { until: move.until, ...due }, engine)
      return
    case 'complete':
      if (found) await end(found.plan, 'COMPLETED', due, engine)
      return
    case 'charge':
      if (found) await (merchant.disabled ? holdBack : charge)(found, { turn: move.turn, ...due }, engine)
  }
}

interface Due extends Omit<DueTimer, 'timer'> {
  readonly turn: AutomaticTurn
  readonly timer: TimerKey
}

async function charge(found: ChargeablePlan, due: Due, engine: Engine): Promise<void> {
  const { plan, webhook } = found
  const { turn, timer, merchant, at } = due
  const instruments = await openInstruments(found, engine)
  // The card or account number was deleted, so the plan can never be charged again.
  if (!instruments) return end(plan, 'SUSPENDED', due, engine)
  const details = webhook === undefined ? {} : { urls: { webhook } }
  const begin = { planId: plan.planId, turn: { expectedVersion: plan.version, timer } }
  for (const transId of transIds(plan, turn, engine)) {
    try {
      const command = toChargeCommand(found, {
        merchant,
        transId,
        amount: plan.amount,
        details,
        planTurn: turn,
      })
      await createPayment({ merchant, command, ...instruments, plan: begin, at, unattended: true }, engine)
      return
    } catch (error) {
      const conflict = error instanceof CommitRefused ? error.conflict : undefined
      if (conflict === 'plan_changed') return lookAgain(due, engine)
      if (conflict === 'card_gone') return end(plan, 'SUSPENDED', due, engine)
      if (error instanceof ChargeRefused || error instanceof MethodMisfit)
        return suspend(plan, error, due, engine)
      if (conflict !== 'trans_id_taken') throw error
    }
  }
  throw new Error(`no unused transId was found for a charge of plan ${plan.planId}`)
}

/** An hour: how long after a merchant is enabled again its plans are charged at the latest. */
const disabledPauseMs = 3_600_000

/**
 * A disabled merchant takes no new payments, so none of its customers is charged. The newest due day waits until the
 * merchant is enabled; earlier ones are skipped, as after a pause.
 */
async function holdBack({ plan }: ChargeablePlan, { turn, ...due }: Due, engine: Engine): Promise<void> {
  const now = merchantNow(engine.clock, due.merchant)
  const { next } = turn
  if (next === undefined || startOfDay(next).getTime() > now.getTime())
    return wait(plan, { until: new Date(now.getTime() + disabledPauseMs), ...due }, engine)
  const moved = { ...plan, nextPaymentDate: next, tries: 0, updatedAt: due.at, version: plan.version + 1 }
  const changePlan = { plan: moved, expectedVersion: plan.version }
  const { committed } = await engine.commit({ changePlan, ...planTimers(moved, due.merchant) })
  if (!committed) await lookAgain(due, engine)
}

/** The transId names plan, day and try; if the merchant has used it already, random digits replace day and try. */
const transIds = ({ planId }: Plan, { automatic: { dueDate, tries } }: AutomaticTurn, engine: Engine) => [
  `${planId}-${dueDate.replaceAll('-', '')}-${tries + 1}`,
  `${planId}-${engine.newId().slice(-20)}`,
]

/**
 * Drops the timer. Resuming the plan or settling its charge sets the same timer, so it is dropped only if the plan is
 * unchanged since it was read.
 */
async function rest(plan: Plan | undefined, due: Omit<Due, 'turn'>, engine: Engine): Promise<void> {
  const { committed } = await engine.commit({ holdPlan: asSeen(plan), dropTimers: [due.timer] })
  if (!committed) await lookAgain(due, engine)
}

/**
 * Sets the timer to a later time, for example because the due day was moved; only if the plan is unchanged, as above.
 */
async function wait(
  plan: Plan | undefined,
  { until, ...due }: Omit<Due, 'turn'> & { readonly until: Date },
  engine: Engine,
): Promise<void> {
  const setTimers = [timerAt(due.timer, until, due.merchant)]
  const { committed } = await engine.commit({ holdPlan: asSeen(plan), setTimers })
  if (!committed) await lookAgain(due, engine)
}

const asSeen = (plan: Plan | undefined) => plan && { ...plan, expectedVersion: plan.version }

/** If several processes see that a plan has ended, one writes it and the others read the plan again. */
async function end(
  plan: Plan,
  status: 'COMPLETED' | 'SUSPENDED',
  due: Omit<Due, 'turn'>,
  engine: Engine,
): Promise<void> {
  const ended = endPlan(plan, status, due.at)
  const updatePlan = { plan: ended, expectedVersion: plan.version }
  const type = status === 'COMPLETED' ? 'plan.completed' : 'plan.suspended'
  const event = { type, owed: true, now: due.at } as const
  const { committed } = await commitWithPlanEvent(
    plan,
    { updatePlan, ...planTimers(ended, due.merchant) },
    { event, engine },
  )
  if (!committed) await lookAgain(due, engine)
}

/**
 * Suspends a plan whose charge no provider account takes, or none can express. The merchant must act and then resumes
 * it; a plan that stayed active would fail each minute without any event.
 */
async function suspend(
  plan: Plan,
  { message: reason }: Error,
  due: Omit<Due, 'turn'>,
  engine: Engine,
): Promise<void> {
  const { at: now } = due
  const suspended: Plan = { ...plan, status: 'SUSPENDED', updatedAt: now, version: plan.version + 1 }
  const event = { type: 'plan.suspended', owed: true, now } as const
  const { committed } = await commitWithPlanEvent(
    plan,
    {
      changePlan: { plan: suspended, expectedVersion: plan.version },
      ...planTimers(suspended, due.merchant),
    },
    { event, engine },
  )
  if (!committed) return lookAgain(due, engine)
  const message = `plan ${plan.planId} is suspended, because its charge was refused before any provider was asked: ${reason}`
  engine.onAlarm({ code: 'PLAN_NOT_CHARGED', message, payId: plan.initialPayId })
}

/**
 * Another request has charged, cancelled or suspended the plan. Lets the timer fire again at once, to decide on the new
 * state. If that replaces a later timer, the next run finds that it is early and restores the later time.
 */
async function lookAgain({ timer, merchant, dueAt }: Omit<Due, 'turn'>, engine: Engine): Promise<void> {
  await engine.commit({ setTimers: [timerAt(timer, dueAt, merchant)] })
}
