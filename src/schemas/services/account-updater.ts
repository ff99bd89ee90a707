/** `POST /services/accountUpdater`: the cards to look up, and the schemes' answers. */
import type { Static } from 'typebox'
import { choice, closed, formatted, optional, text, when } from '#schemas/parts/fields.ts'
import { transId } from '#schemas/parts/identifiers.ts'
import { Type } from '#schemas/parts/type.ts'
import { responseCode, responseDescription } from '#schemas/result.ts'

/** 10,000: the limit of the API contract for one request. */
const cardsMax = 10_000

const reference = text(64, 'The name under which the result comes back.', {
  minLength: 1,
  format: 'printable',
})

const askedCard = closed(
  {
    reference: optional(reference),
    number: optional(formatted('card-number', 'Card number or pseudo card number.', { sensitive: true })),
    expiryDate: optional(formatted('expiry-date', "The card's last month, YYYYMM.", { sensitive: true })),
    gatewayCustomerId: optional(text(64, 'Id of the customer who stored the card.', { minLength: 1 })),
    paymentMethodId: optional(text(64, 'Id of the stored payment method.', { minLength: 1 })),
  },
  {
    title: 'AskedCard',
    description: 'A card by its number, or a stored payment method by its two ids.',
    ...when(
      { properties: { gatewayCustomerId: {} }, required: ['gatewayCustomerId'] },
      {
        properties: { number: false, expiryDate: false, paymentMethodId: {} },
        required: ['paymentMethodId'],
      },
      { properties: { number: {}, paymentMethodId: false }, required: ['number'] },
    ),
  },
)

export const accountUpdate = closed(
  {
    transId,
    cards: Type.Array(askedCard, {
      minItems: 1,
      maxItems: cardsMax,
      description: 'The cards to ask about; results come in the same order.',
    }),
  },
  { title: 'AccountUpdate', description: 'Cards whose numbers and dates may have changed.' },
)
export type AccountUpdate = Static<typeof accountUpdate>

const updateStatus = choice(
  ['CARD_UPDATED', 'EXPIRY_UPDATED', 'NO_CHANGE', 'CARD_CLOSED', 'CONTACT_CARDHOLDER', 'NOT_FOUND', 'FAILED'],
  'What the scheme says. NOT_FOUND also for a pseudo number or stored method that is not yours.',
)

const updatedCard = closed(
  {
    reference: optional(reference),
    pseudoCardNumber: optional(text(16, 'Stands for the card that was asked about.')),
    updateStatus,
    newPseudoCardNumber: optional(text(16, 'Stands for the card that has taken its place.')),
    newExpiryDate: optional(formatted('expiry-date', 'The new last month, YYYYMM.')),
    last4Digits: optional(text(4, 'Last four digits of the card that is valid now.')),
    brand: optional(text(32, 'Brand of the card that is valid now.')),
  },
  { title: 'UpdatedCard', description: 'The news of one card.' },
)

export const accountUpdates = closed(
  {
    transId,
    status: choice(['OK'], 'All cards were asked about; each has a status of its own.'),
    responseCode,
    responseDescription,
    cards: Type.Array(updatedCard, { maxItems: cardsMax, description: 'In the order of the request.' }),
  },
  { title: 'AccountUpdates', description: 'The news of all cards.' },
)
