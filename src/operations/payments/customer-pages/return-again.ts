/**
 * Handles a customer's second return from a provider's page, when the first decided nothing: it carried no result, a
 * wrong one, or the provider could not be reached. Some providers complete a payment only with the data of the return.
 */
import type { AuthorizationOutcome, PageReturn } from '#connectors/contract.ts'
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { findOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import type { Engine } from '#operations/engine.ts'
import { verifyBoth } from '#operations/payments/authorize.ts'
import { callProvider } from '#operations/payments/provider-calls/call-provider.ts'
import { toInquiry } from '#operations/payments/provider-calls/payment-context.ts'
import { recordIfFirst } from '#operations/payments/provider-calls/record-outcome.ts'

export interface SecondReturn {
  readonly merchant: Merchant
  readonly payId: PayId
  /** The try whose page the customer returns from. */
  readonly xId: XId
  readonly returned: PageReturn
}

/** Records the provider's answer if it decides the payment or gives the customer another step. */
export async function returnAgain(
  { merchant, payId, xId, returned }: SecondReturn,
  engine: Engine,
): Promise<void> {
  const brings = Object.keys({ ...returned.query, ...returned.form }).length > 0
  const payment = brings ? await engine.payments.byPayId(merchant.merchantId, payId) : undefined
  const operation = payment && findOperation(payment, xId)
  // SENT means that a call is under way; do not make a second one.
  if (payment?.status !== 'PENDING' || operation?.state !== 'PENDING') return
  const outcome = await askWith(returned, { payment, operation }, engine)
  if (!outcome || !decides(outcome)) return
  await recordIfFirst({ merchant, payment, xId, outcome, inquiry: 0 }, engine)
}

const unknown: AuthorizationOutcome = { authorization: { kind: 'unknown' } }

async function askWith(
  returned: PageReturn,
  { payment, operation }: { readonly payment: Payment; readonly operation: Operation },
  engine: Engine,
): Promise<AuthorizationOutcome | undefined> {
  const account = await engine.providers.open(payment.merchantId, operation.prepared.account)
  const { connector, accountId, waitMs } = account ?? {}
  if (!connector?.complete || connector.readReturn || accountId === undefined) return undefined
  const { complete, facts } = connector
  const captureReference =
    payment.captureMethod.type === 'AUTOMATIC' ? operation.details.captureXId : undefined
  const inquiry = { ...toInquiry(payment, operation), ...returned, captureReference }
  const question = { operation: operation.type, reference: operation.xId, amount: inquiry.amount }
  const context = { question, timeoutMs: facts.timeoutMs, waitMs, engine }
  const answer = await callProvider<AuthorizationOutcome>(
    {
      ask: (_, signal) => complete(inquiry, signal),
      outcomeOf: ({ authorization }) => authorization,
      withoutAnswer: unknown,
    },
    context,
  )
  return verifyBoth(answer, captureReference, context)
}

/** A decline because the provider refused our call (its credentials, for example) says nothing about the payment. */
const decides = ({ authorization }: AuthorizationOutcome): boolean =>
  authorization.kind === 'approved' ||
  authorization.kind === 'action' ||
  (authorization.kind === 'declined' && !authorization.callRefused)
