/**
 * One try of a customer on a page of ours: the card goes into the vault, the try is recorded, and then either the customer
 * has a further step to take, or the merchant confirms, or the provider is asked. Two forms sent at once have one effect.
 */
import type { AccountData, CardData, Connector } from '#connectors/contract.ts'
import type { PayId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Money } from '#domain/money.ts'
import { acceptsTry, capturesWith, recordTry } from '#lifecycle/attempt.ts'
import {
  type CustomerStep,
  lastOperation,
  type Operation,
  openTry,
  type Payment,
  sentAt,
} from '#lifecycle/payment.ts'
import type { Method } from '#methods/rows.ts'
import { type Engine, merchantNow, newXId } from '#operations/engine.ts'
import { type Authorization, authorize } from '#operations/payments/authorize.ts'
import {
  admitAccount,
  admitCard,
  credentialUse,
  maximumPseudoNumberTries,
  toAccountInstrument,
  toInstrument,
} from '#operations/payments/create-payment.ts'
import { CommitRefused, type Step } from '#operations/payments/payment-queue.ts'
import { convertAgain, type OfferReply, type QuoteResult } from '#operations/quotes/redeem-quote.ts'
import { takeQuote } from '#operations/quotes/take-quote.ts'
import { expiryTimer } from '#operations/timer.ts'
import type { AdmittedAccount } from '#vault/accounts.ts'
import type { AdmittedCard } from '#vault/cards.ts'

export interface Attempt {
  readonly merchant: Merchant
  readonly payId: PayId
  readonly method: Method
  readonly card?: CardData
  readonly account?: AccountData
  /** The customer's answer to an offer to pay in its own currency, and the amount that it was made for. */
  readonly offer?: OfferReply & { readonly amount: Money }
  /** Whether the card may be kept for the customer's next payment; undefined where nobody was asked. */
  readonly keepsCard?: boolean
  /** The version of the payment that the customer saw: a form of an earlier one has no effect. */
  readonly seenVersion: number
  /** What a simulated customer decides beforehand, or that it dawdles at this step. */
  readonly simulationMode?: string
  readonly step?: CustomerStep
}

/**
 * `stale`: the payment has moved on since the form was shown; look at it again. `quoteNotUsable`: the offer that was
 * answered has ended, or is not one for this card and amount; nothing was tried.
 */
export type AttemptResult = 'done' | 'stale' | 'quoteNotUsable'

type Begun =
  | { readonly refused: 'stale' | 'quoteNotUsable' }
  | { readonly refused?: undefined; readonly send?: Authorization }

/** Undefined: the merchant has no such payment. */
export async function attemptPayment(attempt: Attempt, engine: Engine): Promise<AttemptResult | undefined> {
  const connector = engine.connectors.find(attempt.method)
  if (!connector) return 'stale'
  const begun = await record(attempt, connector, engine)
  if (!begun) return undefined
  if (begun.refused) return begun.refused
  if (begun.send) {
    await engine.testCrash('afterRecord')
    await authorize(begun.send, engine)
  }
  return 'done'
}

async function record(attempt: Attempt, connector: Connector, engine: Engine): Promise<Begun | undefined> {
  const { merchantId } = attempt.merchant
  // Drawn once: should the commit's answer be lost, the payment tells by this reference that the try is already there.
  const ids = { xId: newXId(engine), captureXId: newXId(engine) }
  for (let round = 0; round < maximumPseudoNumberTries; round += 1) {
    const card = await admitCard(attempt, round, engine)
    const kept = await admitAccount(attempt, round, engine)
    const quoteResult =
      card && attempt.offer && (await answerOffer(attempt, { ...attempt.offer, card }, engine))
    if (quoteResult && !quoteResult.usable) return { refused: 'quoteNotUsable' }
    try {
      const begun = await engine.queue.update({ merchantId, payId: attempt.payId }, payment =>
        begin(payment, { ...attempt, ...ids, admitted: card, kept, connector, quoteResult }, engine),
      )
      if (card?.row && begun && !begun.refused) engine.vault.remember({ ...card, merchantId })
      return begun
    } catch (error) {
      if (!(error instanceof CommitRefused)) throw error
      // The vault gave the card's number up since it was last seen: it is brought again, or is unknown by now.
      if (error.conflict === 'card_gone' && card) engine.vault.forget(merchantId, card.cardId)
      else if (error.conflict !== 'pseudo_number_taken') throw error
    }
  }
  throw new Error(`no free pseudo number in ${maximumPseudoNumberTries} tries`)
}

