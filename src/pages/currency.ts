/**
 * The choice of a currency on a page: when customers are asked, and what they answered. The number is typed again or
 * stays in the browser; between the question and the answer nothing of the card is kept but the offer's first digits.
 */
import { isPseudoCardNumber } from '#domain/cards/card-numbers.ts'
import type { PageAnswer, PageRequest } from '#http/server/page-routes.ts'
import { auditOpening } from '#operations/audit/audit.ts'
import { offerConversion } from '#operations/quotes/offer-conversion.ts'
import type { OfferReply } from '#operations/quotes/redeem-quote.ts'
import type { FilledIn } from '#pages/entries.ts'
import type { Hosted, PageDeps } from '#pages/hosted.ts'
import type { Limits } from '#pages/limits.ts'
import type { PageContext } from '#pages/page-context.ts'
import type { FormFields } from '#pages/read-form.ts'
import type { FormState } from '#pages/show.ts'
import { type CurrencyAnswer, currencyChoices } from '#pages/views/currency-choice.ts'

/** 20 offers per payment and time window: no honest customer changes cards that often. After that none are made. */
export const offersMax = 20

/** What a form says about the offer that its page showed: undefined where it showed none. */
export interface ShownOffer {
  readonly quoteId: string
  /** Undefined: the customer has not chosen. */
  readonly answer?: CurrencyAnswer | undefined
}

export function readShownOffer({ quoteId, dcc }: FormFields): ShownOffer | undefined {
  if (quoteId === undefined || quoteId === '') return undefined
  return { quoteId, answer: currencyChoices.find(choice => choice === dcc) }
}

export const toReply = (shown: ShownOffer | undefined): OfferReply | undefined =>
  shown?.answer && { quoteId: shown.quoteId, accepted: shown.answer === 'accepted' }

export interface Question {
  readonly request: PageRequest
  readonly hosted: Hosted
  readonly entry: FilledIn
  /** What else the page shows: the method, the entries, why the form is shown again. */
  readonly state: FormState
  /** The shown offer, which is kept while it is valid. */
  readonly shown?: ShownOffer | undefined
}

/** The page with the choice in it, or undefined where there is nothing to choose. */
export async function askForCurrency(
  { request, hosted, entry, state, shown }: Question,
  {
    pageContext,
    offers,
    deps,
  }: { readonly pageContext: PageContext; readonly offers: Limits; readonly deps: PageDeps },
): Promise<PageAnswer | undefined> {
  const { merchant, payment } = hosted
  const keys = [payment.payId]
  if (!merchant.dcc || !entry.card || !offers.allows(keys)) return undefined
  const offering = { merchant, payment, card: entry.card, shownId: shown?.quoteId }
  // A stored card is opened here to see which currency is its own; which is not yet a payment and is therefore audited.
  const cards = isPseudoCardNumber(entry.card.number.reveal()) ? 1 : 0
  const { merchantId } = merchant
  const opening = { merchantId, from: request.address, purpose: 'offer of a currency', cards } as const
  await auditOpening(opening, deps.audit)
  const quote = await offerConversion(offering, deps)
  if (!quote) return undefined
  if (quote.quoteId !== shown?.quoteId) offers.count(keys)
  // The earlier answer is shown again only with the offer it was given for.
  const answer = quote.quoteId === shown?.quoteId ? shown.answer : undefined
  return pageContext.refuse(request, hosted, { ...state, offer: { ...quote, answer } })
}
