/**
 * Applies the outcome of an operation to its payment. An unknown outcome leaves the operation PENDING and its amount
 * reserved. A failed follow-up changes the status of an approved payment in one case only: a failed capture returns it
 * from CAPTURE_REQUEST to AUTHORIZED.
 */
import { strict as assert } from 'node:assert'
import { scrubCardNumbers } from '#domain/cards/card-numbers.ts'
import type { XId } from '#domain/ids.ts'
import { add, subtract } from '#domain/money/money.ts'
import { detailCode, providerResultOutstanding, success, unreachedCode } from '#domain/response-codes.ts'
import { mayTryAgain } from '#lifecycle/attempt.ts'
import { endsCapturing, releasesRest } from '#lifecycle/capture.ts'
import { customerDeadline } from '#lifecycle/create.ts'
import { awaitAction, endPage } from '#lifecycle/customer-step.ts'
import { toOperation } from '#lifecycle/follow-up.ts'
import type { CustomerActionOutcome, Outcome, ProviderFacts } from '#lifecycle/outcome.ts'
import {
  approvingOperation,
  findOperation,
  isClosedLate,
  isGivenBackLate,
  isUnanswered,
  isUndecided,
  type Operation,
  type OperationType,
  openAmount,
  type Payment,
  withOperation,
} from '#lifecycle/payment.ts'

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs

/**
 * Applies an outcome to one operation and returns the payment to store. An operation that is already settled stays
 * unchanged.
 */
export function settle(
  payment: Payment,
  xId: XId,
  outcome: Outcome | CustomerActionOutcome,
  now: Date,
): Payment {
  const found = findOperation(payment, xId)
  assert(found, `operation ${xId} does not belong to payment ${payment.payId}`)
  if (!isUndecided(found)) return payment
  const operation = withRelease(found, outcome)
  // An unknown outcome changes nothing while the provider waits for the customer.
  if (outcome.kind === 'unknown' && !isUnanswered(operation)) return payment
  if (outcome.kind === 'action') return awaitAction(payment, operation, outcome, now)
  const renewable =
    outcome.kind === 'declined' && outcome.pageEnded ? endPage(payment, operation, now) : undefined
  if (renewable) return renewable
  const answered = answerOperation(payment, operation, outcome, now)
  const { approve, fail } = effects[operation.type]
  switch (outcome.kind) {
    case 'approved':
      return approve(answered, operation, now)
    case 'declined':
    case 'unreached':
      return fail(answered, operation, now)
    case 'pending':
      return outcome.scheduled ? showRequested(answered, operation) : answered
    case 'unknown':
      return answered
  }
}

/**
 * If the provider says that it released the rest, the rest is released even if the capture did not ask for it. Stored
 * in `prepared`, because the details of an operation are written only once.
 */
const withRelease = (operation: Operation, outcome: Outcome | CustomerActionOutcome): Operation =>
  outcome.kind === 'approved' && outcome.restReleased
    ? { ...operation, prepared: { ...operation.prepared, restReleased: true } }
    : operation

/** The provider has accepted a capture and will collect it on a later day; until then the payment is CAPTURE_REQUEST. */
const showRequested = (payment: Payment, { type }: Operation): Payment =>
  type === 'CAPTURE' && payment.status === 'AUTHORIZED' ? { ...payment, status: 'CAPTURE_REQUEST' } : payment

interface Effects {
  /** The money moved. */
  readonly approve: (payment: Payment, operation: Operation, now: Date) => Payment
  /** The money certainly did not move: the reserved amount is released. */
  readonly fail: (payment: Payment, operation: Operation, now: Date) => Payment
}

const withSums = (payment: Payment, sums: Partial<Payment['sums']>): Payment => ({
  ...payment,
  sums: { ...payment.sums, ...sums },
})

const failPayment = (payment: Payment): Payment => ({ ...payment, status: 'FAILED', awaits: undefined })

