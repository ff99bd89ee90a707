/** `POST /services/tokenService`: a number, and its pseudo number at this merchant. */
import type { Static } from 'typebox'
import { choice, closed, formatted, optional, text, when } from '#schemas/parts/fields.ts'
import { transId } from '#schemas/parts/identifiers.ts'
import { responseCode, responseDescription } from '#schemas/result.ts'

/** The format is checked here (400), the check digits by the operation (422). */
const cardForm = { type: 'string', pattern: '^[0-9]{12,19}$' }
const ibanForm = { type: 'string', pattern: '^[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}$' }

export const tokenQuestion = closed(
  {
    transId: optional(transId),
    type: choice(['CARD', 'IBAN'], 'What kind of number it is.'),
    // 34: the longest IBAN.
    number: text(34, 'Card number, IBAN, or a pseudo number of yours.', { minLength: 12, sensitive: true }),
    expiryDate: optional(
      formatted('expiry-date', "The card's last month, YYYYMM; the pseudo number brings it along.", {
        sensitive: true,
      }),
    ),
    cardholderName: optional(
      text(45, 'Name on the card. It is checked and not kept.', {
        minLength: 2,
        format: 'printable',
        sensitive: true,
        alsoSpelt: 'cardHolderName',
      }),
    ),
  },
  {
    title: 'TokenQuestion',
    description: 'A number to be exchanged for a pseudo number.',
    ...when(
      { properties: { type: { const: 'IBAN' } }, required: ['type'] },
      { properties: { number: ibanForm, expiryDate: false, cardholderName: false } },
      { properties: { number: cardForm } },
    ),
  },
)
export type TokenQuestion = Static<typeof tokenQuestion>

export const tokenAnswer = closed(
  {
    token: text(22, 'The pseudo number; use it wherever the number goes.'),
    tokenType: choice(['PSEUDO_CARD_NUMBER', 'PSEUDO_BANK_ACCOUNT_NUMBER'], 'What kind it is.'),
    last4Digits: text(4, 'Last four characters of the number.'),
    brand: optional(text(32, 'Brand of the card.')),
    status: choice(['OK'], 'Always OK.'),
    responseCode,
    responseDescription,
  },
  { title: 'TokenAnswer', description: 'What stands for the number.' },
)
