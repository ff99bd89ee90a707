/**
 * Decides whether the authorised amount may be raised. The limit for captures rises only when the provider approves.
 */
import { add, maximumAmount } from '#domain/money/money.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import { type FollowUpCommand, type Recording, toOperation } from '#lifecycle/follow-up.ts'
import {
  isLapsed,
  lacksAuthorization,
  lacksOutcome,
  lacksTotal,
  type Payment,
  withOperation,
} from '#lifecycle/payment.ts'

export interface IncrementalCommand extends FollowUpCommand {
  /** Additional days of a stay or rental, by which the authorisation is prolonged. */
  readonly durationDays?: number
}

export function decideIncremental(payment: Payment, command: IncrementalCommand, now: Date): Decision {
  const { method, status, sums } = payment
  if (!method.operations.includes('increment')) return refuse('METHOD_LACKS_OPERATION')
  if (lacksOutcome(payment)) return refuse('OUTCOME_OUTSTANDING')
  // An account verification approved no amount, so there is none to raise.
  if (lacksAuthorization(payment) || sums.authorized === 0) return refuse('NOT_AUTHORIZED')
  if (isLapsed(payment, now)) return refuse('EXPIRED')
  if (status === 'REVERSED') return refuse('ALREADY_REVERSED')
  if (add(sums.captured, sums.capturing) > 0) return refuse('ALREADY_CAPTURED')
  if (command.amount.currency !== payment.amount.currency) return refuse('CURRENCY_DIFFERS')
  if (lacksTotal(payment)) return refuse('OUTCOME_OUTSTANDING')
  // The sum must not exceed the largest amount that the contract allows.
  if (add(possiblyAuthorized(payment), command.amount.value) > maximumAmount)
    return refuse('ABOVE_OPEN_AMOUNT')
  return accept
}

export function recordIncremental(
  payment: Payment,
  command: IncrementalCommand,
  recording: Recording,
): Payment {
  const { durationDays } = command
  return withOperation(
    payment,
    toOperation('INCREMENTAL', command, recording, { durationDays }),
    recording.now,
  )
}

function possiblyAuthorized(payment: Payment): number {
  return payment.operations
    .filter(({ type, state }) => type === 'INCREMENTAL' && (state === 'SENT' || state === 'PENDING'))
    .reduce((sum, { amount }) => add(sum, amount), payment.sums.authorized)
}
