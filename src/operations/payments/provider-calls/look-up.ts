/** Asks a provider for the outcome of an operation, and of the capture that was sent with it. Has no effect there. */
import type { AuthorizationOutcome, Connector } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import type { Outcome } from '#lifecycle/outcome.ts'
import { type Operation, type Payment, sentAt } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { verifyBoth } from '#operations/payments/authorize.ts'
import { callProvider } from '#operations/payments/provider-calls/call-provider.ts'
import { toInquiry } from '#operations/payments/provider-calls/payment-context.ts'

export interface Subject {
  readonly payment: Payment
  readonly operation: Operation
  /** The merchant's time. */
  readonly now: Date
  /** Defaults to the provider's timeout. */
  readonly timeoutMs?: number
}

const unknown: Outcome = { kind: 'unknown' }

/** Queries the operation, and the capture if one was sent in the same message. */
export async function lookUp(
  subject: Subject,
  connector: Connector,
  engine: Engine,
): Promise<AuthorizationOutcome> {
  const { operation, payment } = subject
  const { captureXId } = operation.details
  const outcome = await inquire(
    { ...subject, type: operation.type, reference: operation.xId },
    connector,
    engine,
  )
  if (!captureXId || outcome.authorization.kind !== 'approved' || payment.captureMethod.type !== 'AUTOMATIC')
    return { authorization: outcome.authorization }
  if (outcome.capture) return outcome
  const capture = await inquire({ ...subject, type: 'CAPTURE', reference: captureXId }, connector, engine)
  return { ...outcome, capture: capture.authorization.kind === 'action' ? unknown : capture.authorization }
}

async function inquire(
  about: Subject & { readonly type: Operation['type']; readonly reference: XId },
  connector: Connector,
  engine: Engine,
): Promise<AuthorizationOutcome> {
  const { payment, operation, type, reference, timeoutMs = connector.facts.timeoutMs } = about
  if (!connector.inquire) return { authorization: unknown }
  const inquiry = toInquiry(payment, operation, { type, reference })
  const question = { operation: type, reference, amount: inquiry.amount }
  const context = { question, timeoutMs, engine }
  const answer = await callProvider<AuthorizationOutcome>(
    {
      ask: async (_, signal) => connector.inquire?.(inquiry, signal) ?? { authorization: unknown },
      outcomeOf: () => unknown,
      withoutAnswer: { authorization: unknown },
    },
    context,
  )
  const outcome = verifyLookUp(answer, operation.details.captureXId, context)
  // "Not received" is certain only after the provider's own settling time; before that it may still be on its way.
  if (outcome.authorization.kind !== 'unreached') return outcome
  const ageMs = about.now.getTime() - sentAt(operation).getTime()
  return ageMs >= (connector.facts.lostAnswer.lookUpSettledMs ?? Infinity)
    ? outcome
    : { authorization: unknown }
}

/** Checks the capture only if the provider reported it; otherwise the capture gets an inquiry of its own. */
const verifyLookUp = (
  answer: AuthorizationOutcome,
  captureXId: XId | undefined,
  context: Parameters<typeof verifyBoth>[2],
): AuthorizationOutcome => verifyBoth(answer, answer.capture ? captureXId : undefined, context)