const effects: Record<OperationType, Effects> = {
  AUTHORIZATION: { approve: authorize, fail: failTry },
  CONFIRM: {
    approve: (payment, operation, now) => authorize(answerFirstStep(payment, operation), operation, now),
    fail: (payment, operation) => failPayment(answerFirstStep(payment, operation)),
  },
  INCREMENTAL: { approve: raiseAuthorization, fail: payment => payment },
  CAPTURE: {
    approve: takeCapture,
    fail: (payment, operation) => {
      const { capturing } = payment.sums
      const released = withSums(payment, {
        ...reopened(payment, operation),
        capturing: subtract(capturing, operation.amount),
      })
      // A failed delayed capture is not repeated; from then on the merchant captures manually. A failed manual capture
      // made before the delayed one was due does not cancel the delayed one, no matter when the failure becomes known.
      const fired =
        payment.captureMethod.type === 'DELAYED'
          ? replacesDelayedCapture(payment, operation)
          : released.sums.capturing === 0
      return payment.status === 'CAPTURE_REQUEST' && fired ? { ...released, status: 'AUTHORIZED' } : released
    },
  },
  REVERSAL: {
    approve: giveBack,
    fail: (payment, operation) =>
      withSums(payment, {
        ...reopened(payment, operation),
        reversing: subtract(payment.sums.reversing, operation.amount),
      }),
  },
  REFUND: {
    approve: (payment, { amount }) => {
      const given = withSums(payment, {
        refunding: subtract(payment.sums.refunding, amount),
        refunded: add(payment.sums.refunded, amount),
      })
      // A payment that was approved after its end and then given back ends as REVERSED, as if it had been reversed in
      // time.
      const isLate = isGivenBackLate(approvingOperation(payment))
      // Money that the customer's bank took back need not be refunded.
      const isGone = add(given.sums.refunded, given.sums.returned) >= given.sums.captured
      return isLate && isGone ? { ...given, status: 'REVERSED' } : given
    },
    fail: (payment, { amount }) => withSums(payment, { refunding: subtract(payment.sums.refunding, amount) }),
  },
  CREDIT: {
    approve: (payment, { amount }) =>
      withSums({ ...payment, status: 'OK' }, { refunding: 0, refunded: amount }),
    fail: payment => withSums(failPayment(payment), { refunding: 0 }),
  },
  // Returns are reported after the fact: debit-return.ts stores them as answered and updates the sums.
  RETURN: { approve: payment => payment, fail: payment => payment },
}

/** On a hosted page the customer may try again; anywhere else a decline ends the payment. */
function failTry(payment: Payment, _: Operation, now: Date): Payment {
  if (!mayTryAgain(payment, now)) return failPayment(payment)
  // There is no deadline yet if the provider was called at once and asked nothing of the customer.
  const expiresAt = payment.expiresAt ?? customerDeadline(payment.method, now)
  return { ...payment, status: 'AUTHORIZE_REQUEST', awaits: 'CUSTOMER', expiresAt }
}

function authorize(payment: Payment, operation: Operation, now: Date): Payment {
  // An account verification approves no amount, so it must not wait for a delayed capture that will never run.
  const isScheduled = payment.captureMethod.type === 'DELAYED' && operation.amount > 0
  return {
    ...withSums(payment, { authorized: operation.amount }),
    status: isScheduled ? 'CAPTURE_REQUEST' : 'AUTHORIZED',
    awaits: undefined,
    authorizationExpiresAt: authorizationEnd(payment, now),
  }
}

/**
 * An authorisation lives at least an hour longer than the delay of its delayed capture, which must not find it lapsed.
 */
function authorizationEnd({ method, captureMethod }: Payment, now: Date): Date | undefined {
  if (method.authorizationDays === undefined) return undefined
  const delayMs = captureMethod.delayedHours === undefined ? 0 : (captureMethod.delayedHours + 1) * hourMs
  return new Date(now.getTime() + Math.max(method.authorizationDays * dayMs, delayMs))
}

