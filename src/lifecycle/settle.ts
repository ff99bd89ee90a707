/**
 * What an outcome makes of a payment. Total over operation and outcome: every pair has its line, and a line may only
 * do what is certain. An unknown outcome changes nothing but the wait; a failed follow-up never changes the payment.
 */
import { strict as assert } from 'node:assert'
import type { XId } from '#domain/ids.ts'
import { add, subtract } from '#domain/money.ts'
import { providerResultOutstanding, simulatedCode, success, unreachedCode } from '#domain/response-codes.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { findOperation, isUnanswered, type Operation, type Payment } from '#lifecycle/payment.ts'

const dayMs = 24 * 60 * 60 * 1000

/** The answer to one operation of a payment. Returns the payment as it is to be written; settled ones are left alone. */
export function settle(payment: Payment, xId: XId, outcome: Outcome, now: Date): Payment {
  const operation = findOperation(payment, xId)
  assert(operation, `operation ${xId} is not of payment ${payment.payId}`)
  if (!isUnanswered(operation)) return payment
  switch (operation.type) {
    case 'AUTHORIZATION':
      return settleAuthorization(payment, operation, outcome, now)
    case 'CAPTURE':
      return settleCapture(payment, operation, outcome, now)
    default:
      throw new Error(`no rule settles ${operation.type}`)
  }
}

function settleAuthorization(payment: Payment, operation: Operation, outcome: Outcome, now: Date): Payment {
  const answered = answerOperation(payment, operation, outcome, now)
  switch (outcome.kind) {
    case 'approved':
      return {
        ...answered,
        status: 'AUTHORIZED',
        sums: { ...payment.sums, authorized: operation.amount },
        authorizationExpiresAt: expiry(payment, now),
      }
    case 'declined':
    case 'unreached':
      return { ...answered, status: 'FAILED' }
    case 'pending':
    case 'unknown':
      return answered
  }
}

/**
 * An authorisation that captured in the same message: the capture appears as an operation of its own, under the
 * reference that was stored before the call, with whatever is known about it.
 */
export function settleAutomaticCapture(
  payment: Payment,
  authorizationXId: XId,
  outcome: Outcome,
  now: Date,
): Payment {
  const authorization = findOperation(payment, authorizationXId)
  const xId = authorization?.details.captureXId
  assert(authorization && xId, `payment ${payment.payId} was not to be captured with its authorisation`)
  assert(payment.status === 'AUTHORIZED', `payment ${payment.payId} is ${payment.status}, not AUTHORIZED`)
  const capture: Operation = {
    xId,
    sequence: payment.operations.length + 1,
    type: 'CAPTURE',
    state: 'SENT',
    amount: authorization.amount,
    transId: authorization.transId,
    refNr: authorization.refNr,
    responseCode: providerResultOutstanding,
    prepared: authorization.prepared,
    details: {},
    createdAt: now,
    updatedAt: now,
  }
  const reserved: Payment = {
    ...payment,
    sums: { ...payment.sums, capturing: add(payment.sums.capturing, capture.amount) },
    operations: [...payment.operations, capture],
  }
  return settleCapture(reserved, capture, outcome, now)
}

function settleCapture(payment: Payment, operation: Operation, outcome: Outcome, now: Date): Payment {
  const answered = answerOperation(payment, operation, outcome, now)
  const { sums } = payment
  switch (outcome.kind) {
    case 'approved':
      return {
        ...answered,
        status: 'OK',
        closedForCapture: payment.closedForCapture || endsCapturing(operation),
        sums: {
          ...sums,
          capturing: subtract(sums.capturing, operation.amount),
          captured: add(sums.captured, operation.amount),
        },
      }
    case 'declined':
    case 'unreached':
      return { ...answered, sums: { ...sums, capturing: subtract(sums.capturing, operation.amount) } }
    case 'pending':
    case 'unknown':
      return answered
  }
}

const endsCapturing = (operation: Operation): boolean =>
  operation.details.manual?.final === true || operation.details.finishAuth === true

function answerOperation(payment: Payment, operation: Operation, outcome: Outcome, now: Date): Payment {
  const answered: Operation = {
    ...operation,
    state: stateAfter(payment, operation, outcome),
    responseCode: codeAfter(payment, outcome),
    provider: 'provider' in outcome ? outcome.provider : operation.provider,
    updatedAt: now,
  }
  return {
    ...payment,
    operations: payment.operations.map(other => (other.xId === answered.xId ? answered : other)),
    updatedAt: now,
    version: payment.version + 1,
  }
}

function stateAfter(payment: Payment, operation: Operation, outcome: Outcome): Operation['state'] {
  switch (outcome.kind) {
    case 'approved':
      // The merchant reads AUTHORIZED where a capture of its own must follow, and OK where the work is done.
      return operation.type === 'AUTHORIZATION' && payment.captureMethod.type !== 'AUTOMATIC'
        ? 'AUTHORIZED'
        : 'OK'
    case 'declined':
    case 'unreached':
      return 'FAILED'
    case 'pending':
    case 'unknown':
      return 'PENDING'
  }
}

function codeAfter(payment: Payment, outcome: Outcome): string {
  switch (outcome.kind) {
    case 'approved':
      return success
    case 'declined':
      return simulatedCode(payment.method.family, outcome.detail)
    case 'unreached':
      return unreachedCode(payment.method.family)
    case 'pending':
    case 'unknown':
      return providerResultOutstanding
  }
}

const expiry = (payment: Payment, now: Date): Date | undefined =>
  payment.method.authorizationDays === undefined
    ? undefined
    : new Date(now.getTime() + payment.method.authorizationDays * dayMs)
