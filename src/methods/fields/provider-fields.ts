/** Fields that many method objects share, and the objects of methods without their own fields. */

import { closed, freeTextMax, optional, text } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'

/** 128: providers' ids have 16 to 64 characters, with room to grow. */
const providerIdMax = 128

export const providerId = (description: string) => text(providerIdMax, description)

export const providerResponseCode = text(16, "The provider's own code.")

export const providerResponseText = text(freeTextMax, "The provider's own words, only when it failed.")

export const providerTransactionId = providerId("The provider's id of the operation.")

export const providerDeclineCategory = text(64, 'Kind of decline in the words of the provider.')

export const emptyObject = closed(
  {},
  {
    title: 'EmptyMethodObject',
    description: 'The object of a method that needs nothing more; it stays empty.',
  },
)

const account = closed(
  {
    bankName: optional(text(64, 'Name of the bank.')),
    code: optional(text(11, 'BIC of the bank.')),
    number: optional(text(34, 'IBAN or number of the account.')),
    accountHolderName: optional(text(64, 'Name of the holder.')),
    last4Digits: optional(text(4, 'Of the account that paid, once its transfer has arrived.')),
    pseudoBankAccountNumber: optional(text(34, 'Stands for the account that paid.')),
  },
  {
    title: 'PayeeAccount',
    description:
      "Where the customer's transfer goes; in a record of a paid one, the account that it came from.",
  },
)

/**
 * The data with which the customer pays a voucher, a transfer or a QR code. 2048: a QR code holds at most an address.
 */
const customerStep = {
  paymentReference: optional(providerId('What the customer shows at the till or writes on the transfer.')),
  account: optional(account),
  qrCode: optional(text(2048, 'Contents of the QR code that the customer scans.')),
  expirationTime: optional(text(32, 'Until when the customer can pay, UTC.')),
}

export const otherCreated = closed(
  { providerResponseCode: optional(providerResponseCode), ...customerStep },
  { title: 'OtherCreated', description: 'What the customer of any other method needs to know to pay.' },
)

export const otherResult = closed(
  { providerResponseCode: optional(providerResponseCode) },
  { title: 'OtherResult', description: 'Result from the provider of any other method.' },
)

export const otherFailure = closed(
  {
    providerResponseCode: optional(providerResponseCode),
    // Some providers send a number instead of a text; the API contract allows both.
    providerResponseText: optional(
      Type.Union([Type.String(), Type.Number()], { description: "The provider's own words." }),
    ),
  },
  { title: 'OtherFailure', description: 'Why the provider of any other method declined.' },
)

export const otherRecord = closed(
  { providerTransactionId: optional(providerTransactionId), ...customerStep },
  { title: 'OtherRecord', description: 'What is known of a payment by any other method.' },
)
