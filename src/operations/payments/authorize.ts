/** Asking a provider to approve a payment that is recorded as SENT, and recording what it said. Every flow ends here. */
import type { AuthorizationOutcome, AuthorizationRequest, Connector } from '#connectors/contract.ts'
import type { XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { believe, type CallContext, callProvider } from '#operations/payments/call-provider.ts'
import { recordOutcome } from '#operations/payments/record-outcome.ts'

export interface Authorization {
  readonly merchant: Merchant
  readonly payment: Payment
  readonly connector: Connector
  readonly message: Omit<AuthorizationRequest, 'send'>
  readonly unattended?: boolean
  /** The merchant's time at which this happens; now unless given. */
  readonly at?: Date
}

export async function authorize(authorization: Authorization, engine: Engine): Promise<OperationAnswer> {
  const { merchant, payment, connector, message, unattended, at } = authorization
  const { operation, reference, amount } = message
  const context: CallContext = { question: { operation, reference, amount }, engine }
  const heard = await callProvider<AuthorizationOutcome>(
    {
      ask: send => connector.authorize({ ...message, send }),
      outcomeOf: said => said.authorization,
      unheard: { authorization: { kind: 'unknown' } },
    },
    context,
  )
  const outcome = believeBoth(heard, message.captureReference, context)
  engine.onOutcome(operation, outcome.authorization.kind)
  if (outcome.capture) engine.onOutcome('CAPTURE', outcome.capture.kind)
  await engine.testCrash('afterCall')
  const answer = await recordOutcome({ merchant, payment, xId: reference, outcome, unattended, at }, engine)
  await engine.testCrash('afterSettle')
  return answer
}

/** A capture that was asked for and not answered is unknown, never forgotten. */
function believeBoth(
  heard: AuthorizationOutcome,
  captureReference: XId | undefined,
  context: CallContext,
): AuthorizationOutcome {
  const authorization = believe(heard.authorization, context)
  if (!captureReference || authorization.kind !== 'approved') return { authorization }
  const question = { ...context.question, operation: 'CAPTURE', reference: captureReference }
  return { authorization, capture: believe(heard.capture ?? { kind: 'unknown' }, { ...context, question }) }
}
