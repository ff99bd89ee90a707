/** The merchant's data about the customer's account and order, for fraud checks and 3-D Secure. */
import type { Static } from 'typebox'
import { maximumAmount } from '#domain/money/money.ts'
import { choice, closed, flag, formatted, freeTextMax, optional, text, whole } from '#schemas/parts/fields.ts'

/** A million: far above any real count for one account. */
const countMax = 1_000_000
/** 250 countries of three digits and their commas. */
const zonesMax = 1000

const day = (description: string) => optional(formatted('date', description))
const count = (description: string) => optional(whole(0, countMax, description))
const zones = (description: string) =>
  optional(text(zonesMax, description, { pattern: '^[0-9]{3}(?:,[0-9]{3})*$' }))

const sinceThisTransaction = [
  'THIS_TRANSACTION',
  'LESS_THAN_30_DAYS',
  'FROM_30_TO_60_DAYS',
  'MORE_THAN_60_DAYS',
] as const
const age = (description: string) =>
  optional(choice(['GUEST_CHECKOUT', ...sinceThisTransaction], description))
const change = (description: string) => optional(choice([...sinceThisTransaction], description))

const authenticationInfo = closed(
  {
    method: optional(
      choice(
        [
          'GUEST',
          'MERCHANT_CREDENTIALS',
          'FEDERATED_ID',
          'ISSUER_CREDENTIALS',
          'THIRD_PARTY_AUTHENTICATION',
          'FIDO',
          'SIGNED_FIDO',
          'SRC_ASSURANCE_DATA',
        ],
        'How the customer signed in.',
      ),
    ),
    timestamp: optional(formatted('date-time', 'When the customer signed in.')),
    // 20,000: the limit of EMV 3-D Secure.
    data: optional(text(20_000, 'Evidence of the sign-in.', { sensitive: true })),
  },
  { title: 'AuthenticationInfo', description: "The customer's sign-in at the merchant." },
)

const accountInfo = closed(
  {
    id: optional(text(64, "Id of the customer's account at the merchant.")),
    authenticationInfo: optional(authenticationInfo),
    ageIndicator: age('How old the account is.'),
    changeDate: day('When the account last changed.'),
    changeIndicator: change('How long ago the account changed.'),
    creationDate: day('When the account was opened.'),
    passwordChangeDate: day('When the password last changed.'),
    passwordChangeDateIndicator: optional(
      choice(['NO_CHANGE', ...sinceThisTransaction], 'How long ago the password changed.'),
    ),
    numberOfPurchases: count('Purchases within six months.'),
    addCardAttemptsDay: count('Tries to add a card within 24 hours.'),
    numberTransactionsDay: count('Transactions within 24 hours.'),
    numberTransactionsYear: count('Transactions within a year.'),
    paymentAccountAge: day('When the card was added to the account.'),
    paymentAccountAgeIndicator: age('How long the account has had the card.'),
    shipAddressUsageDate: day('When the shipping address was first used.'),
    shipAddressUsageIndicator: change('How long ago the shipping address was first used.'),
    suspiciousAccountActivity: optional(flag('Whether the merchant has seen anything suspicious.')),
  },
  { title: 'AccountInfo', description: "The customer's account at the merchant." },
)

export const fraudData = closed(
  {
    accountInfo: optional(accountInfo),
    deliveryEmail: optional(formatted('email', 'Where electronic goods are sent.', { maxLength: 254 })),
    deliveryTimeframe: optional(text(freeTextMax, 'How soon the goods arrive.')),
    giftCardAmount: optional(whole(0, maximumAmount, 'Gift cards bought, in the smallest unit.')),
    giftCardCount: count('How many gift cards are bought.'),
    giftCardCurrency: optional(whole(1, 999, 'Currency of the gift cards as ISO 4217 number.')),
    preOrderDate: day('When pre-ordered goods will be there.'),
    preOrderPurchaseIndicator: optional(flag('Whether goods are pre-ordered.')),
    reorderItemsIndicator: optional(flag('Whether the same goods were bought before.')),
    shippingAddressIndicator: optional(text(64, 'How the shipping address was chosen.')),
    ipZone: zones('Countries orders are accepted from, three digits each, with commas between.'),
    zone: zones('Countries cards are accepted from, three digits each, with commas between.'),
  },
  { title: 'FraudData', description: 'What the merchant knows about customer and order.' },
)
export type FraudData = Static<typeof fraudData>
