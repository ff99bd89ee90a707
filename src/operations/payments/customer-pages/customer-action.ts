/**
 * Applies what the customer did on a page of the provider or of the card's issuer: approve, cancel, or leave it open.
 * Our pages call it with the step they showed; the test environment also calls it without a page.
 */
import type { AuthorizationOutcome, CustomerDecision, PageReturn } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Money } from '#domain/money/money.ts'
import { customerActionOutstanding, providerResultOutstanding } from '#domain/response-codes.ts'
import { isInTime } from '#lifecycle/attempt.ts'
import { endingSubject } from '#lifecycle/event.ts'
import { cancelRequest } from '#lifecycle/expiry.ts'
import { awaitsCustomer, lastOperation, type Operation, openTry, type Payment } from '#lifecycle/payment.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { emitEvent } from '#operations/events/emit-event.ts'
import { type Authorization, authorize } from '#operations/payments/authorize.ts'
import { attemptPayment } from '#operations/payments/customer-pages/attempt.ts'
import { endAction } from '#operations/payments/customer-pages/end-action.ts'
import { offerMethods } from '#operations/payments/customer-pages/offer.ts'
import type { Step } from '#operations/payments/payment-queue.ts'
import { beginOnce, releasing } from '#operations/payments/provider-calls/begin-once.ts'
import { toInquiry } from '#operations/payments/provider-calls/payment-context.ts'
import { convertAgain } from '#operations/quotes/redeem-quote.ts'

export type CustomerAction = CustomerDecision['action']

export interface CustomerStep {
  readonly merchant: Merchant
  readonly payId: PayId
  /** `return`: the customer is back from the provider's page; the provider knows the result. */
  readonly action: CustomerAction | 'return'
  /** The query and form with which the provider's page sent the browser back. */
  readonly returned?: PageReturn
  /** The try, the method and the amount that were shown; any unless given. */
  readonly shown?: { readonly xId: XId; readonly type: string; readonly amount?: Money }
}

type Result = {
  readonly found: true
  readonly authorization?: Authorization
}

/** Undefined: the merchant has no such payment. A payment that does not wait for its customer stays unchanged. */
export async function takeCustomerStep(step: CustomerStep, engine: Engine): Promise<Result | undefined> {
  const { merchant, payId } = step
  const ending = newXId(engine)
  if (step.action === 'cancel' && (await isPaid(step, engine))) return { found: true }
  const result = await engine.queue.update({ merchantId: merchant.merchantId, payId }, payment =>
    begin(payment, { ...step, ending }, engine),
  )
  if (!result?.authorization) return result
  await engine.testCrash('afterRecord')
  await authorize(result.authorization, engine)
  return result
}

/**
 * Handles a customer's return from a provider's page. Some pages report the customer's decision, which is returned; for
 * the others the provider is queried.
 */
export async function takeReturn(
  step: Omit<CustomerStep, 'action' | 'shown'> & {
    readonly returned: PageReturn
    readonly shown: NonNullable<CustomerStep['shown']>
  },
  engine: Engine,
): Promise<CustomerDecision | undefined> {
  const { merchant, payId, returned, shown } = step
  const payment = await engine.payments.byPayId(merchant.merchantId, payId)
  const account = payment && (await waitingAccount(payment, engine))
  if (!account) return undefined
  const { connector } = account
  if (!connector.readReturn) {
    await takeCustomerStep({ ...step, action: 'return' }, engine)
    return undefined
  }
  const decision = connector.readReturn(returned)
  // Reject a decision that was signed for another payment: a customer could replay it here.
  if (!decision || (decision.reference ?? shown.xId) !== shown.xId) return undefined
  const { action, amount } = decision
  await takeCustomerStep({ ...step, action, shown: { ...shown, amount } }, engine)
  return decision
}

/** The provider account of the open try. */
async function waitingAccount(payment: Payment, { providers }: Engine): Promise<OpenedAccount | undefined> {
  const waiting = openTry(payment)
  return waiting && providers.open(payment.merchantId, waiting.prepared.account)
}

/** Ends the provider's page before a customer cancels. Returns true if they have already paid there. */
async function isPaid({ merchant, payId }: CustomerStep, engine: Engine): Promise<boolean> {
  const payment = await engine.payments.byPayId(merchant.merchantId, payId)
  return payment?.provider !== undefined && (await endAction({ merchant, payment }, engine)) === 'paid'
}

