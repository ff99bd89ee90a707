/** What all operations on an existing payment share: the command, and the operation record made from it. */
import type { XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import type {
  KeyReference,
  NewOperation,
  OperationDetails,
  OperationType,
  Prepared,
} from '#lifecycle/payment.ts'
import type { Hints } from '#schemas/parts/hints.ts'

export interface FollowUpCommand {
  readonly transId: string
  readonly refNr?: string
  readonly amount: Money
  readonly metadata?: Readonly<Record<string, unknown>>
  /** Fields that only connectors read. Stored with the operation under their API names. */
  readonly hints?: Hints
  /** The request's method objects, as sent. Only the object of the payment's own method is used. */
  readonly objects?: Readonly<Record<string, unknown>>
  /** Request fields that are stored. They never hold card data. */
  readonly details: Readonly<Record<string, unknown>>
}

/** What the engine adds to a command before it is recorded. */
export interface Recording {
  readonly xId: XId
  readonly prepared: Prepared
  readonly key?: KeyReference
  readonly now: Date
}

export function toOperation(
  type: OperationType,
  command: FollowUpCommand,
  { xId, prepared, key }: Recording,
  details: OperationDetails = {},
): NewOperation {
  const { transId, refNr, amount, metadata, hints } = command
  return {
    xId,
    type,
    amount: amount.value,
    transId,
    refNr,
    prepared,
    details: { ...command.details, ...details, metadata, ...hints },
    key,
  }
}
