/** The SEPA direct debit: the account and its mandate. */

import { bankAccount, bankAccountRecord } from '#methods/fields/bank-account.ts'
import { providerTransactionId } from '#methods/fields/provider-fields.ts'
import { closed, formatted, optional, text, when } from '#schemas/parts/fields.ts'

const mandate = {
  mandateId: optional(
    // 35 and these characters: the limits of SEPA messages.
    text(35, 'Number of the mandate, unique at the merchant; upper and lower case are the same.', {
      minLength: 1,
      pattern: "^[0-9A-Za-z':?,.+/()-]+$",
    }),
  ),
  dateOfSignature: optional(
    formatted('dotted-date', 'Day of the signature, DD.MM.YYYY. Needed with a mandate.'),
  ),
}

/** A mandate is invalid without its date of signature. */
const signed = when(
  { properties: { mandateId: {} }, required: ['mandateId'] },
  { properties: { dateOfSignature: {} }, required: ['dateOfSignature'] },
)

export const directDebitCreate = closed(
  { account: optional(bankAccount), ...mandate },
  { title: 'DirectDebitRequest', description: 'The account to debit. DIRECT needs it.', ...signed },
)

export const directDebitCapture = closed(mandate, {
  title: 'DirectDebitCapture',
  description: 'The mandate that allows this capture.',
  ...signed,
})

export const directDebitCredit = closed(
  { account: bankAccount },
  { title: 'DirectDebitCredit', description: 'The account that gets the money.' },
)

export const directDebitRecord = closed(
  {
    account: optional(bankAccountRecord),
    ...mandate,
    providerTransactionId: optional(providerTransactionId),
  },
  { title: 'DirectDebitRecord', description: 'The account that was debited, masked.' },
)
