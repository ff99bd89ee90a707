/**
 * The way of every operation on an existing payment: the rule decides, the amount is reserved and recorded, then the
 * provider is asked, then the result stands. What differs from one operation to the next is a row of data.
 */
import type { Connector, FollowUpRequest } from '#connectors/contract.ts'
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Decision } from '#lifecycle/decision.ts'
import type { FollowUpCommand, Recording } from '#lifecycle/follow-up.ts'
import {
  approvingOperation,
  findOperation,
  type Operation,
  type OperationType,
  type Payment,
} from '#lifecycle/payment.ts'
import { findObjectMisfit, type Misfit } from '#methods/catalogue.ts'
import type { MethodOperationName } from '#methods/fields/objects.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { keyReference, keyRow, type OperationKey } from '#operations/key.ts'
import {
  answerOperation,
  answerRefusal,
  type OperationAnswer,
  shownMetadata,
} from '#operations/payments/answer.ts'
import { callForOutcome } from '#operations/payments/call-provider.ts'
import type { Step } from '#operations/payments/payment-queue.ts'
import { recordOutcome } from '#operations/payments/record-outcome.ts'
import type { TimerKey } from '#operations/timer.ts'
import type { KeyRow } from '#storage/commit/change.ts'

export interface FollowUpKind<Command extends FollowUpCommand> {
  readonly type: OperationType
  /** What the request is called where its method object is described. */
  readonly request: MethodOperationName
  /** The connector's property that does it; a connector without it refuses. */
  readonly send: 'capture' | 'reverse' | 'refund' | 'increment'
  readonly decide: (payment: Payment, command: Command, now: Date) => Decision
  readonly record: (payment: Payment, command: Command, recording: Recording) => Payment
}

export interface FollowUp<Command extends FollowUpCommand> {
  readonly merchant: Merchant
  readonly payId: PayId
  readonly command: Command
  readonly key?: OperationKey
  /** The merchant's time at which this happens; now unless given. */
  readonly at?: Date
  /** Nobody waits for the answer: the merchant is told by an event. */
  readonly unattended?: boolean
  /** The timer that asks for this: it is gone with the first commit, so that it fires once whatever happens then. */
  readonly timer?: TimerKey
}

type Begun =
  | { readonly answered: OperationAnswer }
  | {
      readonly answered?: undefined
      readonly payment: Payment
      readonly ask: (send: number) => ReturnType<Ask>
      readonly message: Message
    }
type Ask = NonNullable<Connector['capture']>
type Message = Omit<FollowUpRequest, 'send'>

/** Undefined: the merchant has no such payment. */
export async function performFollowUp<Command extends FollowUpCommand>(
  kind: FollowUpKind<Command>,
  request: FollowUp<Command>,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const { merchant, payId, at, unattended } = request
  const xId = newXId(engine)
  const begun = await engine.queue.update({ merchantId: merchant.merchantId, payId }, payment =>
    begin(payment, { kind, request, xId }, engine),
  )
  if (!begun) return undefined
  if (begun.answered) return begun.answered
  await engine.testCrash('afterRecord')
  const { amount } = begun.message
  const context = { question: { operation: kind.type, reference: xId, amount }, engine }
  const outcome = await callForOutcome(begun.ask, context)
  engine.onOutcome(kind.type, outcome.kind)
  await engine.testCrash('afterCall')
  const answer = await recordOutcome(
    { merchant, payment: begun.payment, xId, outcome, at, unattended },
    engine,
  )
  await engine.testCrash('afterSettle')
  return answer
}

/** The request does not fit the payment it names, in a way no schema can see: the caller names the field. */
export class MethodMisfit extends Error {
  readonly field: string

  constructor({ field, error }: Misfit) {
    super(error)
    this.field = field
  }
}

export function checkObjects(
  payment: Payment,
  { objects }: FollowUpCommand,
  request: MethodOperationName,
): void {
  const misfit = findObjectMisfit(payment.method, objects, request)
  if (misfit) throw new MethodMisfit(misfit)
}

interface Beginning<Command extends FollowUpCommand> {
  readonly kind: FollowUpKind<Command>
  readonly request: FollowUp<Command>
  readonly xId: XId
}

/** The first commit: reserve and record, or refuse and remember the refusal with its key. */
function begin<Command extends FollowUpCommand>(
  payment: Payment,
  beginning: Beginning<Command>,
  engine: Engine,
): Step<Begun> {
  const { kind, request, xId } = beginning
  const { merchant, command, key } = request
  const recorded = findOperation(payment, xId)
  if (recorded) return resume(payment, recorded, beginning, engine)
  checkObjects(payment, command, kind.request)
  const now = request.at ?? merchantNow(engine.clock, merchant)
  const decision = kind.decide(payment, command, now)
  const connector = engine.connectors.find(payment.method)
  const send = connector?.[kind.send]
  if (!decision.accepted || !connector || !send) {
    const { payId, merchantId } = payment
    const { transId, refNr, metadata } = command
    const refusal = decision.accepted ? 'NO_CONNECTOR' : decision.refusal
    const refused = answerRefusal(refusal, {
      payId,
      merchantId,
      transId,
      xId,
      refNr,
      metadata: shownMetadata(kind.type, metadata),
    })
    const row = keyRow(key, { merchant, answer: refused, now })
    return { ...alongside(row, request.timer), result: { answered: refused } }
  }
  const question = toQuestion(payment, beginning, now)
  const prepared = connector.prepare(question, approvingOperation(payment).prepared)
  const next = kind.record(payment, command, { xId, prepared, key: keyReference(key), now })
  const message: Message = {
    ...question,
    prepared,
    captureReference: findOperation(next, xId)?.details.refundOf,
  }
  const row = keyRow(key, { merchant, payId: payment.payId, xId, now })
  return {
    next,
    ...alongside(row, request.timer),
    result: { payment: next, message, ask: number => send({ ...message, send: number }) },
  }
}

/**
 * The first commit was done although its answer was lost. Reserving again would take twice, so only the call is left,
 * unless somebody else has settled the operation by now.
 */
function resume<Command extends FollowUpCommand>(
  payment: Payment,
  operation: Operation,
  beginning: Beginning<Command>,
  engine: Engine,
): Step<Begun> {
  const { xId, state, prepared, createdAt, details } = operation
  const send = engine.connectors.find(payment.method)?.[beginning.kind.send]
  if (state !== 'SENT' || !send) return { result: { answered: answerOperation(payment, xId) } }
  const message = {
    ...toQuestion(payment, beginning, createdAt),
    prepared,
    captureReference: details.refundOf,
  }
  return { result: { payment, message, ask: number => send({ ...message, send: number }) } }
}

function alongside(key: KeyRow | undefined, timer: TimerKey | undefined): Pick<Step<Begun>, 'alongside'> {
  if (!key && !timer) return {}
  return { alongside: { ...(key ? { key } : {}), ...(timer ? { dropTimers: [timer] } : {}) } }
}

function toQuestion<Command extends FollowUpCommand>(
  payment: Payment,
  { kind, request, xId }: Beginning<Command>,
  now: Date,
) {
  const approval = approvingOperation(payment)
  return {
    operation: kind.type,
    merchantId: payment.merchantId,
    payId: payment.payId,
    method: payment.method,
    reference: xId,
    amount: request.command.amount,
    simulationMode: request.command.simulationMode,
    at: now,
    authorizationReference: approval.xId,
    authorizationTransactionId: approval.provider?.transactionId,
  }
}
