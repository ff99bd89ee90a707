/** Whether the brand a request names can be on a card with that number. The error text never repeats the number. */
import { detectBrand, mayBear } from '#domain/card-brands.ts'
import { isOneTimeToken } from '#domain/one-time-tokens.ts'
import type { Misfit } from '#methods/catalogue.ts'

export function findBrandMisfit(
  card: { readonly number?: string; readonly brand?: string } | undefined,
): Misfit | undefined {
  if (card?.number === undefined || card.brand === undefined || isOneTimeToken(card.number)) return undefined
  if (mayBear(card.number, card.brand)) return undefined
  return {
    field: 'paymentMethods.card.brand',
    error: `${card.brand} is not the brand of this card number; allowed: ${detectBrand(card.number)}`,
  }
}
