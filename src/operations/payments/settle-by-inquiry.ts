/** Asking what became of an operation that has no answer: a lost reply, a timeout, or a process that died in between. */
import type { AuthorizationOutcome, Connector } from '#connectors/contract.ts'
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { findOperation, isUnanswered, type Operation, type Payment, sentAt } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { callForOutcome } from '#operations/payments/call-provider.ts'
import { recordOutcome } from '#operations/payments/record-outcome.ts'

export interface UnansweredOperation {
  readonly merchant: Merchant
  readonly payId: PayId
  readonly xId: XId
  /** Number of this inquiry, from 0. */
  readonly inquiry: number
  /** The merchant's time at which it was due; now unless given. */
  readonly at?: Date
}

/** Returns whether there was still something to ask. */
export async function settleByInquiry(unanswered: UnansweredOperation, engine: Engine): Promise<boolean> {
  const { merchant, payId, xId, inquiry, at } = unanswered
  const payment = await engine.payments.byPayId(merchant.merchantId, payId)
  const operation = payment && findOperation(payment, xId)
  if (!payment || !operation || !isUnanswered(operation)) {
    await engine.commit({ dropTimers: [{ merchantId: merchant.merchantId, payId, xId, kind: 'INQUIRY' }] })
    return false
  }
  const connector = engine.connectors.find(payment.method)
  const subject = { payment, operation, now: at ?? merchantNow(engine.clock, merchant) }
  const outcome = connector ? await inquireAll(subject, connector, engine) : { kind: 'unknown' as const }
  await recordOutcome({ merchant, payment, xId, outcome, inquiry, at }, engine)
  return true
}

interface Subject {
  readonly payment: Payment
  readonly operation: Operation
  /** The merchant's time. */
  readonly now: Date
}

/** An approval that was to capture in the same message is asked about both halves. */
async function inquireAll(
  subject: Subject,
  connector: Connector,
  engine: Engine,
): Promise<AuthorizationOutcome | Outcome> {
  const { operation } = subject
  const outcome = await inquire(
    { ...subject, type: operation.type, reference: operation.xId },
    connector,
    engine,
  )
  const { captureXId } = operation.details
  if (!captureXId || outcome.kind !== 'approved') return outcome
  const capture = await inquire({ ...subject, type: 'CAPTURE', reference: captureXId }, connector, engine)
  return { authorization: outcome, capture }
}

async function inquire(
  about: Subject & { readonly type: Operation['type']; readonly reference: XId },
  connector: Connector,
  engine: Engine,
): Promise<Outcome> {
  const amount = { value: about.operation.amount, currency: about.payment.amount.currency }
  const question = { operation: about.type, reference: about.reference, amount }
  const { merchantId, payId, method } = about.payment
  const inquiry = { ...question, merchantId, payId, method, prepared: about.operation.prepared }
  const outcome = await callForOutcome(() => connector.inquire(inquiry), { question, engine })
  // "Not received" is certain only after the provider's own settling time; before that it may still be on its way.
  if (outcome.kind !== 'unreached') return outcome
  const ageMs = about.now.getTime() - sentAt(about.operation).getTime()
  return ageMs >= connector.facts.settleTimeMs ? outcome : { kind: 'unknown' }
}
