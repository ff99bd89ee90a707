/** Decides which fields of a payment the merchant may still change, and changes them. */
import { accept, type Decision, refuse } from '#lifecycle/decision.ts'
import type { SentDetails } from '#lifecycle/details.ts'
import { lacksOutcome, type Payment } from '#lifecycle/payment.ts'

export interface UpdateCommand {
  readonly transId?: string
  readonly amount?: { readonly value: number; readonly currency: string; readonly [detail: string]: unknown }
  readonly refNr?: string
  readonly order?: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>>
}

/**
 * transId and amount can change only while the payment waits for its customer or confirm; the other fields always can.
 */
export function decideUpdate(payment: Payment, command: UpdateCommand): Decision {
  if (command.amount !== undefined && lacksOutcome(payment)) return refuse('OUTCOME_OUTSTANDING')
  const begun = payment.status !== 'AUTHORIZE_REQUEST'
  if (begun && (command.transId !== undefined || command.amount !== undefined)) return refuse('NOT_UPDATABLE')
  if (command.amount !== undefined && hasAcceptedConversion(payment)) return refuse('NOT_UPDATABLE')
  return exceedsApproval(payment, command) ? refuse('NOT_UPDATABLE') : accept
}

/** The cardholder has accepted an amount in their own currency, and that try still waits for an answer. */
const hasAcceptedConversion = ({ instrument, operations }: Payment): boolean =>
  instrument?.dcc?.accepted === true &&
  operations.some(({ type, state }) => type === 'AUTHORIZATION' && state === 'AUTHORIZE_REQUEST')

/** The customer has approved this amount on a hosted page and left, so the confirm must not charge more. */
const exceedsApproval = (
  { awaits, integrationType, amount: approved }: Payment,
  { amount }: UpdateCommand,
): boolean =>
  awaits === 'CONFIRM' &&
  integrationType === 'HOSTED' &&
  amount !== undefined &&
  (amount.value > approved.value || amount.currency !== approved.currency)

export function update(payment: Payment, command: UpdateCommand, now: Date): Payment {
  const { value, currency, ...amountDetails } = command.amount ?? payment.amount
  const { transId = payment.transId, refNr = payment.refNr } = command
  return {
    ...payment,
    transId,
    refNr,
    amount: { value, currency },
    details: {
      ...payment.details,
      ...(command.amount ? { amount: amountDetails } : {}),
      ...merged('order', payment, command),
      ...merged('metadata', payment, command),
    },
    // The operation that is not sent yet takes the new transId: another payment may have the old one by then.
    operations: payment.operations.map(operation =>
      operation.state === 'AUTHORIZE_REQUEST' ? { ...operation, amount: value, transId, refNr } : operation,
    ),
    updatedAt: now,
    version: payment.version + 1,
  }
}

function merged(field: 'order' | 'metadata', payment: Payment, command: UpdateCommand): SentDetails {
  const given = command[field]
  return given ? { [field]: { ...payment.details[field], ...given } } : {}
}
