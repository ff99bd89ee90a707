/** The card within requests, answers and records. A full number and a security code appear in requests only. */
import type { Static } from 'typebox'
import { refundedCapture } from '#methods/fields/other-refunds.ts'
import { nameMax } from '#schemas/parts/address.ts'
import { plainAmount } from '#schemas/parts/amount.ts'
import { choice, closed, flag, formatted, optional, text, when } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'

const number = formatted('card-number', 'Card number or pseudo card number.', { sensitive: true })
const payableNumber = formatted(
  'payable-card-number',
  "Card number, pseudo card number, or the token of a one-time card from the gateway's card fields.",
  { sensitive: true },
)
const expiryDate = (options = {}) => formatted('expiry-date', "The card's last month, YYYYMM.", options)
/** Answers spell it cardHolderName, so some clients send that. */
const cardholderName = text(45, 'Name on the card.', {
  minLength: 2,
  format: 'printable',
  sensitive: true,
  alsoSpelt: 'cardHolderName',
})
const brand = text(32, 'Brand in lower case, for example visa or mastercard.', { pattern: '^[a-z0-9_ -]+$' })
/** Any spelling is accepted; records show it in lower case. */
const namedBrand = text(32, 'Brand, for example visa or mastercard.', { pattern: '^[A-Za-z0-9_ -]+$' })
const securityCode = text(4, 'Three or four digits, never stored.', {
  pattern: '^[0-9]{3,4}$',
  sensitive: true,
})
const schemeReferenceId = text(64, "The scheme's reference that links later payments to the first.", {
  format: 'printable',
})

export const eventToken = choice(
  ['ORDER', 'DELAYED_SHIPMENT', 'PRE_AUTH', 'ACCOUNT_VERIFICATION'],
  'What the authorisation is for, where it is not a plain purchase.',
)

export const threeDsPolicy = closed(
  {
    skip: optional(flag('Whether 3-D Secure is left out.')),
    challengePreference: optional(
      choice(
        ['NO_PREFERENCE', 'NO_CHALLENGE', 'REQUEST_CHALLENGE', 'MANDATE_CHALLENGE'],
        'Whether the merchant wants a challenge.',
      ),
    ),
    exemption: optional(
      choice(
        [
          'LOW_VALUE',
          'TRANSACTION_RISK_ANALYSIS',
          'TRUSTED_MERCHANT',
          'SECURE_CORPORATE',
          'DELEGATED_AUTHENTICATION',
        ],
        'Exemption from strong authentication that the merchant claims.',
      ),
    ),
  },
  { title: 'ThreeDsPolicy', description: 'How 3-D Secure is used for this payment.' },
)

/** 36: the ids are UUIDs. */
const threeDsId = (description: string) =>
  optional(text(36, description, { pattern: '^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$' }))

const threeDsPublic = {
  acsProtocolVersion: optional(
    text(5, 'Version of the protocol.', { pattern: '^[0-9]\\.[0-9](?:\\.[0-9])?$' }),
  ),
  eci: optional(text(2, 'Electronic commerce indicator.', { pattern: '^[0-9]{1,2}$' })),
  threeDSServerTransId: threeDsId('Transaction id of the 3-D Secure server.'),
  dsTransId: threeDsId('Transaction id of the directory server.'),
  transStatus: optional(
    choice(['Y', 'A', 'N', 'U', 'C', 'R', 'D', 'I', 'S'], 'Result of the authentication.'),
  ),
}

export const threeDsData = closed(
  {
    ...threeDsPublic,
    // 28 characters are the schemes' 20 bytes; 64 leaves room for longer ones.
    authenticationValue: optional(
      text(64, 'Proof of the authentication, Base64.', { pattern: '^[0-9A-Za-z+/=]+$', sensitive: true }),
    ),
  },
  { title: 'ThreeDsData', description: 'Result of a 3-D Secure authentication made elsewhere.' },
)

const dcc = closed(
  {
    quoteId: text(64, 'Id of the quote.', { format: 'printable' }),
    accepted: flag('Whether the cardholder took the offer.'),
  },
  { title: 'Dcc', description: "Payment in the cardholder's own currency." },
)

const dccRecord = closed(
  {
    ...dcc.properties,
    cardholderAmount: optional(plainAmount),
    exchangeRate: optional(text(32, "Units of the cardholder's currency for one of the merchant's.")),
    markupPercentage: optional(text(8, 'What the rate holds on top of the published one, in percent.')),
    rateSource: optional(text(32, 'Who published the rate.')),
  },
  { title: 'DccRecord', description: 'The offer, and its terms where the cardholder took it.' },
)

/** The card in `POST /payments`. The number is required for DIRECT and refused for HOSTED, whose page asks for it. */
export const cardRequest = closed(
  {
    number: optional(payableNumber),
    expiryDate: optional(expiryDate({ sensitive: true })),
    cardholderName: optional(cardholderName),
    brand: optional(namedBrand),
    securityCode: optional(securityCode),
    schemeReferenceId: optional(schemeReferenceId),
    eventToken: optional(eventToken),
    threeDsPolicy: optional(threeDsPolicy),
    threeDsData: optional(threeDsData),
    dcc: optional(dcc),
  },
  {
    title: 'CardRequest',
    description:
      'The card to pay with. A pseudo card number brings its own expiry date, a one-time card all its data.',
    // Only pseudo numbers begin with 0, so the first digit decides whether the expiry date is required.
    ...when(
      { properties: { number: { type: 'string', pattern: '^[1-9]' } }, required: ['number'] },
      { properties: { expiryDate: {} }, required: ['expiryDate'] },
    ),
  },
)
export type CardRequest = Static<typeof cardRequest>

