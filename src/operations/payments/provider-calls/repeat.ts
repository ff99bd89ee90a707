/**
 * Repeats a request under the same idempotency key, for providers that then return their first answer. Never with a
 * card: its security code was not stored, so the repetition would be a different request, and a card is never sent
 * twice.
 */
import type { AuthorizationOutcome, Connector } from '#connectors/contract.ts'
import type { Operation, OperationType, Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import {
  credentialUse,
  findsBack,
  returnAddressOf,
  toContext,
} from '#operations/payments/provider-calls/payment-context.ts'
import { toConfirm, toFollowUp, toQuestion } from '#operations/payments/provider-calls/question.ts'

type Repeat = (signal: AbortSignal) => Promise<AuthorizationOutcome>

/** The connector's function for each operation; undefined for operations that cannot be repeated. */
const sends: Readonly<
  Record<OperationType, 'authorize' | 'capture' | 'reverse' | 'refund' | 'increment' | undefined>
> = {
  AUTHORIZATION: 'authorize',
  CONFIRM: 'authorize',
  CAPTURE: 'capture',
  REVERSAL: 'reverse',
  REFUND: 'refund',
  INCREMENTAL: 'increment',
  // Always sent with a card or an account.
  CREDIT: undefined,
  // Made by the customer's bank, never sent by us.
  RETURN: undefined,
}

/** Undefined if the request cannot be rebuilt from the stored data. */
export function repeatOf(
  payment: Payment,
  operation: Operation,
  connector: Connector,
  engine: Pick<Engine, 'returnAddress'>,
): Repeat | undefined {
  const send = sends[operation.type]
  if (send === undefined) return undefined
  if (send !== 'authorize') {
    const ask = connector[send]
    const question = toFollowUp(payment, operation)
    return ask && (async signal => ({ authorization: await ask({ ...question, send: 1 }, signal) }))
  }
  // A card or account would have to come from the vault, and data that was sent once was never stored.
  if (payment.instrument || payment.account || operation.prepared.sentOnce) return undefined
  const question =
    operation.type === 'CONFIRM' ? toConfirm(payment, operation) : toAuthorization(payment, operation, engine)
  return signal => connector.authorize({ ...question, send: 1 }, signal)
}

const toAuthorization = (payment: Payment, operation: Operation, engine: Pick<Engine, 'returnAddress'>) => ({
  ...toQuestion(payment, operation),
  payment: toContext(payment, { returnUrl: returnAddressOf(payment, operation.xId, engine) }),
  captureReference: payment.captureMethod.type === 'AUTOMATIC' ? operation.details.captureXId : undefined,
  credentialOnFile: credentialUse(payment),
  customerPresent: findsBack(payment),
})
