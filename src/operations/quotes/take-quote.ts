/**
 * A customer's answer, on one of our pages, to an offer in their own currency. An offer belongs to the payment that
 * takes it first, and later tries of that payment may take it again while it lasts: a mistyped security code does not
 * cost the customer the rate.
 */
import { type PayId, parseXId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Money } from '#domain/money/money.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import {
  accept,
  isInTime,
  isMadeFor,
  type OfferReply,
  type QuoteResult,
  turnDown,
} from '#operations/quotes/redeem-quote.ts'
import type { AdmittedCard } from '#vault/cards.ts'

interface Paying {
  readonly merchant: Merchant
  readonly payId: PayId
  readonly amount: Money
  readonly card: AdmittedCard
}

type Needs = Pick<Engine, 'quotes' | 'commit' | 'clock'>

/**
 * Claimed in a commit of its own before the try is recorded: if the try fails, the quote still belongs to this payment.
 * Declining an offer must also be about this card and amount: a customer who changed the card has not been asked yet.
 */
export async function takeQuote(reply: OfferReply, paying: Paying, engine: Needs): Promise<QuoteResult> {
  const { merchant, payId } = paying
  const quoteId = parseXId(reply.quoteId)
  const quote = quoteId && (await engine.quotes.find(merchant.merchantId, quoteId))
  if (!quote || !isMadeFor(quote, paying)) return { usable: false }
  if (!reply.accepted) return turnDown(quote)
  if (!isInTime(quote, merchantNow(engine.clock, merchant))) return { usable: false }
  const owner = quote.payId ?? (await claim(quote.quoteId, paying, engine))
  return owner === payId ? accept(quote) : { usable: false }
}

/** Returns the payment that holds the quote afterwards. */
async function claim(
  quoteId: string,
  { merchant: { merchantId }, payId }: Paying,
  { commit, quotes }: Needs,
): Promise<PayId | undefined> {
  const committed = await commit({ useQuote: { merchantId, quoteId, payId } })
  if (committed.committed) return payId
  if (committed.conflict !== 'quote_taken') throw new CommitRefused(committed.conflict)
  // Perhaps by the same form, sent twice at once.
  return (await quotes.find(merchantId, quoteId))?.payId
}