export const cardConfirm = closed(
  {
    eventToken: optional(
      choice(
        ['DELAYED_SHIPMENT', 'ORDER'],
        'DELAYED_SHIPMENT once the goods are sent, ORDER for a payment created to authenticate only.',
      ),
    ),
  },
  { title: 'CardConfirm', description: 'What the confirmation of a card payment may say.' },
)

export const cardCapture = closed(
  { finishAuth: optional(flag('Whether the rest of the authorisation is given up after this capture.')) },
  { title: 'CardCapture', description: 'What a card capture may say.' },
)

const providerTransactionId = text(128, "The acquirer's id of the operation.")

export const cardRefund = closed(refundedCapture, {
  title: 'CardRefund',
  description: 'Which capture is refunded.',
})

const senderData = closed(
  {
    // 64: card numbers, IBANs and the longest account numbers of other kinds.
    accountNumber: optional(text(64, "Number of the sender's account.", { sensitive: true })),
    name: optional(text(nameMax, 'Name of the sender.')),
    address: optional(text(nameMax, 'Street and house number of the sender.')),
    city: optional(text(nameMax, 'City of the sender.')),
    countryCode: optional(formatted('numeric3', 'Country of the sender, ISO 3166-1 numeric.')),
    transactionMethod: optional(
      choice(
        ['CREDIT', 'DEBIT', 'PREPAID', 'CASH', 'DEPOSIT_ACCOUNT', 'MOBILE_MONEY_ACCOUNT'],
        'Where the money comes from.',
      ),
    ),
    accountType: optional(
      choice(
        ['RTN_AND_BANK_ACCOUNT_NUMBER', 'IBAN', 'CARD_ACCOUNT', 'IBAN_AND_BIC'],
        'What kind of number the account number is.',
      ),
    ),
  },
  { title: 'SenderData', description: 'Who sends the money.' },
)

const recipientData = closed(
  { name: optional(text(nameMax, 'Name of the recipient.')) },
  { title: 'RecipientData', description: 'Who gets the money.' },
)

/** The card in a refund without reference: no earlier payment knows it, so all its fields are required. */
export const cardCredit = closed(
  {
    number,
    cardholderName,
    expiryDate: expiryDate({ sensitive: true }),
    brand: namedBrand,
    securityCode: optional(securityCode),
    paymentOfWinnings: optional(flag('Whether a win is paid out, not a payment paid back.')),
    paymentData: optional(
      closed(
        { senderData: optional(senderData), recipientData: optional(recipientData) },
        { title: 'PaymentData', description: 'Who sends and who gets the money.' },
      ),
    ),
  },
  { title: 'CardCredit', description: 'The card that gets the money.' },
)

export const cardResult = closed(
  {
    providerResponseCode: optional(text(16, "The acquirer's own code.")),
    providerTransactionId: optional(providerTransactionId),
  },
  { title: 'CardResult', description: 'Result from the acquirer.' },
)

const providerResponseText = optional(text(255, "The acquirer's own words, only when it failed."))
const providerApprovalCode = optional(Type.Number({ description: 'Approval code of the acquirer.' }))

export const cardFailure = closed(
  { ...cardResult.properties, providerResponseText },
  { title: 'CardFailure', description: 'Why the acquirer declined.' },
)

/** Refunds have their own approval code. */
export const cardReturned = closed(
  { ...cardResult.properties, providerApprovalCode },
  { title: 'CardReturned', description: 'Result of a refund or reversal from the acquirer.' },
)

export const cardReturnFailure = closed(
  { ...cardFailure.properties, providerApprovalCode },
  { title: 'CardReturnFailure', description: 'Why the acquirer declined a refund or reversal.' },
)

/** Masked, for payment records. The API contract spells cardHolderName with a capital H here. */
export const cardRecord = closed(
  {
    first6Digits: optional(text(6, 'First six digits.')),
    last4Digits: optional(text(4, 'Last four digits.')),
    pseudoCardNumber: optional(text(16, 'Number that stands for the card at this merchant.')),
    brand: optional(brand),
    expiryDate: optional(expiryDate()),
    cardHolderName: optional(text(45, 'Name on the card.')),
    schemeReferenceId: optional(schemeReferenceId),
    eventToken: optional(eventToken),
    threeDsPolicy: optional(threeDsPolicy),
    threeDsData: optional(
      closed(threeDsPublic, {
        title: 'ThreeDsRecord',
        description: 'Result of 3-D Secure without its proof.',
      }),
    ),
    dcc: optional(dccRecord),
    ...cardReturnFailure.properties,
  },
  { title: 'CardRecord', description: 'The card that was used, masked.' },
)
export type CardRecord = Static<typeof cardRecord>
