/**
 * The choice of a currency on a page: decides when to ask customers, and reads their answers. The card number is typed
 * again or stays in the browser; between question and answer only the card's first digits are kept, in the quote.
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

/** The customer's answer to the offer that the page showed; undefined if it showed none. */
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
  /** The rest of the form's state: the method, the entries, the reason why the form is shown again. */
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
  // A stored card is decrypted here to find its currency; this is not yet a payment and is therefore audited.
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
