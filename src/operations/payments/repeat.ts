/**
 * Sending a request a second time under the same key, for providers that then return their first answer. Never with a card:
 * its security code was not kept, so the repetition would be another request, and a card is never sent twice.
 */
import type { AuthorizationOutcome, Connector } from '#connectors/contract.ts'
import { add } from '#domain/money.ts'
import { approvingOperation, findOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { credentialUse, findsBack, returnAddressOf, toContext } from '#operations/payments/payment-context.ts'

type Repeat = (signal: AbortSignal) => Promise<AuthorizationOutcome>

/** Undefined where the request cannot be made again from what is stored. */
export function repeatOf(
  payment: Payment,
  operation: Operation,
  connector: Connector,
  engine: Pick<Engine, 'returnAddress'>,
): Repeat | undefined {
  const { xId, prepared, details } = operation
  const returnUrl = returnAddressOf(payment, xId, prepared.account, engine)
  const request = {
    operation: operation.type,
    reference: operation.xId,
    amount: { value: operation.amount, currency: payment.amount.currency },
    payment: toContext(payment, { details, returnUrl }),
    at: operation.createdAt,
    send: 1,
    kept: operation.prepared,
  }
  switch (operation.type) {
    case 'AUTHORIZATION':
    case 'CONFIRM': {
      // What was sent besides lies in the vault or was never kept.
      if (payment.instrument || payment.account || prepared.sentOnce) return undefined
      const whole = {
        ...request,
        captureReference: capturesAtOnce(payment) ? details.captureXId : undefined,
        credentialOnFile: credentialUse(payment),
        customerPresent: operation.type === 'AUTHORIZATION' && findsBack(payment),
      }
      return signal => connector.authorize(whole, signal)
    }
    case 'CREDIT':
      return undefined
    default:
      return repeatFollowUp(payment, operation, connector, request)
  }
}

const capturesAtOnce = ({ captureMethod }: Payment): boolean => captureMethod.type === 'AUTOMATIC'

const sends = {
  CAPTURE: 'capture',
  REVERSAL: 'reverse',
  REFUND: 'refund',
  INCREMENTAL: 'increment',
} as const satisfies Partial<Record<Operation['type'], keyof Connector>>

function repeatFollowUp(
  payment: Payment,
  { type, details, amount }: Operation,
  connector: Connector,
  request: Parameters<NonNullable<Connector['capture']>>[0] extends infer R
    ? Omit<R, 'authorizationReference' | 'newTotal'>
    : never,
): Repeat | undefined {
  const approval = approvingOperation(payment)
  const ask = connector[sends[type as keyof typeof sends]]
  if (!ask) return undefined
  const refunded = details.refundOf && findOperation(payment, details.refundOf)
  const { sums } = payment
  const totals = {
    CAPTURE: add(sums.captured, sums.capturing),
    REVERSAL: add(sums.reversed, sums.reversing),
    REFUND: add(sums.refunded, sums.refunding),
    INCREMENTAL: add(sums.authorized, amount),
  }
  const whole = {
    ...request,
    authorizationReference: approval.xId,
    authorizationTransactionId: approval.provider?.transactionId,
    authorization: approval.provider,
    captureReference: refunded?.xId,
    captureTransactionId: refunded?.provider?.transactionId,
    newTotal: totals[type as keyof typeof totals],
  }
  return async signal => ({ authorization: await ask(whole, signal) })
}
