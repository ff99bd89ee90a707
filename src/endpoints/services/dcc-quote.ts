/** `POST /services/dccQuote`: may this card pay in its own currency, and how much would that be? */
import { serviceCall } from '#endpoints/services/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { type Quoted, quoteConversion, storeQuote } from '#operations/quotes/quote-conversion.ts'
import { type QuoteQuestion, quoteAnswer, quoteQuestion } from '#schemas/services/dcc-quote.ts'

export const dccQuoteEndpoint = endpoint<Services, typeof quoteQuestion>({
  ...serviceCall,
  path: '/services/dccQuote',
  operationId: 'quoteConversion',
  summary: "Offer payment in the cardholder's currency",
  description:
    'Quotes the amount in the currency of the card, with the markup in the rate, for ten minutes. A payment that ' +
    'names the quote in `paymentMethods.card.dcc` with `accepted: true` uses it up; amount and card must be those of ' +
    'the quote.',
  body: quoteQuestion,
  answers: { 200: quoteAnswer },
  examples: [
    {
      summary: 'A card from Great Britain and an amount in euros',
      body: { bin: '411111', amount: { value: 4999, currency: 'EUR' } },
      status: 200,
      answer: {
        quoteId: '019a3f6b2c4d7e8f9012a3b4c5d6e7f8',
        eligible: true,
        merchantAmount: { value: 4999, currency: 'EUR' },
        cardholderAmount: { value: 4377, currency: 'GBP' },
        exchangeRate: '0.875500',
        markupPercentage: '3.00',
        rateSource: 'SIMULATOR',
        quotedAt: '2026-11-15T12:00:00.000Z',
        expiresAt: '2026-11-15T12:10:00.000Z',
      },
    },
    {
      summary: 'A card that already has the currency',
      body: { bin: '497010', amount: { value: 4999, currency: 'EUR' } },
      status: 200,
      answer: {
        quoteId: '019a3f6b2c4d7e8f9012a3b4c5d6e7f9',
        eligible: false,
        reason: 'SAME_CURRENCY',
        merchantAmount: { value: 4999, currency: 'EUR' },
        quotedAt: '2026-11-15T12:00:00.000Z',
      },
    },
  ],
  async handle({ body, merchant, key }, { engine, lookUps }) {
    const quoted = await perform(quoteConversion({ merchant, ...body }, { ...lookUps, ...engine }))
    return perform(storeQuote({ quoted, answer: answer(200, show(quoted, body)), merchant, key }, engine))
  },
})

function show(quoted: Quoted, { amount }: QuoteQuestion) {
  if (!quoted.eligible) {
    const { quoteId, eligible, reason, quotedAt } = quoted
    return { quoteId, eligible, reason, merchantAmount: amount, quotedAt: quotedAt.toISOString() }
  }
  const { quote } = quoted
  return {
    quoteId: quote.quoteId,
    eligible: true,
    merchantAmount: quote.merchantAmount,
    cardholderAmount: quote.cardholderAmount,
    exchangeRate: quote.exchangeRate,
    markupPercentage: quote.markupPercentage,
    rateSource: quote.rateSource,
    quotedAt: quote.quotedAt.toISOString(),
    expiresAt: quote.expiresAt.toISOString(),
  }
}
