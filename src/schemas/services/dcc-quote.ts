/** `POST /services/dccQuote`: whether a card can pay an amount in its own currency, and on which terms. */
import type { Static } from 'typebox'
import { plainAmount } from '#schemas/parts/amount.ts'
import { choice, closed, flag, formatted, optional, text } from '#schemas/parts/fields.ts'
import { ownId, transId } from '#schemas/parts/identifiers.ts'
import { bin } from '#schemas/services/bin-lookup.ts'

export const quoteQuestion = closed(
  { bin, amount: plainAmount, transId: optional(transId) },
  { title: 'QuoteQuestion', description: 'What is to be paid, and by which card.' },
)
export type QuoteQuestion = Static<typeof quoteQuestion>

export const quoteAnswer = closed(
  {
    quoteId: ownId('Names this offer; a payment that accepts it brings it back.'),
    eligible: flag('Whether there is an offer.'),
    reason: optional(
      choice(['NON_ELIGIBLE_CARD', 'SAME_CURRENCY', 'UNSUPPORTED_CURRENCY'], 'Why there is none.'),
    ),
    merchantAmount: plainAmount,
    cardholderAmount: optional(plainAmount),
    exchangeRate: optional(
      text(25, "Units of the cardholder's currency for one of the merchant's, the markup in it.", {
        pattern: '^[0-9]+\\.[0-9]{6}$',
      }),
    ),
    markupPercentage: optional(
      text(5, 'What the rate holds on top of the published one, in percent.', {
        pattern: '^[0-9]{1,2}\\.[0-9]{2}$',
      }),
    ),
    rateSource: optional(text(32, 'Who published the rate.')),
    quotedAt: formatted('date-time', 'When the offer was made.'),
    expiresAt: optional(formatted('date-time', 'Until when a payment may use it.')),
  },
  {
    title: 'QuoteAnswer',
    description: "An offer to pay in the cardholder's currency, or why there is none.",
  },
)
