/** Quotes the terms on which cardholders can pay in their own currency (DCC). A quote is valid for ten minutes. */
import { toSpan } from '#domain/cards/bin-ranges.ts'
import type { Merchant } from '#domain/merchant.ts'
import { convert, exchangeRate } from '#domain/money/conversion.ts'
import type { Money } from '#domain/money/money.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey } from '#operations/key.ts'
import type { LookUps } from '#operations/look-ups.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { Quote } from '#storage/payments/quotes.ts'

export interface QuoteRequest {
  readonly merchant: Merchant
  readonly bin: string
  readonly amount: Money
  readonly transId?: string
}

export type NoQuote = 'NON_ELIGIBLE_CARD' | 'SAME_CURRENCY' | 'UNSUPPORTED_CURRENCY'

/** A quote that is not stored yet: the caller stores it together with its answer. */
export type Quoted =
  | { readonly eligible: true; readonly quote: Quote }
  | { readonly eligible: false; readonly reason: NoQuote; readonly quoteId: string; readonly quotedAt: Date }

/** 10 minutes, as the contract says. */
const validMs = 10 * 60 * 1000

type Needs = Pick<LookUps, 'bins' | 'rates' | 'markupPercentage'> & Pick<Engine, 'clock' | 'newId'>

export async function quoteConversion(request: QuoteRequest, needs: Needs): Promise<Quoted> {
  const quotedAt = merchantNow(needs.clock, request.merchant)
  const quoteId = needs.newId()
  const terms = await findTerms(request, needs)
  if (typeof terms === 'string') return { eligible: false, reason: terms, quoteId, quotedAt }
  const { merchant, bin, amount, transId } = request
  return {
    eligible: true,
    quote: {
      ...terms,
      merchantId: merchant.merchantId,
      quoteId,
      bin,
      merchantAmount: amount,
      transId,
      quotedAt,
      expiresAt: new Date(quotedAt.getTime() + validMs),
    },
  }
}

type Terms = Pick<Quote, 'cardholderAmount' | 'exchangeRate' | 'markupPercentage' | 'rateSource'>

/** Checks the card, then its currency, then whether there is a rate that gives an amount. */
async function findTerms(
  { bin, amount }: QuoteRequest,
  { bins, rates, markupPercentage }: Needs,
): Promise<Terms | NoQuote> {
  const range = await bins.find(toSpan(bin))
  if (!range?.dccEligible || range.currency === undefined) return 'NON_ELIGIBLE_CARD'
  if (range.currency === amount.currency) return 'SAME_CURRENCY'
  const found = await rates.find([amount.currency, range.currency])
  const [from, to] = [found?.rates.get(amount.currency), found?.rates.get(range.currency)]
  if (!found || from === undefined || to === undefined) return 'UNSUPPORTED_CURRENCY'
  const rate = exchangeRate({ from, to }, markupPercentage)
  const cardholderAmount = convert(amount, rate, range.currency)
  // The converted amount is below the smallest unit of that currency, or above the largest amount.
  if (!cardholderAmount) return 'UNSUPPORTED_CURRENCY'
  return { cardholderAmount, exchangeRate: rate, markupPercentage, rateSource: found.source }
}

export interface QuoteToStore {
  readonly quoted: Quoted
  readonly answer: OperationAnswer
  readonly merchant: Merchant
  readonly key?: OperationKey
}

/** Stores a quote and, in the same commit, the answer under its key, so that a repeated request gets the same quote. */
export async function storeQuote(
  { quoted, answer, merchant, key }: QuoteToStore,
  { commit, clock }: Pick<Engine, 'commit' | 'clock'>,
): Promise<OperationAnswer> {
  const change = {
    insertQuote: quoted.eligible ? quoted.quote : undefined,
    key: keyRow(key, { merchant, answer, now: merchantNow(clock, merchant) }),
  }
  // Without a quote only the key is stored, if there is one.
  if (!change.insertQuote && !change.key) return answer
  const committed = await commit(change)
  if (!committed.committed) throw new CommitRefused(committed.conflict)
  return answer
}
