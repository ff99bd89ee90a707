/**
 * Takes a customer's reply, on one of our pages, to an offer in their own currency. An accepted quote belongs to the
 * payment that claims it first; later tries of that payment may use it again while it is valid, so that a mistyped
 * security code does not cost the customer the rate.
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
 * The quote is claimed in a commit of its own before the try is recorded: if the try fails, it still belongs to this
 * payment. A declined offer must match card and amount too: a customer who has changed the card has not been asked
 * about it yet.
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
  // The same form may have been submitted twice.
  return (await quotes.find(merchantId, quoteId))?.payId
}
