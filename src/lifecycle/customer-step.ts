/** What a payment looks like while its customer has to act: on a page of the provider, at a till, at their bank. */
import { customerDeadline, stepCode } from '#lifecycle/create.ts'
import type {
  CustomerAction,
  CustomerActionOutcome,
  ProviderFacts,
  StoredAction,
} from '#lifecycle/outcome.ts'
import { type CustomerStep, type Operation, type Payment, sentAt } from '#lifecycle/payment.ts'

/** The provider was asked and goes on once the customer has acted. */
export function awaitAction(
  payment: Payment,
  operation: Operation,
  outcome: CustomerActionOutcome,
  now: Date,
): Payment {
  const step = stepOf(outcome.action)
  const prepared = { ...operation.prepared, step }
  const waiting: Operation = {
    ...operation,
    state: 'AUTHORIZE_REQUEST',
    responseCode: stepCode(prepared),
    prepared,
    provider: withAction(outcome),
    updatedAt: now,
  }
  return {
    ...payment,
    status: 'AUTHORIZE_REQUEST',
    awaits: 'CUSTOMER',
    expiresAt: deadlineOf(payment, operation, outcome.action),
    operations: payment.operations.map(other => (other.xId === waiting.xId ? waiting : other)),
    updatedAt: now,
    version: payment.version + 1,
  }
}

const stepOf = (action: CustomerAction): CustomerStep => {
  if (action.type === 'instructions') return 'instructions'
  return action.challenge ? 'challenge' : 'page'
}

/** A voucher needs more time than a screen; a deadline that the merchant has set stays. */
function deadlineOf(payment: Payment, operation: Operation, action: CustomerAction): Date | undefined {
  const { details, expiresAt, method } = payment
  if (expiresAt && (details.expirationTime !== undefined || action.type !== 'instructions')) return expiresAt
  const told = action.type === 'instructions' ? action.instructions.deadline : undefined
  return told ?? customerDeadline(method, sentAt(operation))
}

/** What the customer goes by is shown by the names of the contract. */
function withAction({ action, provider, expiresAt }: CustomerActionOutcome): ProviderFacts {
  if (action.type === 'redirect') {
    return { ...provider, action: { ...action, expiresAt: expiresAt?.toISOString() } }
  }
  const { instructions } = action
  const stored: StoredAction = {
    type: 'instructions',
    instructions: { ...instructions, deadline: instructions.deadline?.toISOString() },
    expiresAt: expiresAt?.toISOString(),
  }
  const { reference, iban, bic, bankName, accountHolderName } = instructions
  const account = iban === undefined ? undefined : { number: iban, code: bic, bankName, accountHolderName }
  return {
    ...provider,
    fields: { paymentReference: reference, account, ...provider.fields },
    action: stored,
  }
}

/** What the customer of a waiting operation has to do; undefined once it was done. */
export const openAction = ({ prepared, provider }: Operation): StoredAction | undefined =>
  prepared.step === undefined ? undefined : provider?.action
