/** Repeats an authorisation at the next account, as a new operation, if its provider certainly never received it. */
import type { XId } from '#domain/ids.ts'
import { unreachedCode } from '#domain/response-codes.ts'
import {
  findOperation,
  type Payment,
  type PaymentProvider,
  type Prepared,
  withOperation,
} from '#lifecycle/payment.ts'

export interface NextAccount {
  /** The operation that the provider never received. */
  readonly unreached: XId
  readonly xId: XId
  readonly captureXId?: XId
  readonly provider?: PaymentProvider
  readonly prepared: Prepared
  readonly now: Date
}

/** Undefined: the operation has got an answer meanwhile. */
export function failOver(payment: Payment, next: NextAccount): Payment | undefined {
  const { unreached, xId, captureXId, provider, prepared, now } = next
  const failed = findOperation(payment, unreached)
  if (failed?.state !== 'SENT') return undefined
  const { type, amount, transId, refNr, details, key } = failed
  // The new operation belongs to the same try of the customer, and sends the same data, which may not be stored.
  const { triedType, sentOnce } = failed.prepared
  const kept = {
    ...prepared,
    ...(triedType === undefined ? {} : { triedType }),
    ...(sentOnce === undefined ? {} : { sentOnce }),
  }
  const responseCode = unreachedCode(payment.method.family)
  const operations = payment.operations.map(operation =>
    operation === failed
      ? { ...failed, state: 'FAILED' as const, responseCode, key: undefined, updatedAt: now }
      : operation,
  )
  return withOperation(
    { ...payment, operations, provider },
    { xId, type, amount, transId, refNr, prepared: kept, details: { ...details, captureXId }, key },
    now,
  )
}
