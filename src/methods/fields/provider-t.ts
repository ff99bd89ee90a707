/** Provider T: instalments that the customer may pay by bank transfer. */

import {
  providerDeclineCategory,
  providerId,
  providerResponseCode,
  providerResponseText,
  providerTransactionId,
} from '#methods/fields/provider-fields.ts'
import { nameMax } from '#schemas/parts/address.ts'
import { choice, closed, formatted, optional, text } from '#schemas/parts/fields.ts'

const transferType = optional(
  choice(['BANK_TRANSFER'], 'The customer pays by transfer to an account we name.'),
)

export const providerTCreate = closed(
  { transferType },
  { title: 'ProviderTRequest', description: 'How the customer pays provider T.' },
)

const account = closed(
  {
    bankName: optional(text(64, 'Name of the bank.')),
    code: optional(text(11, 'BIC of the bank.')),
    number: optional(text(34, 'IBAN or number of the account.')),
    accountHolderName: optional(text(nameMax, 'Name of the holder.')),
  },
  { title: 'TransferAccount', description: "Where the customer's transfer goes. Only for BANK_TRANSFER." },
)

export const providerTResult = closed(
  {
    authorizationExpiry: optional(
      formatted('date-time', 'When what is neither captured nor cancelled is cancelled by itself.'),
    ),
    account: optional(account),
    paymentReference: optional(providerId('What the customer writes on the transfer.')),
    providerTransactionId: optional(providerTransactionId),
  },
  { title: 'ProviderTResult', description: 'Result from provider T.' },
)

export const providerTFailure = closed(
  {
    providerDeclineCategory: optional(providerDeclineCategory),
    providerResponseText: optional(providerResponseText),
    providerResponseCode: optional(providerResponseCode),
  },
  { title: 'ProviderTFailure', description: 'Why provider T declined.' },
)

export const providerTRecord = closed(
  { transferType, ...providerTResult.properties },
  { title: 'ProviderTRecord', description: 'What is known of a payment with provider T.' },
)
