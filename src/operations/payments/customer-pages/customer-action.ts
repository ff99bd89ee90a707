/**
 * What the customer does on a page of the provider or of the card's issuer: approve, decline, go back, or leave it
 * open. The pages call it with the step they showed; the test environment also calls it without a page.
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
import { beginOnce } from '#operations/payments/provider-calls/begin-once.ts'
import { toInquiry } from '#operations/payments/provider-calls/payment-context.ts'
import { convertAgain } from '#operations/quotes/redeem-quote.ts'

export type CustomerAction = CustomerDecision['action']

export interface CustomerStep {
  readonly merchant: Merchant
  readonly payId: PayId
  /** `return`: the customer is back from the provider's page, which says more. */
  readonly action: CustomerAction | 'return'
  /** What a provider's page handed to the browser. */
  readonly returned?: PageReturn
  /** The try, the method and the amount that were shown; any unless given. */
  readonly shown?: { readonly xId: XId; readonly type: string; readonly amount?: Money }
}

type Result = {
  readonly found: true
  readonly authorization?: Authorization
}

/** Undefined: the merchant has no such payment. A payment that does not wait for its customer is left as it is. */
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
 * A customer is back from a provider's page. Some pages report what the customer did; for all others the provider is
 * asked. Returns what the page said.
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
  // What the page of another payment signed, handed to us by a customer who wants it to count for this one.
  if (!decision || (decision.reference ?? shown.xId) !== shown.xId) return undefined
  const { action, amount } = decision
  await takeCustomerStep({ ...step, action, shown: { ...shown, amount } }, engine)
  return decision
}

/** The account to which the customer of the open try was sent. */
async function waitingAccount(payment: Payment, { providers }: Engine): Promise<OpenedAccount | undefined> {
  const waiting = openTry(payment)
  return waiting && providers.open(payment.merchantId, waiting.prepared.account)
}

/** A customer who cancels may have paid on the provider's page already: that page is ended first. */
async function isPaid({ merchant, payId }: CustomerStep, engine: Engine): Promise<boolean> {
  const payment = await engine.payments.byPayId(merchant.merchantId, payId)
  return payment?.provider !== undefined && (await endAction({ merchant, payment }, engine)) === 'paid'
}

/**
 * A customer without a browser: fills in what a form would ask for with data of the test environment, and then takes the
 * step. Undefined: the merchant has no such payment.
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

/** The step of a customer without a browser: their provider's page hands back what it would have handed to a browser. */
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
  // It is not known what this provider would accept in the form.
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
  // After its deadline the payment cannot be paid, and the expiry timer may not have run yet.
  if (!awaitsCustomer(payment) || !isShown(shown, payment)) return found
  // A provider's page may have been paid in time, whenever its customer comes back.
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

/** Whether the customer saw what they decide about: a decision about another try, method or amount does not count. */
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

/** The customer has acted; now the provider is asked for the result. */
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
  // From here on the provider decides: cancelling now could hide an approval.
  const next: Payment = {
    ...withTry(
      payment,
      { ...waiting, state: 'SENT', responseCode: providerResultOutstanding, prepared },
      now,
    ),
    status: 'PENDING',
    awaits: undefined,
  }
  return { next, result: toSending(next, { merchant, account, returned }) }
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
      const answer = connector.complete
        ? await connector.complete(back, signal)
        : ((await connector.inquire?.(inquiry, signal)) ?? unknown)
      // The customer may have paid: the failed inquiry says nothing about it.
      return account.accountId !== undefined && answer.authorization.kind === 'unreached' ? unknown : answer
    },
    unattended: true,
  }
  return { found: true, authorization }
}

/** The last authorisation of the payment captures in the same message where the payment is to be captured at once. */
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
