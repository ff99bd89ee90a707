/**
 * The way of every operation on an existing payment: the rule decides, the amount is reserved and recorded, then the
 * provider is asked, then the result stands. What differs from one operation to the next is a row of data.
 */
import type { Connector, FollowUpRequest } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { add } from '#domain/money.ts'
import { endsCapturing } from '#lifecycle/capture.ts'
import type { Decision } from '#lifecycle/decision.ts'
import type { FollowUpCommand, Recording } from '#lifecycle/follow-up.ts'
import {
  approvingOperation,
  findOperation,
  type Operation,
  type OperationType,
  openAmount,
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
import { amountMisfit, narrowed } from '#operations/payments/choose-account.ts'
import { toContext } from '#operations/payments/payment-context.ts'
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
  /** No request waits for the answer: the merchant gets an event. */
  readonly unattended?: boolean
  /** The timer that asks for this: it is gone with the first commit, so that it fires once whatever happens then. */
  readonly timer?: TimerKey
}

type Begun =
  | { readonly answered: OperationAnswer }
  | {
      readonly answered?: undefined
      readonly payment: Payment
      readonly timeoutMs: number
      readonly ask: (send: number, signal: AbortSignal) => ReturnType<Ask>
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
  const { message, timeoutMs } = begun
  const question = { operation: kind.type, reference: xId, amount: message.amount }
  const context = { question, timeoutMs, engine }
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
async function begin<Command extends FollowUpCommand>(
  payment: Payment,
  beginning: Beginning<Command>,
  engine: Engine,
): Promise<Step<Begun>> {
  const { kind, request, xId } = beginning
  const { merchant, command, key } = request
  const account = await engine.providers.open(payment.merchantId, payment.provider?.account)
  const recorded = findOperation(payment, xId)
  if (recorded) return resume(payment, recorded, beginning, account)
  checkObjects(payment, command, kind.request)
  const now = request.at ?? merchantNow(engine.clock, merchant)
  const offered = account ? narrowed(payment, account) : payment
  const decision = kind.decide(offered, command, now)
  const ask = account?.connector[kind.send]
  if (!decision.accepted || !account || !ask) {
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
  const misfit = amountMisfit(account, command.amount)
  if (misfit) throw new MethodMisfit(misfit)
  const question = toQuestion(payment, beginning, now)
  const approval = approvingOperation(payment).prepared
  const prepared = (await account.connector.keep?.({ request: question, approval })) ?? {}
  const reserved = kind.record(offered, command, { xId, prepared, key: keyReference(key), now })
  const next = { ...reserved, method: payment.method }
  const row = keyRow(key, { merchant, payId: payment.payId, xId, now })
  return {
    next,
    ...alongside(row, request.timer),
    result: toSending(next, { ...question, kept: prepared }, account, ask),
  }
}

/**
 * The first commit was done although its answer was lost. Reserving again would take twice, so only the call is left,
 * unless another process has settled the operation by now.
 */
function resume<Command extends FollowUpCommand>(
  payment: Payment,
  { xId, state, prepared, createdAt }: Operation,
  beginning: Beginning<Command>,
  account: OpenedAccount | undefined,
): Step<Begun> {
  const ask = account?.connector[beginning.kind.send]
  if (state !== 'SENT' || !account || !ask) return { result: { answered: answerOperation(payment, xId) } }
  const message = { ...toQuestion(payment, beginning, createdAt), kept: prepared }
  return { result: toSending(payment, message, account, ask) }
}

/** What only the recorded operation knows: the capture that a refund gives back, the totals, whether it was the last. */
function toSending(
  payment: Payment,
  message: Omit<Message, 'newTotal'>,
  { connector }: OpenedAccount,
  ask: Ask,
): Begun {
  const operation = findOperation(payment, message.reference)
  const refunded = operation?.details.refundOf && findOperation(payment, operation.details.refundOf)
  const whole: Message = {
    ...message,
    captureReference: refunded?.xId,
    captureTransactionId: refunded?.provider?.transactionId,
    newTotal: newTotal(payment, message),
    final: operation?.type === 'CAPTURE' ? isLastCapture(payment, operation) : undefined,
  }
  return {
    payment,
    timeoutMs: connector.facts.timeoutMs,
    ask: (send, signal) => ask({ ...whole, send }, signal),
    message: whole,
  }
}

/** What will be authorised, captured, reversed or refunded in all once this is done. */
function newTotal({ sums }: Payment, { operation, amount }: Pick<Message, 'operation' | 'amount'>): number {
  switch (operation) {
    case 'INCREMENTAL':
      return add(sums.authorized, amount.value)
    case 'CAPTURE':
      return add(sums.captured, sums.capturing)
    case 'REVERSAL':
      return add(sums.reversed, sums.reversing)
    default:
      return add(sums.refunded, sums.refunding)
  }
}

const isLastCapture = (payment: Payment, operation: Operation): boolean =>
  endsCapturing(operation) || openAmount(payment) === 0

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
    reference: xId,
    amount: request.command.amount,
    payment: toContext(payment, request.command),
    testHints: testHints(request.command),
    at: now,
    authorizationReference: approval.xId,
    authorizationTransactionId: approval.provider?.transactionId,
    authorization: approval.provider,
  }
}

/** What only the simulator understands. */
export const testHints = ({ simulationMode }: FollowUpCommand): Message['testHints'] =>
  simulationMode === undefined ? undefined : { simulationMode }
