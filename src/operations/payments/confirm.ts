/** Confirming a payment that was created in a first step: the rule decides, the confirm is recorded, the provider approves. */
import type { AuthorizationRequest, Connector } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import { type ConfirmCommand, decideConfirm, recordConfirm } from '#lifecycle/confirm.ts'
import { accept } from '#lifecycle/decision.ts'
import { approvingOperation, findOperation, type Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { keyReference, keyRow } from '#operations/key.ts'
import { answerOperation, answerRefusal, type OperationAnswer } from '#operations/payments/answer.ts'
import { authorize } from '#operations/payments/authorize.ts'
import { checkObjects, type FollowUp } from '#operations/payments/follow-up.ts'
import type { Step } from '#operations/payments/payment-queue.ts'
import { reopenCard } from '#operations/payments/reopen-card.ts'
import { convertAgain } from '#operations/quotes/redeem-quote.ts'

type Begun =
  | { readonly answered: OperationAnswer }
  | {
      readonly answered?: undefined
      readonly payment: Payment
      readonly connector: Connector
      readonly message: Omit<AuthorizationRequest, 'send'>
    }

/** Undefined: the merchant has no such payment. */
export async function confirm(
  request: FollowUp<ConfirmCommand>,
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  const { merchant, payId } = request
  const ids = { xId: newXId(engine), captureXId: newXId(engine) }
  const begun = await engine.queue.update({ merchantId: merchant.merchantId, payId }, payment =>
    begin(payment, request, ids, engine),
  )
  if (!begun) return undefined
  if (begun.answered) return begun.answered
  await engine.testCrash('afterRecord')
  const card = await reopenCard(begun.payment, engine)
  return authorize({ merchant, ...begun, message: { ...begun.message, card } }, engine)
}

function begin(
  payment: Payment,
  request: FollowUp<ConfirmCommand>,
  { xId, captureXId }: { xId: XId; captureXId: XId },
  engine: Engine,
): Step<Begun> {
  const { merchant, command, key } = request
  const recorded = findOperation(payment, xId)
  checkObjects(payment, command, 'confirm')
  const now = recorded?.createdAt ?? merchantNow(engine.clock, merchant)
  const decision = recorded ? accept : decideConfirm(payment, command, now)
  const connector = engine.connectors.find(payment.method)
  if (!decision.accepted || !connector) {
    const { payId, merchantId } = payment
    const { transId, refNr, metadata } = command
    const refusal = decision.accepted ? 'NO_CONNECTOR' : decision.refusal
    const refused = answerRefusal(refusal, { payId, merchantId, transId, xId, refNr, metadata })
    const row = keyRow(key, { merchant, answer: refused, now })
    return { ...(row ? { alongside: { key: row } } : {}), result: { answered: refused } }
  }
  const captureMethod = command.captureMethod ?? payment.captureMethod
  const question = {
    operation: 'CONFIRM' as const,
    merchantId: payment.merchantId,
    payId: payment.payId,
    method: payment.method,
    reference: xId,
    amount: command.amount,
    simulationMode: command.simulationMode,
    at: now,
    conversion: convertAgain(payment.instrument?.dcc, command.amount),
    captureReference: captureMethod.type === 'AUTOMATIC' ? captureXId : undefined,
  }
  // The first commit was done although its answer was lost: only the call is left, unless it was settled meanwhile.
  if (recorded) {
    return recorded.state === 'SENT'
      ? { result: { payment, connector, message: { ...question, prepared: recorded.prepared } } }
      : { result: { answered: answerOperation(payment, xId) } }
  }
  const prepared = connector.prepare(question, approvingOperation(payment).prepared)
  const recording = { xId, prepared, key: keyReference(key), captureXId: question.captureReference, now }
  const next = recordConfirm(payment, command, recording)
  const row = keyRow(key, { merchant, payId: payment.payId, xId, now })
  return {
    next,
    ...(row ? { alongside: { key: row } } : {}),
    result: { payment: next, connector, message: { ...question, prepared } },
  }
}
