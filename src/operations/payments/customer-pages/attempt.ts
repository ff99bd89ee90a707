/**
 * One try of a customer on a page of ours: the card goes into the vault, the try is recorded, and then the provider is
 * called, or the merchant must confirm first. A form that is submitted twice takes effect once.
 */
import type { AccountData, AuthorizationRequest, Unsent } from '#connectors/contract.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { PayId, XId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Money } from '#domain/money/money.ts'
import { acceptsTry, capturesWith, mayRenew, recordTry } from '#lifecycle/attempt.ts'
import {
  lastOperation,
  type Operation,
  openTry,
  type Payment,
  type Prepared,
  sentAt,
} from '#lifecycle/payment.ts'
import { beginsPlan, type Plan } from '#lifecycle/plans/plan.ts'
import type { Method } from '#methods/rows.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import {
  admitAccount,
  admitCard,
  isNameless,
  maximumPseudoNumberTries,
  type PaymentCard,
  toAccountInstrument,
  toInstrument,
  toSentCard,
} from '#operations/payments/admit.ts'
import { type Authorization, authorize } from '#operations/payments/authorize.ts'
import { leaveTry } from '#operations/payments/customer-pages/end-action.ts'
import { toPageChoosing } from '#operations/payments/customer-pages/offer.ts'
import { CommitRefused, type Step } from '#operations/payments/payment-queue.ts'
import { beginOnce, releasing } from '#operations/payments/provider-calls/begin-once.ts'
import { chooseAccount, providerOf } from '#operations/payments/provider-calls/choose-account.ts'
import { failOverTo, type Sending, toAuthorization } from '#operations/payments/provider-calls/fail-over.ts'
import {
  credentialUse,
  returnAddressOf,
  toContext,
} from '#operations/payments/provider-calls/payment-context.ts'
import type { OfferReply, QuoteResult } from '#operations/quotes/redeem-quote.ts'
import { takeQuote } from '#operations/quotes/take-quote.ts'
import { expiryTimer } from '#operations/timer.ts'
import { hintsOf } from '#schemas/parts/hints.ts'
import type { AdmittedAccount } from '#vault/accounts.ts'
import type { AdmittedCard } from '#vault/cards.ts'

export interface Attempt {
  readonly merchant: Merchant
  readonly payId: PayId
  readonly method: Method
  readonly card?: PaymentCard
  readonly account?: AccountData
  /** The customer's answer to an offer to pay in their own currency, and the amount of that offer. */
  readonly offer?: OfferReply & { readonly amount: Money }
  /** Whether the card may be stored for the customer's next payment; undefined if the customer was not asked. */
  readonly keepsCard?: boolean
  /** The version of the payment when the form was shown. A form of an outdated version has no effect. */
  readonly seenVersion: number
  /** Replaces a provider's page that has ended, also if the customer was not sent there from a page of ours. */
  readonly renews?: boolean
  /** Tells the connector what a simulated customer of the test tools will do at the provider. */
  readonly hints?: AuthorizationRequest['hints']
}

/**
 * `stale`: the payment has changed since the form was shown; read it again. `quoteNotUsable`: the accepted offer has
 * expired, or was not made for this card and amount; nothing was tried.
 */
export type AttemptResult = 'done' | 'stale' | 'quoteNotUsable'

type Begun =
  | { readonly refused: 'stale' | 'quoteNotUsable' }
  | { readonly refused?: undefined; readonly send?: Authorization }

/** Undefined: the merchant has no such payment. */
export async function attemptPayment(attempt: Attempt, engine: Engine): Promise<AttemptResult | undefined> {
  const seen = await leaveOpenPage(attempt, engine)
  const begun = seen && (await record(seen, engine))
  if (!begun) return undefined
  if (begun.refused) return begun.refused
  if (begun.send) {
    await engine.testCrash('afterRecord')
    await authorize(begun.send, engine)
  }
  return 'done'
}

