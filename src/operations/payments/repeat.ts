/**
 * Sending a request a second time under the same key, for providers that then return their first answer. Never with a card:
 * its security code was not kept, so the repetition would be another request, and a card is never sent twice.
 */
import type { AuthorizationOutcome, Connector } from '#connectors/contract.ts'
import type { Operation, Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { credentialUse, findsBack, returnAddressOf, toContext } from '#operations/payments/payment-context.ts'
import { toConfirm, toFollowUp, toQuestion } from '#operations/payments/question.ts'

type Repeat = (signal: AbortSignal) => Promise<AuthorizationOutcome>

/** Undefined if the request cannot be rebuilt from the stored data. */
export function repeatOf(
  payment: Payment,
  operation: Operation,
  connector: Connector,
  engine: Pick<Engine, 'returnAddress'>,
): Repeat | undefined {
  switch (operation.type) {
    case 'AUTHORIZATION':
    case 'CONFIRM': {
      // Everything else that was sent is in the vault or was never stored.
      if (payment.instrument || payment.account || operation.prepared.sentOnce) return undefined
      const question =
        operation.type === 'CONFIRM'
          ? toConfirm(payment, operation)
          : toAuthorization(payment, operation, engine)
      return signal => connector.authorize({ ...question, send: 1 }, signal)
    }
    case 'CAPTURE':
    case 'REVERSAL':
    case 'REFUND':
    case 'INCREMENTAL': {
      const ask = connector[sends[operation.type]]
      const question = toFollowUp(payment, operation)
      return ask && (async signal => ({ authorization: await ask({ ...question, send: 1 }, signal) }))
    }
    default:
      return undefined
  }
}

const sends = {
  CAPTURE: 'capture',
  REVERSAL: 'reverse',
  REFUND: 'refund',
  INCREMENTAL: 'increment',
} as const

const toAuthorization = (payment: Payment, operation: Operation, engine: Pick<Engine, 'returnAddress'>) => ({
  ...toQuestion(payment, operation),
  payment: toContext(payment, { returnUrl: returnAddressOf(payment, operation.xId, engine) }),
  captureReference: payment.captureMethod.type === 'AUTOMATIC' ? operation.details.captureXId : undefined,
  credentialOnFile: credentialUse(payment),
  customerPresent: findsBack(payment),
})
