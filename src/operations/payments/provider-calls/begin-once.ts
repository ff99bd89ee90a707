/**
 * The first commit of every operation that calls a provider: the operation is recorded once, then the provider is
 * called. If the commit succeeded but its answer was lost, only the call is left to make.
 */
import type { OpenedAccount } from '#connectors/directory.ts'
import { approvingOperation, findOperation, type Operation, type Payment } from '#lifecycle/payment.ts'
import type { Step } from '#operations/payments/payment-queue.ts'
import { toConfirm, toQuestion } from '#operations/payments/provider-calls/question.ts'

export interface Beginning<Begun> {
  /** Recognises the operation if the answer to its commit was lost. */
  readonly isIt: (operation: Operation) => boolean
  /**
   * Records the operation, or refuses. It runs only if the operation is not recorded yet, because recording twice would
   * take the money twice.
   */
  readonly record: () => Step<Begun> | Promise<Step<Begun>>
  /** Builds the call for an operation that is recorded and has no answer. */
  readonly resume: (operation: Operation) => Begun | Promise<Begun>
  /** Another process has settled the recorded operation by now. */
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

/** For a step that called `keep`: tells the connector if the step was not recorded. */
export const releasing =
  ({ merchantId }: Payment, reference: Operation['xId'], { connector }: Pick<OpenedAccount, 'connector'>) =>
  async (): Promise<void> =>
    connector.release?.({ merchantId, reference })

/** The payment with the data that the connector wants to store with a follow-up operation. */
export async function withKept(
  payment: Payment,
  xId: Operation['xId'],
  { connector, accountId }: OpenedAccount,
): Promise<Payment> {
  const operation = findOperation(payment, xId)
  if (!operation) throw new Error(`operation ${xId} does not belong to payment ${payment.payId}`)
  const approval = approvingOperation({
    ...payment,
    operations: payment.operations.filter(other => other !== operation),
  }).prepared
  // A confirm may capture in the same message, so the connector must know of the capture when it decides what to keep.
  const isConfirm = operation.type === 'CONFIRM'
  const request = isConfirm ? toConfirm(payment, operation) : toQuestion(payment, operation)
  const kept = await connector.keep?.({ request, approval })
  const prepared = isConfirm ? { ...kept, account: accountId } : { ...kept }
  return {
    ...payment,
    operations: payment.operations.map(other => (other === operation ? { ...operation, prepared } : other)),
  }
}
