/**
 * The steps of every operation on an existing payment: the rule decides, the amount is reserved and recorded, the
 * provider is called, and the outcome is recorded. The operations differ in data only (follow-up-kinds.ts).
 */
import type { Connector, FollowUps } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Money } from '#domain/money/money.ts'
import type { Refusal } from '#domain/response-codes.ts'
import { withoutPersonalData } from '#lifecycle/customer.ts'
import type { Decision } from '#lifecycle/decision.ts'
import type { FollowUpCommand, Recording } from '#lifecycle/follow-up.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { lastOperation, type Operation, type OperationType, type Payment } from '#lifecycle/payment.ts'
import { findObjectMisfit, type Misfit } from '#methods/catalogue.ts'
import type { MethodOperationName } from '#methods/fields/objects.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { keyReference, keyRow, type OperationKey } from '#operations/key.ts'
import { isNameless } from '#operations/payments/admit.ts'
import {
  answerOperation,
  answerRefusal,
  type OperationAnswer,
  shownMetadata,
} from '#operations/payments/answer.ts'
import type { Step } from '#operations/payments/payment-queue.ts'
import { beginOnce, releasing, withKept } from '#operations/payments/provider-calls/begin-once.ts'
import { callForOutcome } from '#operations/payments/provider-calls/call-provider.ts'
import { amountMisfit, narrowed } from '#operations/payments/provider-calls/choose-account.ts'
import { toFollowUp } from '#operations/payments/provider-calls/question.ts'
import { recordOutcome } from '#operations/payments/provider-calls/record-outcome.ts'
import type { TimerKey } from '#operations/timer.ts'
import type { KeyRow } from '#storage/commit/change.ts'

export interface FollowUpKind<Command extends FollowUpCommand> {
  readonly type: OperationType
  /** The name of the request in the descriptions of method objects. */
  readonly request: MethodOperationName
  /** The connector's property that sends it. A connector without this property does not support the operation. */
  readonly send: keyof FollowUps
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
  /** The timer that triggers this operation: the first commit deletes it, so that it fires only once. */
  readonly timer?: TimerKey
}

/**
 * A follow-up whose command may be derived from the stored payment; an undefined command means that there is nothing to
 * do.
 */
export interface DerivedFollowUp<Command extends FollowUpCommand> extends Omit<FollowUp<Command>, 'command'> {
  readonly command: Command | ((payment: Payment) => Command | undefined)
  /** The time by which the rule judges, if the operation was due earlier than it happens. */
  readonly judgedAt?: (payment: Payment) => Date | undefined
}

type Begun =
  | { readonly answered: OperationAnswer | 'nothing to do' }
  | {
      readonly answered?: undefined
      readonly payment: Payment
      readonly timeoutMs: number
      readonly waitMs?: () => number
      readonly ask: (send: number, signal: AbortSignal) => Promise<Outcome>
      readonly amount: Money
    }

/** Undefined: the merchant has no such payment, or there was nothing to do. */
export async function performFollowUp<Command extends FollowUpCommand>(
  kind: FollowUpKind<Command>,
  request: DerivedFollowUp<Command>,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const { merchant, payId, at, unattended } = request
  const xId = newXId(engine)
  const begun = await engine.queue.update({ merchantId: merchant.merchantId, payId }, payment =>
    begin(payment, { kind, request, xId }, engine),
  )
  if (!begun || begun.answered === 'nothing to do') return undefined
  if (begun.answered) return begun.answered
  await engine.testCrash('afterRecord')
  const { amount, timeoutMs, waitMs } = begun
  const question = { operation: kind.type, reference: xId, amount }
  const context = { question, timeoutMs, isSent: true, waitMs, engine }
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

/** The request does not fit the payment it names, in a way that no schema can detect. Carries the name of the field. */
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
  readonly request: DerivedFollowUp<Command>
  readonly xId: XId
}

