/** The answer of `GET /test/catalogue`: all numbers, modes and codes with a meaning in the test environment. */
import type { Static } from 'typebox'
import { choice, closed, flag, optional, text } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'

const outcome = text(64, 'What a payment with it comes to.')
const description = text(255, 'The same in a few words.')

const testCard = closed(
  {
    // A published number of the test environment, not a real card.
    number: text(19, 'The card number.', { pattern: '^[0-9]{12,19}$' }),
    brand: text(32, 'The brand of the card.'),
    outcome,
    description,
    threeDs: optional(
      choice(
        ['challenge', 'frictionless', 'attempted', 'not_enrolled', 'failed'],
        'What 3-D Secure does with it.',
      ),
    ),
  },
  { title: 'TestCard', description: 'A card with a meaning. Any other right number approves.' },
)

const testAccount = closed(
  { number: text(34, 'The IBAN.'), outcome, description },
  { title: 'TestAccount', description: 'An account with a meaning. Any other right IBAN approves.' },
)

const testAmount = closed(
  { value: Type.Integer({ description: "In the currency's smallest unit." }), outcome, description },
  { title: 'TestAmount', description: 'An amount with a meaning: an operation of exactly this amount.' },
)

const testMode = closed(
  {
    mode: text(4, 'Four digits; `nnnn` for all others.', { pattern: '^([0-9]{4}|nnnn)$' }),
    outcome,
    description,
  },
  { title: 'TestMode', description: 'A value of `simulationMode`.' },
)

const listedCode = closed(
  {
    code: text(8, 'The response code.', { pattern: '^[0-9]{8}$' }),
    description: text(255, 'The code in words, as `responseDescription` gives it.'),
    advice: choice(
      [
        'nothing to do',
        'send the customer on',
        'wait',
        'retry',
        'other card',
        'other method',
        'correct the request',
        'stop',
      ],
      'What to do about it.',
    ),
  },
  { title: 'ListedResponseCode', description: 'A response code, its meaning and what to do about it.' },
)

const testBin = closed(
  {
    bin: text(10, 'The leading digits.', { pattern: '^[0-9]{6,10}$' }),
    brand: optional(text(32, 'Brand of the cards.')),
    coBrands: optional(Type.Array(text(32, 'A brand.'), { description: 'Other brands on the cards.' })),
    product: optional(text(64, 'Product of the issuer.')),
    source: optional(text(64, 'Credit, debit or prepaid.')),
    issuer: optional(text(128, 'Who issues the cards.')),
    country: optional(text(3, "The issuer's country.")),
    currency: optional(text(3, 'Currency of the cards.')),
    dccEligible: optional(flag('Whether the cardholder may pay in that currency.')),
  },
  { title: 'TestBin', description: 'Leading digits that the BIN look-up knows.' },
)

export const testCatalogue = closed(
  {
    cards: Type.Array(testCard, { description: 'Card numbers with a meaning.' }),
    accounts: Type.Array(testAccount, { description: 'IBANs with a meaning.' }),
    amounts: Type.Array(testAmount, { description: 'Amounts with a meaning, in any currency.' }),
    simulationModes: Type.Array(testMode, { description: 'What `simulationMode` may say.' }),
    responseCodes: Type.Array(listedCode, { description: 'Every response code there is.' }),
    bins: Type.Array(testBin, { description: 'Leading digits that the BIN look-up knows.' }),
  },
  { title: 'TestCatalogue', description: 'All that has a meaning in the test environment.' },
)
export type TestCatalogue = Static<typeof testCatalogue>
