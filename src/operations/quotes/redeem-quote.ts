/**
 * Checks whether a payment may use the quote it names, and returns the terms. A race for a quote is decided by the
 * commit.
 */
import type { ConversionTerms } from '#connectors/contract.ts'
import { parseXId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { convert } from '#domain/money/conversion.ts'
import type { Money } from '#domain/money/money.ts'
import type { CardholderOffer } from '#lifecycle/payment.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import type { StoredQuote } from '#storage/payments/quotes.ts'
import type { AdmittedCard } from '#vault/cards.ts'

/** The cardholder's reply to an offer, as the request states it. */
export interface OfferReply {
  readonly quoteId: string
  readonly accepted: boolean
}

export type QuoteResult =
  | { readonly usable: false }
  | { readonly usable: true; readonly offer: CardholderOffer; readonly conversion?: ConversionTerms }

/**
 * An accepted quote must be this merchant's, unexpired, unused, and made for this amount and this card. A quote that
 * the cardholder declined only has to exist: it reserves nothing and stays unused.
 */
export async function redeemQuote(
  reply: OfferReply,
  paying: { merchant: Merchant; amount: Money; card: AdmittedCard },
  engine: Pick<Engine, 'quotes' | 'clock'>,
): Promise<QuoteResult> {
  const { merchant } = paying
  const quoteId = parseXId(reply.quoteId)
  const quote = quoteId && (await engine.quotes.find(merchant.merchantId, quoteId))
  if (!quote) return { usable: false }
  if (!reply.accepted) return turnDown(quote)
  const isFree = quote.payId === undefined && isMadeFor(quote, paying)
  return isFree && isInTime(quote, merchantNow(engine.clock, merchant)) ? accept(quote) : { usable: false }
}

export const turnDown = ({ quoteId }: StoredQuote): QuoteResult => ({
  usable: true,
  offer: { quoteId, accepted: false },
})

export function accept(quote: StoredQuote): QuoteResult {
  const { quoteId, cardholderAmount, exchangeRate, markupPercentage, rateSource } = quote
  const conversion = { quoteId, cardholderAmount, exchangeRate, markupPercentage }
  return { usable: true, offer: { ...conversion, accepted: true, rateSource }, conversion }
}

/** The terms of an accepted offer for a later step, perhaps with a lower amount: the rate stays the same. */
export function convertAgain(offer: CardholderOffer | undefined, amount: Money): ConversionTerms | undefined {
  const { quoteId, cardholderAmount: promised, exchangeRate, markupPercentage } = offer ?? {}
  if (quoteId === undefined || !promised || exchangeRate === undefined || markupPercentage === undefined)
    return undefined
  const cardholderAmount = convert(amount, exchangeRate, promised.currency)
  return cardholderAmount && { quoteId, cardholderAmount, exchangeRate, markupPercentage }
}

export const isInTime = ({ expiresAt }: StoredQuote, now: Date): boolean =>
  now.getTime() < expiresAt.getTime()

/** Whether the quote was made for this amount and card. */
export const isMadeFor = (
  { merchantAmount, bin }: StoredQuote,
  { amount, card }: { readonly amount: Money; readonly card: Pick<AdmittedCard, 'number'> },
): boolean =>
  merchantAmount.value === amount.value &&
  merchantAmount.currency === amount.currency &&
  card.number.reveal().startsWith(bin)
