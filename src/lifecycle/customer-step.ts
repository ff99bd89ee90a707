/** The payment while its customer must act: on a page of the provider, at a till or at their bank. */
import type { XId } from '#domain/ids.ts'
import { cancelledCode } from '#domain/response-codes.ts'
import { customerDeadline, stepCode } from '#lifecycle/create.ts'
import type {
  CustomerAction,
  CustomerActionOutcome,
  ProviderFacts,
  StoredAction,
} from '#lifecycle/outcome.ts'
import { type CustomerStep, type Operation, openTry, type Payment, sentAt } from '#lifecycle/payment.ts'

/** Stores the provider's answer that the customer must act before it decides. */
export function awaitAction(
  payment: Payment,
  operation: Operation,
  outcome: CustomerActionOutcome,
  now: Date,
): Payment {
  if (isSameAction(operation, outcome)) return payment
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

/**
 * Paying a voucher or a transfer takes longer than approving on a page, so the deadline of the instructions replaces the
 * shorter one of the page, unless the merchant has set a deadline.
 */
function deadlineOf(payment: Payment, operation: Operation, action: CustomerAction): Date | undefined {
  const { details, expiresAt, method } = payment
  if (expiresAt && (details.expirationTime !== undefined || action.type !== 'instructions')) return expiresAt
  const shownDeadline = action.type === 'instructions' ? action.instructions.deadline : undefined
  return shownDeadline ?? customerDeadline(method, sentAt(operation))
}

/** The provider's facts together with the stored action. Instructions are also stored under the API's field names. */
function withAction({ action, provider, expiresAt }: CustomerActionOutcome): ProviderFacts {
  if (action.type === 'redirect') {
    return { ...provider, action: { ...action, expiresAt: expiresAt?.toISOString() } }
  }
  const { instructions } = action
  const stored: StoredAction = {
    type: 'instructions',
    instructions: { ...instructions, deadline: instructions.deadline?.toISOString() },
    testUrl: action.testUrl,
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

/**
 * Whether the provider asks for the same step as before, so that nothing changes. A transfer that was paid in part is
 * PENDING and keeps its instructions.
 */
function isSameAction({ state, provider }: Operation, { action }: CustomerActionOutcome): boolean {
  const isOpen = state === 'AUTHORIZE_REQUEST' || (state === 'PENDING' && action.type === 'instructions')
  const known = isOpen ? provider?.action : undefined
  if (known?.type !== action.type) return false
  return action.type === 'instructions' || (known.type === 'redirect' && known.url === action.url)
}

/** Fails a try that the customer abandoned and the provider cancelled, so that another try may follow. */
export function abandonTry(payment: Payment, xId: XId, now: Date): Payment | undefined {
  const waiting = openTry(payment)
  if (waiting?.xId !== xId) return undefined
  const responseCode = cancelledCode(payment.method.family)
  const left: Operation = { ...waiting, state: 'FAILED', responseCode, updatedAt: now }
  return {
    ...payment,
    status: 'AUTHORIZE_REQUEST',
    operations: payment.operations.map(other => (other.xId === xId ? left : other)),
    updatedAt: now,
    version: payment.version + 1,
  }
}

/** Five minutes, because clocks differ, and because a payment that ends with its page leaves no time for a new page. */
const pageMarginMs = 5 * 60 * 1000

/**
 * The payment after its provider's page expired unpaid: it keeps waiting, and the next visit opens a new page.
 * Undefined if the payment ends with the page, or if a card or account was sent with it, because those are never sent
 * twice.
 */
export function endPage(payment: Payment, operation: Operation, now: Date): Payment | undefined {
  const { action } = operation.provider ?? {}
  const { expiresAt, instrument, account } = payment
  if (action?.type !== 'redirect' || action.challenge || instrument || account || !expiresAt) return undefined
  const pageEndMs = Math.max(now.getTime(), Date.parse(action.expiresAt ?? now.toISOString()))
  if (expiresAt.getTime() <= pageEndMs + pageMarginMs) return undefined
  if (action.hasEnded && operation.state === 'AUTHORIZE_REQUEST') return payment
  const prepared = { ...operation.prepared, step: 'page' as const }
  const waiting: Operation = {
    ...operation,
    state: 'AUTHORIZE_REQUEST',
    responseCode: stepCode(prepared),
    prepared,
    provider: operation.provider && { ...operation.provider, action: { ...action, hasEnded: true } },
    updatedAt: now,
  }
  return {
    ...payment,
    status: 'AUTHORIZE_REQUEST',
    awaits: 'CUSTOMER',
    operations: payment.operations.map(other => (other.xId === waiting.xId ? waiting : other)),
    updatedAt: now,
    version: payment.version + 1,
  }
}

/** What the customer of a waiting operation must do; undefined once they have done it. */
export const openAction = ({ prepared, provider }: Operation): StoredAction | undefined =>
  prepared.step === undefined ? undefined : provider?.action
