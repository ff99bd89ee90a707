/** Decides whether a payment that awaits the merchant's confirm may be confirmed, and records the confirm. */
import type { XId } from '#domain/ids.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import { type FollowUpCommand, type Recording, toOperation } from '#lifecycle/follow-up.ts'
import { type Payment, withOperation } from '#lifecycle/payment.ts'
import type { CaptureType } from '#methods/rows.ts'

export interface ConfirmCommand extends FollowUpCommand {
  readonly captureMethod?: { readonly type: CaptureType; readonly delayedHours?: number }
  /** The client token from the answer to the create request, for methods that use one. */
  readonly clientToken?: string
}

const minuteMs = 60 * 1000

export function decideConfirm(payment: Payment, command: ConfirmCommand, now: Date): Decision {
  if (payment.awaits !== 'CONFIRM' || payment.status !== 'AUTHORIZE_REQUEST')
    return refuse('CONFIRM_NOT_EXPECTED')
  if (payment.expiresAt && payment.expiresAt.getTime() <= now.getTime()) return refuse('EXPIRED')
  if (command.amount.currency !== payment.amount.currency) return refuse('CURRENCY_DIFFERS')
  if (!isCurrent(payment, command, now)) return refuse('CLIENT_TOKEN_EXPIRED')
  if (command.amount.value > payment.amount.value) return refuse('ABOVE_OPEN_AMOUNT')
  return accept
}

/** The confirm must carry the client token that the provider issued, before it expires. */
function isCurrent(payment: Payment, { clientToken }: ConfirmCommand, now: Date): boolean {
  const { clientTokenMinutes } = payment.method
  if (clientTokenMinutes === undefined) return true
  const ageMs = now.getTime() - payment.createdAt.getTime()
  return payment.operations[0]?.details.clientToken === clientToken && ageMs <= clientTokenMinutes * minuteMs
}

/** The payment is PENDING while the provider decides, so a second confirm is refused. */
export function recordConfirm(
  payment: Payment,
  command: ConfirmCommand,
  recording: Recording & { readonly captureXId?: XId },
): Payment {
  const captureMethod = command.captureMethod ?? payment.captureMethod
  const details = withReplaced(payment.details, command.details)
  const operation = toOperation('CONFIRM', command, recording, {
    captureXId: recording.captureXId,
    // The provider gets the whole order, as it is stored: a method may refuse one without its items.
    ...(command.details.order ? { order: details.order } : {}),
  })
  return withOperation({ ...payment, status: 'PENDING', captureMethod, details }, operation, recording.now)
}

/** Addresses and amount details in the confirm replace those of the create request as wholes. */
const replaceable = ['billingAddress', 'shipping', 'amount'] as const

/** The order is merged: a confirm that only describes it must not erase the reference that finds its duplicates. */
function withReplaced(details: Payment['details'], given: Payment['details']): Payment['details'] {
  const replaced = replaceable.filter(field => given[field] !== undefined)
  return {
    ...details,
    ...Object.fromEntries(replaced.map(field => [field, given[field]])),
    ...(given.order ? { order: { ...details.order, ...given.order } } : {}),
  }
}
