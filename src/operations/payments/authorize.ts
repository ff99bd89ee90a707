/** Sends an authorisation that is recorded as SENT to its provider and records the outcome. Every flow ends here. */
import type { AuthorizationOutcome } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { findOperation, type Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import {
  type CallContext,
  callProvider,
  type Question,
  verifyEcho,
} from '#operations/payments/provider-calls/call-provider.ts'
import { toInquiry } from '#operations/payments/provider-calls/payment-context.ts'
import { recordOutcome } from '#operations/payments/provider-calls/record-outcome.ts'
import { isPart, undoPart } from '#operations/payments/provider-calls/undo-part.ts'

export interface Authorization {
  readonly merchant: Merchant
  readonly payment: Payment
  readonly account: OpenedAccount
  readonly question: Question
  /** The reference of a capture in the same message. */
  readonly captureReference?: XId
  readonly ask: (send: number, signal: AbortSignal) => Promise<AuthorizationOutcome>
  readonly unattended?: boolean
  /** The customer has been at the provider and may have paid there, even if this call certainly never arrived. */
  readonly mayBePaid?: boolean
  /** The merchant's time at which this happens; now unless given. */
  readonly at?: Date
  /** Records an authorisation with the next account after one was certainly not reached; undefined if there is none. */
  readonly failOver?: () => Promise<Authorization | undefined>
}

export async function authorize(authorization: Authorization, engine: Engine): Promise<OperationAnswer> {
  const { merchant, payment, account, question, captureReference, ask, unattended, at } = authorization
  const { waitMs, connector } = account
  const { timeoutMs } = connector.facts
  const other = (waitMs?.() ?? 0) > 0 ? await authorization.failOver?.() : undefined
  if (other) {
    // The provider has asked us to wait, so this request is never sent.
    engine.sendings.end(question.reference)
    return authorize(other, engine)
  }
  const hasOther = authorization.failOver !== undefined
  const context: CallContext = { question, timeoutMs, isSent: true, waitMs, hasOther, engine }
  const answer = await callProvider<AuthorizationOutcome>(
    { ask, outcomeOf: both => both.authorization, withoutAnswer: unknown },
    context,
  )
  const received = authorization.mayBePaid && answer.authorization.kind === 'unreached' ? unknown : answer
  const outcome = isPart(received.authorization, question)
    ? { authorization: await undoOwnPart(authorization, engine) }
    : verifyBoth(received, captureReference, context)
  engine.onOutcome(question.operation, outcome.authorization.kind)
  if (outcome.capture) engine.onOutcome('CAPTURE', outcome.capture.kind)
  await engine.testCrash('afterCall')
  const next = outcome.authorization.kind === 'unreached' ? await authorization.failOver?.() : undefined
  if (next) return authorize(next, engine)
  const xId = question.reference
  const recorded = await recordOutcome({ merchant, payment, xId, outcome, unattended, at }, engine)
  await engine.testCrash('afterSettle')
  return recorded
}

const unknown: AuthorizationOutcome = { authorization: { kind: 'unknown' } }

async function undoOwnPart({ payment, account, question }: Authorization, engine: Engine): Promise<Outcome> {
  const operation = findOperation(payment, question.reference)
  return operation ? undoPart(toInquiry(payment, operation), account, engine) : { kind: 'unknown' }
}

/** Checks both echoes. A capture that was requested but not answered is unknown, never dropped. */
export function verifyBoth(
  answer: AuthorizationOutcome,
  captureReference: XId | undefined,
  context: Pick<CallContext, 'question' | 'engine'>,
): AuthorizationOutcome {
  const authorization = verifyEcho(answer.authorization, context)
  if (!captureReference || authorization.kind !== 'approved') return { authorization }
  const question = { ...context.question, operation: 'CAPTURE', reference: captureReference }
  return {
    authorization,
    capture: verifyEcho(answer.capture ?? { kind: 'unknown' }, { ...context, question }),
  }
}
