/** When an authorised payment may be captured, and what it looks like while the capture is under way. */
import type { XId } from '#domain/ids.ts'
import { add, type Money } from '#domain/money.ts'
import { providerResultOutstanding } from '#domain/response-codes.ts'
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import {
  captureCeiling,
  committed,
  type KeyReference,
  type Operation,
  type Payment,
  type Prepared,
} from '#lifecycle/payment.ts'

export interface CaptureCommand {
  readonly transId: string
  readonly refNr?: string
  readonly amount: Money
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly simulationMode?: string
  readonly manual?: { readonly currentSequence?: number; readonly total?: number; readonly final?: boolean }
  /** Ends the authorisation with this capture: nothing more will be taken, whatever is open. */
  readonly finishAuth?: boolean
  readonly details: Readonly<Record<string, unknown>>
}

/** 50: more partial captures than any acquirer we know settles, few enough to load with the payment every time. */
export const maximumCaptures = 50

/** From general to specific; the first reason that applies is the answer. */
export function decideCapture(payment: Payment, command: CaptureCommand, now: Date): Decision {
  if (!payment.method.operations.includes('capture')) return refuse('METHOD_LACKS_OPERATION')
  if (payment.status === 'AUTHORIZE_REQUEST' || payment.status === 'PENDING' || payment.status === 'FAILED') {
    return refuse('NOT_AUTHORIZED')
  }
  if (isLapsed(payment, now)) return refuse('EXPIRED')
  if (payment.status === 'REVERSED') return refuse('ALREADY_REVERSED')
  // A capture without an answer counts as taken: asking twice must never collect twice.
  if (add(payment.sums.captured, payment.sums.capturing) >= captureCeiling(payment))
    return refuse('ALREADY_CAPTURED')
  if (payment.closedForCapture || captures(payment).length >= maximumCaptures)
    return refuse('CLOSED_FOR_CAPTURE')
  if (command.amount.currency !== payment.amount.currency) return refuse('CURRENCY_DIFFERS')
  if (!sequenceFits(payment, command)) return refuse('SEQUENCE')
  if (add(committed(payment), command.amount.value) > captureCeiling(payment))
    return refuse('ABOVE_OPEN_AMOUNT')
  return accept
}

/** The payment with the capture reserved: what is recorded before the provider hears of it. */
export function reserveCapture(
  payment: Payment,
  command: CaptureCommand,
  { xId, prepared, key, now }: { xId: XId; prepared: Prepared; key?: KeyReference; now: Date },
): Payment {
  const operation: Operation = {
    xId,
    sequence: payment.operations.length + 1,
    type: 'CAPTURE',
    state: 'SENT',
    amount: command.amount.value,
    transId: command.transId,
    refNr: command.refNr,
    responseCode: providerResultOutstanding,
    prepared,
    details: {
      ...command.details,
      metadata: command.metadata,
      simulationMode: command.simulationMode,
      manual: command.manual,
      finishAuth: command.finishAuth,
    },
    key,
    createdAt: now,
    updatedAt: now,
  }
  return {
    ...payment,
    sums: { ...payment.sums, capturing: add(payment.sums.capturing, command.amount.value) },
    operations: [...payment.operations, operation],
    updatedAt: now,
    version: payment.version + 1,
  }
}

/** A fully captured payment has nothing left that could lapse. */
const isLapsed = (payment: Payment, now: Date): boolean =>
  payment.authorizationExpiresAt !== undefined &&
  payment.authorizationExpiresAt.getTime() <= now.getTime() &&
  add(payment.sums.captured, payment.sums.capturing) < payment.sums.authorized

/** Those that happened or may have. */
const captures = (payment: Payment): readonly Operation[] =>
  payment.operations.filter(operation => operation.type === 'CAPTURE' && operation.state !== 'FAILED')

/** A number of a series is used once and lies within the total, whether that total is given now or was before. */
function sequenceFits(payment: Payment, command: CaptureCommand): boolean {
  const current = command.manual?.currentSequence
  if (current === undefined) return true
  const total =
    command.manual?.total ?? captures(payment).findLast(c => c.details.manual?.total)?.details.manual?.total
  if (total !== undefined && current > total) return false
  return !captures(payment).some(capture => capture.details.manual?.currentSequence === current)
}
