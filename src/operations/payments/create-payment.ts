/** Creates a payment or a credit: admit the card, record the payment, call the provider or wait for the customer. */
import type { AccountData, AuthorizationRequest, Unsent, WalletData } from '#connectors/contract.ts'
import type { PlanId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { describe, type Refusal, refusalCodes } from '#domain/response-codes.ts'
import { type CreateCommand, firstStep, openPayment } from '#lifecycle/create.ts'
import { isErased, withoutPersonalData } from '#lifecycle/customer.ts'
import { lastOperation, type Payment, type PaymentKind } from '#lifecycle/payment.ts'
import { beginsPlan } from '#lifecycle/plans/plan.ts'
import { undecided } from '#methods/method.ts'
import { beginsAgreement } from '#methods/offer.ts'
import { type Engine, merchantNow, newPayId, newXId } from '#operations/engine.ts'
import { keyReference, keyRow, type OperationKey, storeRefusal } from '#operations/key.ts'
import {
  admitAccount,
  admitCard,
  maximumPseudoNumberTries,
  type PaymentCard,
  requireExpiryDate,
  toAccountInstrument,
  toInstrument,
  toSentCard,
} from '#operations/payments/admit.ts'
import { answerOperation, answerRefusal, type OperationAnswer } from '#operations/payments/answer.ts'
import { type Authorization, authorize } from '#operations/payments/authorize.ts'
import { findPageMisfit } from '#operations/payments/customer-pages/offer.ts'
import { MethodMisfit } from '#operations/payments/follow-up.ts'
import { CommitRefused, reconnectDelaysMs } from '#operations/payments/payment-queue.ts'
import { checkFit, checkReturnAddress, prepare, withPrepared } from '#operations/payments/prepare-payment.ts'
import { releasing } from '#operations/payments/provider-calls/begin-once.ts'
import {
  amountMisfit,
  type Choice,
  type Choosing,
  chooseAccount,
  hasConfirm,
  providerOf,
  takesCardItself,
} from '#operations/payments/provider-calls/choose-account.ts'
import { failOverTo, toAuthorization } from '#operations/payments/provider-calls/fail-over.ts'
import {
  credentialUse,
  findsBack,
  returnAddressOf,
  toContext,
} from '#operations/payments/provider-calls/payment-context.ts'
import { exceedsLimit, inTurn } from '#operations/payments/try-limits.ts'
import { openPlan } from '#operations/plans/plan-book.ts'
import { type OfferReply, type QuoteResult, redeemQuote } from '#operations/quotes/redeem-quote.ts'
import { expiryTimer, type TimerKey } from '#operations/timer.ts'
import { hintsOf } from '#schemas/parts/hints.ts'
import { type Change, type Committed, CommitUnknown, type IntentClaim } from '#storage/commit/change.ts'
import { isConnectionLost } from '#storage/database.ts'
import type { AdmittedAccount } from '#vault/accounts.ts'
import type { AdmittedCard } from '#vault/cards.ts'

export interface CreatePayment {
  readonly merchant: Merchant
  readonly command: CreateCommand
  readonly card?: PaymentCard
  readonly account?: AccountData
  readonly wallet?: WalletData
  /** The cardholder's answer to an offer to pay in their own currency. */
  readonly offer?: OfferReply
  readonly key?: OperationKey
  /** CREDIT pays out to the card or account, without a payment to refund. */
  readonly kind?: PaymentKind
  /** Makes the response to a payment that waits for its customer; unless given, it is the result of the operation. */
  readonly answerWaiting?: (payment: Payment, page: string) => OperationAnswer
  /** The intent that is claimed by the payment's first commit. */
  readonly intent?: Pick<IntentClaim, 'intentId' | 'expectedPayId' | 'declines'>
  /** A card on file, used instead of a card in the request; it must still exist when the payment is stored. */
  readonly storedCard?: AdmittedCard
  /** A bank account on file, used the same way; its holder and mandate come in `account`. */
  readonly storedAccount?: AdmittedAccount
  /** The name on the stored card. */
  readonly cardholderName?: string
  /** The plan that the payment belongs to; with a turn if the gateway charges it automatically. */
  readonly plan?: {
    readonly planId: PlanId
    readonly turn?: { readonly expectedVersion: number; readonly timer: TimerKey }
  }
  /** The merchant's time at which this happens; now unless given. */
  readonly at?: Date
  /** No request waits for the answer: the merchant gets an event. */
  readonly unattended?: boolean
  /** Called once the payment is stored. A request that is refused stores none. */
  readonly onStored?: (() => void) | undefined
}

/** An automatic charge was refused before its first commit. No request waits for the refusal. */
export class ChargeRefused extends Error {}

export async function createPayment(request: CreatePayment, engine: Engine): Promise<OperationAnswer> {
  for (let attempt = 0; attempt < maximumPseudoNumberTries; attempt += 1) {
    const card = request.storedCard ?? requireExpiryDate(await admitCard(request, attempt, engine))
    const account = request.storedAccount ?? (await admitAccount(request, attempt, engine))
    const choice = await chooseFor(request, card, engine)
    if (!choice.account) return refuse(request, choice.refusal, engine)
    const quoteResult = card && request.offer && (await readOffer(request, request.offer, card, engine))
    if (quoteResult && !quoteResult.usable) return refuse(request, 'QUOTE_NOT_USABLE', engine)
    const admitted = { card, account, quoteResult }
    const opening = open(request, admitted, choice, engine)
    const answer = await inTurn(request, opening.payment, engine, () =>
      place(request, { ...admitted, opening }, engine),
    )
    if (answer) return answer
  }
  throw new Error(`no unused pseudo number was found in ${maximumPseudoNumberTries} tries`)
}

/** Returns undefined if the vault has deleted the card, or its pseudo number was taken; the caller then tries again. */
async function place(
  request: CreatePayment,
  { card, account, quoteResult, opening }: Admitted & { readonly opening: Opening },
  engine: Engine,
): Promise<OperationAnswer | undefined> {
  if (await exceedsLimit(request, opening.payment, engine)) return refuse(request, 'VELOCITY', engine)
  const begun = await begin(request, opening, engine)
  const { payment } = begun
  const answer = payment.status === 'AUTHORIZE_REQUEST' ? answerWaiting(payment, request, engine) : undefined
  const key = keyRow(request.key, {
    merchant: request.merchant,
    payId: payment.payId,
    xId: answer ? undefined : begun.question.reference,
    now: payment.createdAt,
  })
  const committed = await insertOnce(
    {
      card: card?.row,
      account: account?.row,
      useQuote: quoteResult?.conversion && {
        merchantId: payment.merchantId,
        quoteId: quoteResult.conversion.quoteId,
        payId: payment.payId,
      },
      insertPayment: payment,
      insertOperations: payment.operations.map(operation => ({ payment, operation })),
      // No later commit stores the response of a payment that waits for its customer, so this one does.
      key: key && { ...key, answer },
      setTimers: expiryTimer(payment, request.merchant),
      ...openPlan(payment),
      ...withinPlan(payment, request),
      claimIntent: request.intent && {
        ...request.intent,
        merchantId: payment.merchantId,
        payId: payment.payId,
      },
    },
    payment,
    engine,
  )
  if (committed.committed) {
    request.onStored?.()
    if (card?.row) engine.vault.remember({ ...card, merchantId: request.merchant.merchantId })
    await engine.testCrash('afterRecord')
    if (answer) return answer
    return authorize(begun, engine)
  }
  await releasing(payment, opening.unsent.reference, opening.choice.account)()
  if (request.kind === 'CREDIT') await engine.velocity.releasePayout(request.merchant, payment.payId)
  // Losing a race for an intent also ends in a transId conflict, so confirm-intent.ts tells the two cases apart.
  if (committed.conflict === 'trans_id_taken' && !request.intent && !request.plan?.turn)
    return refuse(request, 'TRANS_ID_TAKEN', engine)
  if (committed.conflict === 'quote_taken') return refuse(request, 'QUOTE_NOT_USABLE', engine)
  // The vault has deleted the number since we read it: the next round stores it again, or refuses an unknown pseudo
  // number.
  if (committed.conflict === 'card_gone' && card && !request.storedCard)
    engine.vault.forget(request.merchant.merchantId, card.cardId)
  else if (
    committed.conflict !== 'pseudo_number_taken' &&
    !(committed.conflict === 'card_gone' && account && !request.storedAccount)
  )
    throw new CommitRefused(committed.conflict)
  return undefined
}

/**
 * The plan's part of the commit: a plan charged by the merchant must be active, one charged by the gateway must be
 * unchanged since it was read.
 */
function withinPlan(
  { merchantId, payId, createdAt }: Payment,
  { plan }: CreatePayment,
): Pick<Change, 'chargePlan' | 'beginTurn' | 'dropTimers'> {
  if (!plan) return {}
  const { planId, turn } = plan
  if (!turn) return { chargePlan: { merchantId, planId } }
  const { expectedVersion, timer } = turn
  return { beginTurn: { merchantId, planId, payId, expectedVersion, now: createdAt }, dropTimers: [timer] }
}

/**
 * Whatever the customer's step is, they start on a page of ours. A payment that only waits for its confirm has no page.
 */
function answerWaiting(payment: Payment, request: CreatePayment, engine: Engine): OperationAnswer {
  const page = payment.awaits === 'CUSTOMER' ? engine.pageAddress(payment) : undefined
  return request.answerWaiting && page !== undefined
    ? request.answerWaiting(payment, page)
    : answerOperation(payment, lastOperation(payment).xId, page)
}

/**
 * Inserts the payment once, also when the connection is lost during the commit. Before a retry it looks whether the
 * payment is stored; if so, only the provider call is left to make. Recovery cannot have settled the payment in these
 * few seconds, because it waits much longer.
 */
async function insertOnce(change: Change, payment: Payment, engine: Engine): Promise<Committed> {
  const isStored = async () =>
    (await engine.payments.byPayId(payment.merchantId, payment.payId)) !== undefined
  let lost: unknown
  for (const delayMs of [0, ...reconnectDelaysMs]) {
    try {
      if (lost) {
        await engine.clock.waitMs(delayMs)
        if (await isStored()) return { committed: true }
      }
      const committed = await engine.commit(change)
      // The first commit may have succeeded after the look-up; then the conflict is with our own row.
      return lost && !committed.committed && (await isStored()) ? { committed: true } : committed
    } catch (error) {
      if (!(error instanceof CommitUnknown) && !isConnectionLost(error)) throw error
      lost = error
    }
  }
  throw lost
}

const readOffer = (
  { merchant, command: { amount } }: CreatePayment,
  offer: NonNullable<CreatePayment['offer']>,
  card: AdmittedCard,
  engine: Engine,
): Promise<QuoteResult | undefined> => redeemQuote(offer, { merchant, amount, card }, engine)

/** Chooses the provider account. Throws if it cannot express the amount. */
async function chooseFor(
  request: CreatePayment,
  card: AdmittedCard | undefined,
  engine: Engine,
): Promise<Choice> {
  const { command, merchant } = request
  const choice = await chooseAccount(toChoosing(request, card), engine)
  if (!choice.account) return choice
  // With an undecided method the account depends on the customer's choice, but the page must offer at least one.
  const misfit =
    command.method === undecided
      ? await findPageMisfit(command, merchant, engine)
      : amountMisfit(choice.account, command.amount)
  if (misfit === 'NO_CONNECTOR') return { refusal: misfit }
  if (misfit) throw new MethodMisfit(misfit)
  return choice
}

const toChoosing = (
  { merchant, command, kind }: CreatePayment,
  card: AdmittedCard | undefined,
): Choosing => ({
  merchant,
  method: command.method,
  amount: command.amount,
  brand: card?.brand,
  details: command.details,
  captureType: kind === 'CREDIT' ? undefined : command.captureMethod.type,
  sendsCard: card !== undefined,
  keptBy: command.atProvider?.account,
  planCountry: command.planCountry,
  isCredit: kind === 'CREDIT',
  isKept: kind !== 'CREDIT' && beginsAgreement(command.details),
  confirmsLater: command.confirmsLater,
})

interface Admitted {
  readonly card?: AdmittedCard
  readonly account?: AdmittedAccount
  readonly quoteResult?: Extract<QuoteResult, { usable: true }>
}

/** A payment and the message about it, before its connector has prepared anything. */
interface Opening {
  readonly payment: Payment
  readonly unsent: Unsent<AuthorizationRequest>
  readonly choice: Extract<Choice, { others: unknown }>
  /** The customer fills in a form of ours before any provider is asked. */
  readonly isFormFirst: boolean
}

/** Throws if the request cannot be sent like this. */
function open(
  request: CreatePayment,
  { card, account, quoteResult }: Admitted,
  choice: Opening['choice'],
  engine: Engine,
): Opening {
  const { account: provider } = choice
  const { merchant, kind = 'PAYMENT' } = request
  const { method } = request.command
  const command = {
    ...request.command,
    lacksConfirm: !hasConfirm(provider, method),
    cardAtProvider: takesCardItself(provider, method),
  }
  const now = request.at ?? merchantNow(engine.clock, merchant)
  const xId = newXId(engine)
  const automatic = kind === 'PAYMENT' && command.captureMethod.type === 'AUTOMATIC'
  const captureXId = automatic ? newXId(engine) : undefined
  const paying = payingCard(request)
  const isFormFirst = kind === 'PAYMENT' && firstStep(command) === 'customer'
  const payment = openPayment({
    command,
    kind,
    payId: newPayId(engine),
    xId,
    captureXId,
    instrument: card && toInstrument(card, paying.cardholderName, quoteResult?.offer),
    account: account && request.account && toAccountInstrument(account, request.account, false),
    prepared: {},
    // The provider account depends on what the customer enters on the page.
    provider: isFormFirst ? undefined : providerOf(provider),
    key: keyReference(request.key),
    // newId makes 32 hex digits, which is the form of a plan's id.
    planId: request.plan?.planId ?? (beginsPlan(command.details) ? (engine.newId() as PlanId) : undefined),
    clientToken: command.method.clientTokenMinutes !== undefined ? engine.newId() : undefined,
    now,
  })
  const unsent = {
    operation: kind === 'CREDIT' ? ('CREDIT' as const) : ('AUTHORIZATION' as const),
    reference: xId,
    amount: command.amount,
    payment: toContext(payment, {
      // Sealing a return address costs time, and the simulator needs none if no customer is present.
      returnUrl:
        provider.accountId !== undefined || isPresent(request)
          ? returnAddressOf(payment, xId, engine)
          : undefined,
    }),
    at: now,
    hints: hintsOf(command.hints),
    ...toSentCard(paying, card),
    account: account && request.account && { ...request.account, number: account.number },
    wallet: request.wallet,
    conversion: quoteResult?.conversion,
    credentialOnFile: credentialUse({ ...command, providerToken: command.atProvider?.token }),
    captureReference: captureXId,
    customerPresent: isPresent(request),
  }
  checkFit(unsent, provider)
  if (!isFormFirst) checkReturnAddress(request, unsent, provider)
  return { payment, unsent, choice, isFormFirst }
}

async function begin(
  request: CreatePayment,
  { payment: unprepared, unsent, choice, isFormFirst }: Opening,
  engine: Engine,
): Promise<Authorization> {
  const { merchant } = request
  const { account: provider, others } = choice
  const question = { request: unsent, awaitsConfirm: unprepared.awaits === 'CONFIRM' }
  const prepared = isFormFirst ? {} : await prepare(request, question, provider)
  // If the intent's customer was erased before this payment, what this request says about them is not stored either.
  const stored = isErased(unprepared.details) ? withoutPersonalData(unprepared) : unprepared
  const payment = withPrepared(stored, prepared)
  const message = { ...unsent, kept: prepared }
  return {
    ...toAuthorization({ merchant, payment, account: provider, message }),
    unattended: request.unattended,
    at: request.at,
    failOver: failOverTo(
      others,
      { merchant, payment, message, unattended: request.unattended, at: request.at },
      engine,
    ),
  }
}

/** A merchant-initiated payment has no cardholder present, so 3-D Secure is skipped. */
const payingCard = ({
  card,
  cardholderName,
  command,
}: CreatePayment): Omit<Partial<PaymentCard>, 'number'> =>
  command.merchantInitiated
    ? { cardholderName, ...card, threeDs: { ...card?.threeDs, skip: true } }
    : { ...card }

/** No customer is present for payouts and for merchant-initiated charges. */
const isPresent = ({ command, kind }: CreatePayment): boolean =>
  kind !== 'CREDIT' && !command.merchantInitiated && findsBack(command)

function refuse(request: CreatePayment, refusal: Refusal, engine: Engine): Promise<OperationAnswer> {
  const { merchantId, transId, refNr, metadata } = request.command
  if (request.plan?.turn) throw new ChargeRefused(describe(refusalCodes[refusal]).description)
  const paymentIntentId = request.intent?.intentId
  const subject = { merchantId, transId, xId: newXId(engine), refNr, metadata, paymentIntentId }
  const answer = answerRefusal(refusal, subject)
  return storeRefusal(answer, request, engine)
}
