/**
 * The first commit of every operation that asks a provider: it is recorded once, and the provider is asked afterwards. The
 * answer to that commit may be lost although it was done; then only the question is left to ask.
 */
import type { OpenedAccount } from '#connectors/directory.ts'
import { approvingOperation, findOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import type { Step } from '#operations/payments/payment-queue.ts'
import { toQuestion } from '#operations/payments/question.ts'

export interface Beginning<Begun> {
  /** How the operation is known again, should its commit be lost from sight. */
  readonly isIt: (operation: Operation) => boolean
  /** Records the operation, or refuses. Recording again would take twice, so it is done only where it was not done before. */
  readonly record: () => Step<Begun> | Promise<Step<Begun>>
  /** The operation is recorded and has no answer: what is left to send. */
  readonly resume: (operation: Operation) => Begun | Promise<Begun>
  /** Somebody else has settled the recorded operation by now. */
  readonly settled: (operation: Operation) => Begun
}

export async function beginOnce<Begun>(
  payment: Payment,
  { isIt, record, resume, settled }: Beginning<Begun>,
): Promise<Step<Begun>> {
  const recorded = payment.operations.find(isIt)
  if (!recorded) return record()
  return { result: recorded.state === 'SENT' ? await resume(recorded) : settled(recorded) }
}

/** The payment with what the connector wants to have kept with an operation that follows an approval. */
export async function withKept(
  payment: Payment,
  xId: Operation['xId'],
  { connector, accountId }: OpenedAccount,
): Promise<Payment> {
  const operation = findOperation(payment, xId)
  if (!operation) throw new Error(`operation ${xId} is not of payment ${payment.payId}`)
  const approval = approvingOperation({
    ...payment,
    operations: payment.operations.filter(other => other !== operation),
  }).prepared
  const kept = await connector.keep?.({ request: toQuestion(payment, operation), approval })
  const prepared = operation.type === 'CONFIRM' ? { ...kept, account: accountId } : { ...kept }
  return {
    ...payment,
    operations: payment.operations.map(other => (other === operation ? { ...operation, prepared } : other)),
  }
}