/** Ends the provider's page of an earlier try, so that only one of the two can be paid. */
async function leaveOpenPage(attempt: Attempt, engine: Engine): Promise<Attempt | undefined> {
  const { merchant, payId, seenVersion } = attempt
  const payment = await engine.payments.byPayId(merchant.merchantId, payId)
  if (!payment?.provider || payment.version !== seenVersion) return payment && attempt
  const left = await leaveTry({ merchant, payment }, engine)
  // If the page turned out to be paid, or cannot be ended, version 0 makes the form stale.
  return { ...attempt, seenVersion: left?.version ?? 0 }
}

async function record(attempt: Attempt, engine: Engine): Promise<Begun | undefined> {
  const { merchantId } = attempt.merchant
  // Generated once: if the commit's answer is lost, this reference shows whether the try is stored.
  const ids = { xId: newXId(engine), captureXId: newXId(engine) }
  for (let round = 0; round < maximumPseudoNumberTries; round += 1) {
    const card = await admitCard(attempt, round, engine)
    const kept = await admitAccount(attempt, round, engine)
    const quoteResult =
      card && attempt.offer && (await answerOffer(attempt, { ...attempt.offer, card }, engine))
    if (quoteResult && !quoteResult.usable) return { refused: 'quoteNotUsable' }
    try {
      const begun = await engine.queue.update({ merchantId, payId: attempt.payId }, payment =>
        begin(payment, { ...attempt, ...ids, admitted: card, kept, quoteResult }, engine),
      )
      if (card?.row && begun && !begun.refused) engine.vault.remember({ ...card, merchantId })
      return begun
    } catch (error) {
      if (!(error instanceof CommitRefused)) throw error
      // The vault has deleted the number since we read it: the next round stores it again, or refuses an unknown pseudo
      // number.
      if (error.conflict === 'card_gone' && card) engine.vault.forget(merchantId, card.cardId)
      else if (error.conflict !== 'pseudo_number_taken' && error.conflict !== 'plan_changed') throw error
    }
  }
  throw new Error(`no unused pseudo number was found in ${maximumPseudoNumberTries} tries`)
}

const answerOffer = (
  { merchant, payId }: Attempt,
  { card, amount, ...reply }: OfferReply & { readonly amount: Money; readonly card: AdmittedCard },
  engine: Engine,
): Promise<QuoteResult> => takeQuote(reply, { merchant, payId, amount, card }, engine)

type Beginning = Attempt & {
  readonly xId: XId
  readonly captureXId: XId
  readonly admitted: AdmittedCard | undefined
  readonly kept: AdmittedAccount | undefined
  readonly quoteResult?: Extract<QuoteResult, { usable: true }>
}

const begin = (payment: Payment, beginning: Beginning, engine: Engine): Promise<Step<Begun>> =>
  beginOnce<Begun>(payment, {
    isIt: ({ prepared }) => prepared.attempt === beginning.xId,
    record: () => recordOnce(payment, beginning, engine),
    resume: operation => resume(payment, beginning, operation, engine),
    settled: () => ({}),
  })