/**
 * Simulates a customer without a browser: fills in the form with test data, and then takes the step. Undefined: the
 * merchant has no such payment.
 */
export async function actForCustomer(
  step: CustomerStep & { readonly action: CustomerAction },
  engine: Engine,
): Promise<true | undefined> {
  const { merchant, payId, action } = step
  const payment = await engine.payments.byPayId(merchant.merchantId, payId)
  if (!payment) return undefined
  if (needsForm(payment) && action !== 'cancel') await fillInForm(payment, step, engine)
  else await takeTestStep(payment, step, engine)
  return true
}

/** Takes a simulated customer's step with the data that the provider's page would have sent back with the browser. */
async function takeTestStep(
  payment: Payment,
  step: CustomerStep & { readonly action: CustomerAction },
  engine: Engine,
): Promise<void> {
  const account = await waitingAccount(payment, engine)
  const { returned } = account?.connector.sandbox?.customer?.(step.action) ?? {}
  await takeCustomerStep({ ...step, returned }, engine)
}

const needsForm = (payment: Payment): boolean =>
  payment.status === 'AUTHORIZE_REQUEST' &&
  payment.awaits === 'CUSTOMER' &&
  openTry(payment)?.prepared.step === undefined

async function fillInForm(
  payment: Payment,
  step: CustomerStep & { readonly action: CustomerAction },
  engine: Engine,
): Promise<void> {
  const { merchant, payId, action } = step
  const [offer] = await offerMethods(payment, merchant, engine)
  if (!offer) return
  const { method, account } = offer
  const { sandbox } = account.connector
  const instrument = sandbox?.instrument(method)
  // The connector has no test data for this method's form.
  if (!instrument && offer.form !== 'none') return
  const seenVersion = payment.version
  const { hints } = sandbox?.customer?.(action) ?? {}
  await attemptPayment({ merchant, payId, method, ...instrument, seenVersion, hints }, engine)
  const after = await engine.payments.byPayId(merchant.merchantId, payId)
  if (after && openTry(after)?.prepared.step !== undefined) await takeTestStep(after, step, engine)
}

function begin(
  payment: Payment,
  step: CustomerStep & { readonly ending: XId },
  engine: Engine,
): Promise<Step<Result>> {
  const { merchant, ending } = step
  const returned = step.returned ?? { query: {}, form: {} }
  return beginOnce<Result>(payment, {
    isIt: ({ prepared }) => prepared.decision === ending,
    record: () => record(payment, { ...step, returned }, engine),
    async resume({ prepared }) {
      const account = await engine.providers.open(payment.merchantId, prepared.account)
      return account ? toSending(payment, { merchant, account, returned }) : { found: true }
    },
    settled: () => ({ found: true }),
  })
}

async function record(
  payment: Payment,
  { merchant, action, shown, ending, returned }: CustomerStep & Pick<Sending, 'ending' | 'returned'>,
  engine: Engine,
): Promise<Step<Result>> {
  const now = merchantNow(engine.clock, merchant)
  const found: Step<Result> = { result: { found: true } }
  const waiting = openTry(payment)
  if (!awaitsCustomer(payment) || !isShown(shown, payment)) return found
  // After the deadline the payment cannot be paid, even if the expiry timer has not run yet. A customer who returns
  // from a provider's page is an exception: they may have paid there in time.
  if (action !== 'return' && !isInTime(payment, now)) return found
  if (action === 'cancel') {
    const cancelled = cancelRequest(payment, { now, xId: ending })
    if (!cancelled) return found
    const emitted = emitEvent(cancelled, { subject: endingSubject(cancelled, now), owed: true, now }, engine)
    return { next: emitted.payment, alongside: emitted.alongside, ...found }
  }
  if (!waiting) return found
  if (action === 'pending') return { next: leaveOpen(payment, waiting, now), ...found }
  if (action === 'approve' && waiting.details.confirmsLater) {
    return { next: handOver(payment, waiting, now), ...found }
  }
  return complete(payment, { waiting, merchant, ending, returned }, engine)
}