/** When a delayed capture fires, counted from the approval. */
export const delayedCaptureTime = ({ captureMethod }: Payment, approvedAt: Date): Date | undefined =>
  captureMethod.delayedHours === undefined
    ? undefined
    : new Date(approvedAt.getTime() + captureMethod.delayedHours * hourMs)

/**
 * When the delayed capture is due; undefined if there is none or it was made. The time may have passed: an unanswered
 * operation blocks the capture, which becomes due when that operation turns out to have failed.
 */
export function dueDelayedCapture(payment: Payment): Date | undefined {
  if (payment.status !== 'CAPTURE_REQUEST' && payment.status !== 'OK') return undefined
  const isMade = payment.operations.some(operation => replacesDelayedCapture(payment, operation))
  return isMade ? undefined : delayedCaptureTime(payment, approvingOperation(payment).updatedAt)
}

/** A capture at or after the time of the delayed one replaces it, even if the merchant requested it. */
function replacesDelayedCapture(payment: Payment, { type, createdAt }: Operation): boolean {
  const firesAt = delayedCaptureTime(payment, approvingOperation(payment).updatedAt)
  return type === 'CAPTURE' && firesAt !== undefined && firesAt.getTime() <= createdAt.getTime()
}

/** The first step of a confirmed payment ends as its confirm did. */
function answerFirstStep(payment: Payment, confirm: Operation): Payment {
  const { state, responseCode } = findOperation(payment, confirm.xId) ?? confirm
  return {
    ...payment,
    operations: payment.operations.map(operation =>
      operation.state === 'AUTHORIZE_REQUEST' ? { ...operation, state, responseCode } : operation,
    ),
  }
}

const hasReleasedRest = (operation: Operation): boolean =>
  operation.type === 'CAPTURE' && operation.state === 'OK' && releasesRest(operation)

/**
 * The amount of a failed capture or reversal is open again, unless a capture has released the rest meanwhile: that
 * amount was released with it.
 */
const reopened = ({ sums, operations }: Payment, { amount }: Operation): Partial<Payment['sums']> =>
  operations.some(hasReleasedRest) ? { reversed: add(sums.reversed, amount) } : {}

function raiseAuthorization(payment: Payment, { amount, details }: Operation): Payment {
  const { authorizationExpiresAt, sums } = payment
  // The payment was reversed while the increment was under way, or a capture released the rest: the added amount is
  // released too.
  if (payment.status === 'REVERSED' || payment.operations.some(hasReleasedRest)) {
    return withSums(payment, {
      authorized: add(sums.authorized, amount),
      reversed: add(sums.reversed, amount),
    })
  }
  const longerMs = Number(details.durationDays ?? 0) * dayMs
  return {
    ...withSums(payment, { authorized: add(sums.authorized, amount) }),
    authorizationExpiresAt: authorizationExpiresAt && new Date(authorizationExpiresAt.getTime() + longerMs),
  }
}

function takeCapture(payment: Payment, operation: Operation): Payment {
  const { amount } = operation
  const taken: Payment = {
    ...withSums(payment, {
      capturing: subtract(payment.sums.capturing, amount),
      captured: add(payment.sums.captured, amount),
    }),
    status: isClosedLate(payment) ? payment.status : 'OK',
  }
  // Even if the method allows captures above the authorised amount, reaching that amount closes the payment.
  const reached =
    payment.method.capturePercentMax !== undefined && taken.sums.captured >= taken.sums.authorized
  const released = releasesRest(operation)
    ? withSums(taken, { reversed: add(taken.sums.reversed, openAmount(taken)) })
    : taken
  return { ...released, closedForCapture: payment.closedForCapture || reached || endsCapturing(operation) }
}

function giveBack(payment: Payment, { amount }: Operation): Payment {
  const given = withSums(payment, {
    reversing: subtract(payment.sums.reversing, amount),
    reversed: add(payment.sums.reversed, amount),
  })
  return given.sums.reversed >= given.sums.authorized ? { ...given, status: 'REVERSED' } : given
}