async function recordOnce(payment: Payment, beginning: Beginning, engine: Engine): Promise<Step<Begun>> {
  const { merchant, method, admitted, kept, card, seenVersion, quoteResult } = beginning
  const now = merchantNow(engine.clock, merchant)
  const accepts = beginning.renews ? mayRenew(payment, now) : acceptsTry(payment, now)
  if (payment.version !== seenVersion || !accepts) return { result: { refused: 'stale' } }
  const plan = await findBegunPlan(payment, engine)
  if (plan?.status === 'CANCELLED') return { result: { refused: 'stale' } }
  const asked = toPageChoosing(payment, { merchant, method })
  const sends = { brand: admitted?.brand, sendsCard: admitted !== undefined }
  const choice = await chooseAccount({ ...asked, ...sends }, engine)
  if (!choice.account) return { result: { refused: 'stale' } }
  const { account: provider, others } = choice
  const reference = openTry(payment)?.xId ?? beginning.xId
  const captureReference = capturesWith(payment, method)
    ? (openTry(payment)?.details.captureXId ?? beginning.captureXId)
    : undefined
  const unsent = { ...toMessage(payment, beginning, { reference, now }, engine), captureReference }
  // The merchant confirms before the provider is called, unless the issuer wants to authenticate the cardholder first.
  const confirmsFirst = payment.operations[0]?.details.confirmsLater === true && method.flow === 'direct'
  const asks = !confirmsFirst || provider.connector.willChallenge?.(unsent) === true
  const prepared: Prepared = {
    ...(await provider.connector.keep?.({ request: unsent, awaitsConfirm: !asks })),
    account: provider.accountId,
    attempt: beginning.xId,
  }
  const nameless = isNameless(merchant, payment, now)
  const cardholderName = nameless ? undefined : card?.cardholderName
  const instrument = admitted && toInstrument(admitted, cardholderName, quoteResult?.offer)
  const account = kept && beginning.account && toAccountInstrument(kept, beginning.account, nameless)
  const tried = { ...beginning, instrument, account, prepared, provider: providerOf(provider), asks, now }
  const next = recordTry(payment, tried)
  const sending = { merchant, payment: next, account: provider, message: { ...unsent, kept: prepared } }
  return {
    next,
    alongside: {
      // The plan is cancelled either before this commit, and then nothing is paid, or after it.
      ...(plan ? { holdPlan: { ...plan, expectedVersion: plan.version } } : {}),
      ...(admitted?.row ? { card: admitted.row } : {}),
      ...(kept?.row ? { account: kept.row } : {}),
      ...(next.status === 'AUTHORIZE_REQUEST' ? { setTimers: expiryTimer(next, merchant) } : {}),
    },
    release: releasing(payment, reference, provider),
    result: asks ? toSending(sending, others, engine) : {},
  }
}

/** The plan that this payment would begin. Its customer agrees to a plan, so one that was cancelled takes no payment. */
export const findBegunPlan = async (
  { merchantId, planId, details }: Payment,
  { plans }: Pick<Engine, 'plans'>,
): Promise<Plan | undefined> =>
  planId !== undefined && beginsPlan(details) ? plans.find(merchantId, planId) : undefined

/** Continues a try that is recorded: only the provider call is missing, to the account that was chosen then. */
async function resume(
  payment: Payment,
  beginning: Beginning,
  { xId, prepared, details: { captureXId } }: Operation,
  engine: Engine,
): Promise<Begun> {
  const { merchant } = beginning
  const provider = await engine.providers.open(merchant.merchantId, prepared.account)
  if (!provider) return {}
  const now = sentAt(lastOperation(payment))
  const captureReference = payment.captureMethod.type === 'AUTOMATIC' ? captureXId : undefined
  const unsent = toMessage(payment, beginning, { reference: xId, now }, engine)
  const message = { ...unsent, captureReference, kept: prepared }
  return toSending({ merchant, payment, account: provider, message }, [], engine)
}

function toSending(sending: Sending, others: readonly OpenedAccount[], engine: Engine): Begun {
  const failOver = failOverTo(others, { ...sending, unattended: true }, engine)
  return { send: { ...toAuthorization(sending), unattended: true, failOver } }
}

interface Asking {
  readonly reference: XId
  readonly now: Date
}

function toMessage(
  payment: Payment,
  beginning: Beginning,
  { reference, now }: Asking,
  engine: Engine,
): Unsent<AuthorizationRequest> {
  const { method, card, account, admitted, kept, quoteResult } = beginning
  const returnUrl = returnAddressOf({ ...payment, method }, reference, engine)
  return {
    operation: 'AUTHORIZATION',
    reference,
    amount: payment.amount,
    payment: toContext(payment, { method, returnUrl }),
    at: now,
    // The hints of the create request, and those of the simulated customer.
    hints: { ...hintsOf(payment.operations[0]?.details), ...beginning.hints },
    ...toSentCard(card, admitted),
    account: account && kept && { ...account, number: kept.number },
    conversion: quoteResult?.conversion,
    credentialOnFile: credentialUse(payment),
    customerPresent: true,
  }
}
