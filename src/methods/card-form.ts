/**
 * The one card form of a page: which of the offered methods it serves, and as which of them a card is paid. A merchant
 * who allows brands by name wants no cards of other brands.
 */
import { detectBrand, findCardBrand, mayBear, mayRide } from '#domain/cards/card-brands.ts'
import { formOf } from '#methods/offer.ts'
import type { Method } from '#methods/rows.ts'

/** What is known of a card: its number, or the brand of one that the vault keeps. */
export type KnownCard = { readonly number: string } | { readonly brand: string }

/** The method whose object holds the card takes cards of every brand; the others are a brand each. */
const takesEveryBrand = (method: Method): boolean => method.key === 'card'

interface Offer {
  readonly method: Method
  readonly form: string
}

/**
 * The offers that the form serves: the general method alone, or all brands that are paid on our page. Brands that their
 * provider's own page asks for are chosen one by one.
 */
export function servedByForm<Each extends Offer>(offered: readonly Each[]): readonly Each[] {
  const general = offered.find(({ method }) => takesEveryBrand(method))
  return general ? [general] : offered.filter(({ form }) => form === 'card')
}

/** Without the brands that the general method takes as well, and with the form's first offer for all that it serves. */
export function withOneCardForm<Each extends Offer>(offered: readonly Each[]): readonly Each[] {
  const served = servedByForm(offered)
  const isGeneral = served.some(({ method }) => takesEveryBrand(method))
  return offered.filter(offer => {
    const isShownBySomeOther = isGeneral ? formOf(offer.method) === 'card' : served.includes(offer)
    return offer === served[0] || !isShownBySomeOther
  })
}

/** The brands that the form is limited to; none if it takes every card. */
export const allowedBrands = <Each extends Offer>(offered: readonly Each[]): readonly Each[] =>
  servedByForm(offered).filter(({ method, form }) => form === 'card' && !takesEveryBrand(method))

/** The offer by which this card is paid; undefined if the card is certainly of a brand that is not offered. */
export function offerFor<Each extends Offer>(card: KnownCard, offered: readonly Each[]): Each | undefined {
  const served = servedByForm(offered)
  const brand = 'brand' in card ? card.brand : detectBrand(card.number)
  // A number that several brands may bear is paid as the brand that issued it.
  const own = served.find(({ method }) => findCardBrand(method.type)?.brand === brand)
  return own ?? served.find(({ method }) => takesEveryBrand(method) || mayBe(card, method.type))
}

const mayBe = (card: KnownCard, type: string): boolean =>
  'number' in card ? mayBear(card.number, type) : mayRide(card.brand, type)