function begin<Command extends FollowUpCommand>(
  payment: Payment,
  beginning: Beginning<Command>,
  engine: Engine,
): Promise<Step<Begun>> {
  const { kind, xId } = beginning
  const open = () => engine.providers.open(payment.merchantId, payment.provider?.account)
  return beginOnce<Begun>(payment, {
    isIt: operation => operation.xId === xId,
    record: async () => record(payment, { ...beginning, account: await open() }, engine),
    async resume(operation) {
      const account = await open()
      const ask = account?.connector[kind.send]
      return account && ask ? toSending(payment, operation, account, ask) : settled(payment, operation)
    },
    settled: operation => settled(payment, operation),
  })
}

const settled = (payment: Payment, { xId }: Operation): Begun => ({
  answered: answerOperation(payment, xId),
})

/** Reserves the amount and records the operation, or refuses and stores the refusal under the idempotency key. */
async function record<Command extends FollowUpCommand>(
  payment: Payment,
  { kind, request, xId, account }: Beginning<Command> & { readonly account: OpenedAccount | undefined },
  engine: Engine,
): Promise<Step<Begun>> {
  const { merchant, key, timer } = request
  const command = typeof request.command === 'function' ? request.command(payment) : request.command
  if (!command) return { ...alongside(undefined, timer), result: { answered: 'nothing to do' } }
  checkObjects(payment, command, kind.request)
  const now = request.at ?? merchantNow(engine.clock, merchant)
  const offered = account ? narrowed(payment, account) : payment
  const decision = kind.decide(offered, command, request.judgedAt?.(payment) ?? now)
  const ask = account?.connector[kind.send]
  if (!decision.accepted || !account || !ask) {
    const refusal = decision.accepted ? 'NO_CONNECTOR' : decision.refusal
    const refused = refuseOperation(payment, { kind, command, xId }, refusal)
    const row = keyRow(key, { merchant, answer: refused, now })
    return { ...alongside(row, timer), result: { answered: refused } }
  }
  const misfit =
    amountMisfit(account, command.amount) ?? captureMisfit(payment, { kind, command, account, now })
  if (misfit) throw new MethodMisfit(misfit)
  const reserved = kind.record(offered, command, { xId, prepared: {}, key: keyReference(key), now })
  const sent = await withKept({ ...reserved, method: payment.method }, xId, account)
  const next = isNameless(merchant, payment, now) ? withoutPersonalData(sent) : sent
  const row = keyRow(key, { merchant, payId: payment.payId, xId, now })
  return {
    next,
    ...alongside(row, timer),
    release: releasing(payment, xId, account),
    result: { ...toSending(sent, lastOperation(sent), account, ask), payment: next },
  }
}

/** The part of the capture's method object that the provider does not support. */
function captureMisfit<Command extends FollowUpCommand>(
  { method }: Payment,
  capture: {
    readonly kind: FollowUpKind<Command>
    readonly command: Command
    readonly account: OpenedAccount
    readonly now: Date
  },
): Misfit | undefined {
  const { kind, command, account, now } = capture
  const methodFields = command.objects?.[method.key]
  if (kind.send !== 'capture' || typeof methodFields !== 'object' || methodFields === null) return undefined
  return account.connector.findCaptureMisfit?.({ ...methodFields }, now)
}

function refuseOperation<Command extends FollowUpCommand>(
  { payId, merchantId }: Payment,
  { kind, command, xId }: Pick<Beginning<Command>, 'kind' | 'xId'> & { readonly command: Command },
  refusal: Refusal,
): OperationAnswer {
  const { transId, refNr } = command
  const metadata = shownMetadata(kind.type, command.metadata)
  return answerRefusal(refusal, { payId, merchantId, transId, xId, refNr, metadata })
}

function toSending(
  payment: Payment,
  operation: Operation,
  { connector, waitMs }: OpenedAccount,
  ask: NonNullable<Connector['capture']>,
): Extract<Begun, { answered?: undefined }> {
  const question = toFollowUp(payment, operation)
  return {
    payment,
    timeoutMs: connector.facts.timeoutMs,
    waitMs,
    ask: (send, signal) => ask({ ...question, send }, signal),
    amount: question.amount,
  }
}

function alongside(key: KeyRow | undefined, timer: TimerKey | undefined): Pick<Step<Begun>, 'alongside'> {
  if (!key && !timer) return {}
  return { alongside: { ...(key ? { key } : {}), ...(timer ? { dropTimers: [timer] } : {}) } }
}