const answerOffer = (
  { merchant, payId }: Attempt,
  { card, amount, ...reply }: OfferReply & { readonly amount: Money; readonly card: AdmittedCard },
  engine: Engine,
): Promise<QuoteResult> => takeQuote(reply, { merchant, payId, amount, card }, engine)

type Beginning = Attempt & {
  readonly xId: ReturnType<typeof newXId>
  readonly captureXId: ReturnType<typeof newXId>
  readonly admitted: AdmittedCard | undefined
  readonly kept: AdmittedAccount | undefined
  readonly connector: Connector
  readonly quoteResult?: Extract<QuoteResult, { usable: true }>
}

function begin(payment: Payment, beginning: Beginning, engine: Engine): Step<Begun> {
  const { merchant, method, connector, admitted, kept, card, seenVersion, quoteResult } = beginning
  const now = merchantNow(engine.clock, merchant)
  // The commit was done although its answer was lost: only the call is left, unless somebody has settled it meanwhile.
  const recorded = payment.operations.find(({ prepared }) => prepared.attempt === beginning.xId)
  if (recorded) return { result: recorded.state === 'SENT' ? toSending(payment, beginning, recorded) : {} }
  if (payment.version !== seenVersion || !acceptsTry(payment, now)) return { result: { refused: 'stale' } }
  const question = {
    ...toQuestion(payment, { method, reference: openTry(payment)?.xId ?? beginning.xId, now }),
    simulationMode: beginning.simulationMode ?? firstMode(payment),
    captureReference: capturesWith(payment, method)
      ? (openTry(payment)?.details.captureXId ?? beginning.captureXId)
      : undefined,
    card: cardOf(card, admitted),
    account: accountOf(beginning),
    conversion: quoteResult?.conversion,
  }
  const said = connector.prepare(question)
  const prepared = { ...said, step: beginning.step ?? said.step, attempt: beginning.xId }
  const provider = prepared.step && connector.instruct?.({ ...question, prepared })
  const instrument = admitted && toInstrument(admitted, card?.cardholderName, quoteResult?.offer)
  const account = kept && beginning.account && toAccountInstrument(kept, beginning.account)
  const next = recordTry(payment, { ...beginning, instrument, account, prepared, provider, now })
  return {
    next,
    alongside: {
      ...(admitted?.row ? { card: admitted.row } : {}),
      ...(kept?.row ? { account: kept.row } : {}),
      ...(next.status === 'AUTHORIZE_REQUEST' ? { setTimers: expiryTimer(next, merchant) } : {}),
    },
    result: next.status === 'PENDING' ? toSending(next, beginning, lastOperation(next)) : {},
  }
}

function toSending(payment: Payment, beginning: Beginning, { xId, prepared }: Operation): Begun {
  const { merchant, method, connector, admitted, card } = beginning
  const message = {
    ...toQuestion(payment, { method, reference: xId, now: sentAt(lastOperation(payment)) }),
    prepared,
    card: cardOf(card, admitted),
    account: accountOf(beginning),
    captureReference: captureReference(payment),
  }
  return { send: { merchant, payment, connector, message, unattended: true } }
}

const cardOf = (card: CardData | undefined, admitted: AdmittedCard | undefined): CardData | undefined =>
  card && admitted && { ...card, number: admitted.number, expiryDate: admitted.expiryDate }

const accountOf = ({ account, kept }: Beginning): AccountData | undefined =>
  account && kept && { ...account, number: kept.number }

/** What the merchant asked the simulator to do, in the request that made the payment. */
const firstMode = ({ operations }: Payment): string | undefined => operations[0]?.details.simulationMode

/** The last authorisation of the payment captures in the same message where the payment is to be captured at once. */
export const captureReference = (payment: Payment) =>
  payment.captureMethod.type === 'AUTOMATIC' ? lastOperation(payment).details.captureXId : undefined

export function toQuestion(
  payment: Payment,
  { method, reference, now }: { method: Method; reference: ReturnType<typeof newXId>; now: Date },
) {
  return {
    operation: 'AUTHORIZATION' as const,
    merchantId: payment.merchantId,
    payId: payment.payId,
    method,
    reference,
    amount: payment.amount,
    at: now,
    hosted: payment.integrationType === 'HOSTED',
    // What the customer was promised holds for every later step of the try.
    conversion: convertAgain(payment.instrument?.dcc, payment.amount),
    credentialOnFile: credentialUse(payment),
    methodFields: payment.details.methodFields as Record<string, unknown> | undefined,
  }
}