/**
 * Books the capture that was made in the same provider call as the authorisation: as an operation of its own, under the
 * reference that was stored before the call, with the given outcome.
 */
export function settleAutomaticCapture(
  payment: Payment,
  approvingXId: XId,
  outcome: Outcome,
  now: Date,
): Payment {
  const approving = findOperation(payment, approvingXId)
  const xId = approving?.details.captureXId
  assert(approving && xId, `payment ${payment.payId} was not to be captured with its authorisation`)
  assert(payment.status === 'AUTHORIZED', `payment ${payment.payId} is ${payment.status}, not AUTHORIZED`)
  const { amount, transId, refNr, prepared } = approving
  const command = {
    transId,
    refNr,
    amount: { value: amount, currency: payment.amount.currency },
    details: {},
  }
  const capture = toOperation('CAPTURE', command, { xId, prepared, now })
  const capturing = add(payment.sums.capturing, amount)
  return settle(withOperation(withSums(payment, { capturing }), capture, now), xId, outcome, now)
}

function answerOperation(payment: Payment, operation: Operation, outcome: Outcome, now: Date): Payment {
  const answered: Operation = {
    ...operation,
    state: stateAfter(payment, operation, outcome),
    responseCode: codeAfter(payment, outcome),
    provider: providerAfter(payment, operation, outcome),
    updatedAt: now,
  }
  return {
    ...payment,
    operations: payment.operations.map(other => (other.xId === answered.xId ? answered : other)),
    updatedAt: now,
    version: payment.version + 1,
  }
}

/**
 * An answer that we could not understand is noted in the payment record, because an operator must look at it. It does
 * not prove that the provider has the request, so the operation is settled like one without an answer.
 */
function providerAfter(payment: Payment, operation: Operation, outcome: Outcome): Operation['provider'] {
  if ('provider' in outcome) return withReceipts(withoutCardNumber(outcome.provider), operation)
  const { provider, xId, amount } = operation
  if (outcome.kind !== 'unknown' || outcome.reason === undefined) return provider
  const echo = { reference: xId, amount: { value: amount, currency: payment.amount.currency } }
  const responseText = `The provider's answer was not understood: ${scrubCardNumbers(outcome.reason)}`
  return { ...(provider ?? { echo, fields: { notUnderstood: true } }), responseText }
}

/**
 * Another transfer may be stored while an earlier one is being applied, so the stored receipts win over the outcome's.
 */
function withReceipts(provider: ProviderFacts, { provider: stored }: Operation): ProviderFacts {
  const receipts = stored?.fields?.receipts
  return receipts === undefined ? provider : { ...provider, fields: { ...provider.fields, receipts } }
}

/** A provider's text may quote the card number that it was sent. */
const withoutCardNumber = (provider: ProviderFacts): ProviderFacts =>
  provider.responseText === undefined
    ? provider
    : { ...provider, responseText: scrubCardNumbers(provider.responseText) }

function stateAfter(payment: Payment, { type }: Operation, outcome: Outcome): Operation['state'] {
  switch (outcome.kind) {
    case 'approved': {
      // AUTHORIZED if a separate capture must follow, OK if nothing is left to do.
      const approves = type === 'AUTHORIZATION' || type === 'CONFIRM'
      return approves && payment.captureMethod.type !== 'AUTOMATIC' ? 'AUTHORIZED' : 'OK'
    }
    case 'declined':
    case 'unreached':
      return 'FAILED'
    case 'pending':
    case 'unknown':
      return 'PENDING'
  }
}

function codeAfter({ method }: Payment, outcome: Outcome): string {
  switch (outcome.kind) {
    case 'approved':
      return success
    case 'declined':
      return detailCode(method.family, outcome.detail)
    case 'unreached':
      return unreachedCode(method.family)
    case 'pending':
    case 'unknown':
      return providerResultOutstanding
  }
}
