/** `POST /services/binLookup`: the first digits of a card, and the facts about such cards. */
import type { Static } from 'typebox'
import { choice, closed, flag, formatted, optional, text } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'

export const bin = text(10, 'The first 6 to 10 digits of the card number.', { pattern: '^[0-9]{6,10}$' })

export const binQuestion = closed(
  { bin },
  { title: 'BinQuestion', description: 'The first digits of a card number.' },
)
export type BinQuestion = Static<typeof binQuestion>

const brand = text(32, 'Brand in lower case, for example visa.')

export const binAnswer = closed(
  {
    bin,
    brand,
    coBrands: Type.Array(brand, { maxItems: 8, description: 'Other brands on the same card.' }),
    product: optional(text(64, 'Kind of card, in the words of the scheme.')),
    source: optional(choice(['CREDIT', 'DEBIT', 'PREPAID', 'CHARGE'], 'Where the money comes from.')),
    issuer: optional(text(128, 'The bank that issued the card.')),
    country: optional(formatted('alpha3', 'Country of the issuer, ISO 3166-1 alpha-3.')),
    currency: optional(formatted('currency', 'Currency of the card.')),
    dccEligible: flag('Whether the cardholder may be offered to pay in that currency.'),
  },
  { title: 'BinAnswer', description: 'What all cards that begin with these digits have in common.' },
)
