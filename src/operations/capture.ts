/** Capturing: the rule decides, the amount is reserved and recorded, then the provider is asked, then the result stands. */
import type { CaptureRequest, Connector } from '#connectors/contract.ts'
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { type CaptureCommand, decideCapture, reserveCapture } from '#lifecycle/capture.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { findOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import { answerOperation, answerRefusal, type OperationAnswer } from '#operations/answer.ts'
import { believe, type CallContext, callProvider } from '#operations/call-provider.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { keyReference, keyRow, type OperationKey } from '#operations/key.ts'
import type { Step } from '#operations/payment-queue.ts'
import { recordOutcome } from '#operations/record-outcome.ts'

export interface Capture {
  readonly merchant: Merchant
  readonly payId: PayId
  readonly command: CaptureCommand
  readonly key?: OperationKey
}

type Begun =
  | { readonly answered: OperationAnswer }
  | {
      readonly answered?: undefined
      readonly payment: Payment
      readonly connector: Connector
      readonly message: CaptureRequest
    }

/** Undefined: the merchant has no such payment. */
export async function capture(request: Capture, engine: Engine): Promise<OperationAnswer | undefined> {
  const { merchant, payId } = request
  const xId = newXId(engine)
  const begun = await engine.queue.update({ merchantId: merchant.merchantId, payId }, payment =>
    begin(payment, request, xId, engine),
  )
  if (!begun) return undefined
  if (begun.answered) return begun.answered
  await engine.testCrash('afterRecord')
  const outcome = await ask(begun, engine)
  engine.onOutcome('CAPTURE', outcome.kind)
  await engine.testCrash('afterCall')
  const answer = await recordOutcome({ merchant, payment: begun.payment, xId, outcome }, engine)
  await engine.testCrash('afterSettle')
  return answer
}

/** The first commit: reserve and record, or refuse and remember the refusal with its key. */
function begin(payment: Payment, request: Capture, xId: XId, engine: Engine): Step<Begun> {
  const { merchant, command, key } = request
  const begun = findOperation(payment, xId)
  if (begun) return resume(payment, request, begun, engine)
  const now = merchantNow(engine.clock, merchant)
  const decision = decideCapture(payment, command, now)
  const connector = engine.connectors.find(payment.method)
  if (!decision.accepted || !connector?.capture || !connector.prepareCapture) {
    const refused = answerRefusal(decision.accepted ? 'NO_CONNECTOR' : decision.refusal, {
      payId: payment.payId,
      merchantId: payment.merchantId,
      transId: command.transId,
      xId,
      refNr: command.refNr,
      metadata: command.metadata,
    })
    return key
      ? {
          alongside: { key: { ...key, merchantId: merchant.merchantId, answer: refused } },
          result: { answered: refused },
        }
      : { result: { answered: refused } }
  }
  const question = questionOf(payment, command, { xId, now })
  const prepared = connector.prepareCapture(question, payment.operations[0]?.prepared ?? {})
  const next = reserveCapture(payment, command, { xId, prepared, key: keyReference(key), now })
  const row = keyRow(key, merchant, payment, xId)
  return {
    next,
    ...(row ? { alongside: { key: row } } : {}),
    result: { payment: next, connector, message: { ...question, prepared } },
  }
}

/**
 * The first commit was done although its answer was lost. Reserving again would take twice, so only the call is left,
 * unless somebody else has settled the operation by now.
 */
function resume(payment: Payment, request: Capture, operation: Operation, engine: Engine): Step<Begun> {
  const connector = engine.connectors.find(payment.method)
  if (operation.state !== 'SENT' || !connector) {
    return { result: { answered: answerOperation(payment, operation.xId) } }
  }
  const question = questionOf(payment, request.command, { xId: operation.xId, now: operation.createdAt })
  return { result: { payment, connector, message: { ...question, prepared: operation.prepared } } }
}

const questionOf = (payment: Payment, command: CaptureCommand, { xId, now }: { xId: XId; now: Date }) => ({
  merchantId: payment.merchantId,
  payId: payment.payId,
  reference: xId,
  amount: command.amount,
  simulationMode: command.simulationMode,
  at: now,
  ...authorizationOf(payment),
})

function authorizationOf(payment: Payment): {
  authorizationReference: XId
  authorizationTransactionId?: string
} {
  const [authorization] = payment.operations
  if (!authorization) throw new Error(`payment ${payment.payId} has no authorisation`)
  return {
    authorizationReference: authorization.xId,
    authorizationTransactionId: findOperation(payment, authorization.xId)?.provider?.transactionId,
  }
}

async function ask(begun: Extract<Begun, { payment: Payment }>, engine: Engine): Promise<Outcome> {
  const { connector, message } = begun
  const context: CallContext = {
    question: { operation: 'CAPTURE', reference: message.reference, amount: message.amount },
    engine,
  }
  const unheard: Outcome = { kind: 'unknown' }
  const send = async () => (connector.capture ? connector.capture(message) : unheard)
  return believe(await callProvider(send, outcome => outcome, unheard, context), context)
}