/** Whether the customer decided about the current try, method and amount. Any other decision is ignored. */
function isShown(shown: CustomerStep['shown'], payment: Payment): boolean {
  if (!shown) return true
  const { xId, type, amount = payment.amount } = shown
  const { value, currency } = payment.amount
  const isAmount = amount.value === value && amount.currency === currency
  return isAmount && xId === openTry(payment)?.xId && type === payment.method.type
}

/** The customer has not acted at the provider yet and may still come back until the deadline. */
const leaveOpen = (payment: Payment, waiting: Operation, now: Date): Payment => ({
  ...withTry(payment, { ...waiting, state: 'PENDING', responseCode: providerResultOutstanding }, now),
  status: 'PENDING',
})

/** The customer has approved; the merchant still has to confirm. */
const handOver = (payment: Payment, waiting: Operation, now: Date): Payment => ({
  ...withTry(
    payment,
    { ...waiting, state: 'AUTHORIZE_REQUEST', responseCode: customerActionOutstanding },
    now,
  ),
  status: 'AUTHORIZE_REQUEST',
  awaits: 'CONFIRM',
})

interface Sending {
  readonly waiting: Operation
  readonly merchant: Merchant
  /** Identifies this decision if the answer to its commit is lost. */
  readonly ending: XId
  readonly returned: PageReturn
}

/** Records the try as SENT and prepares the call that asks the provider for the result. */
async function complete(payment: Payment, sending: Sending, engine: Engine): Promise<Step<Result>> {
  const { waiting, merchant, ending, returned } = sending
  const now = merchantNow(engine.clock, merchant)
  const account = await engine.providers.open(payment.merchantId, waiting.prepared.account)
  if (!account?.connector.complete && !account?.connector.inquire) return { result: { found: true } }
  const { step: _, ...approval } = waiting.prepared
  const request = {
    ...toInquiry(payment, waiting),
    operation: 'AUTHORIZATION' as const,
    amount: payment.amount,
    at: now,
    conversion: convertAgain(payment.instrument?.dcc, payment.amount),
    captureReference: captureReference(payment),
  }
  const prepared = {
    ...((await account.connector.keep?.({ request, approval, returned })) ?? approval),
    account: account.accountId,
    triedType: approval.triedType,
    sentAtMs: now.getTime(),
    decision: ending,
  }
  // From here on only the provider's answer ends the try: a cancellation could hide an approval.
  const next: Payment = {
    ...withTry(
      payment,
      { ...waiting, state: 'SENT', responseCode: providerResultOutstanding, prepared },
      now,
    ),
    status: 'PENDING',
    awaits: undefined,
  }
  const result = toSending(next, { merchant, account, returned })
  return { next, release: releasing(payment, waiting.xId, account), result }
}

function toSending(
  payment: Payment,
  { merchant, account, returned }: { merchant: Merchant; account: OpenedAccount; returned: PageReturn },
): Result {
  const operation = lastOperation(payment)
  const { connector } = account
  const inquiry = { ...toInquiry(payment, operation), amount: payment.amount }
  const unknown: AuthorizationOutcome = { authorization: { kind: 'unknown' } }
  const authorization: Authorization = {
    merchant,
    payment,
    account,
    question: { operation: operation.type, reference: operation.xId, amount: payment.amount },
    captureReference: captureReference(payment),
    ask: async (send, signal) => {
      const back = { ...inquiry, ...returned, captureReference: captureReference(payment), send }
      return connector.complete
        ? connector.complete(back, signal)
        : ((await connector.inquire?.(inquiry, signal)) ?? unknown)
    },
    unattended: true,
    mayBePaid: account.accountId !== undefined,
  }
  return { found: true, authorization }
}

/** The reference of the capture in the same message, if the payment is captured automatically. */
const captureReference = (payment: Payment): XId | undefined =>
  payment.captureMethod.type === 'AUTOMATIC' ? lastOperation(payment).details.captureXId : undefined

const withTry = (payment: Payment, changed: Operation, now: Date): Payment => ({
  ...payment,
  operations: payment.operations.map(operation =>
    operation.xId === changed.xId ? { ...changed, updatedAt: now } : operation,
  ),
  updatedAt: now,
  version: payment.version + 1,
})
