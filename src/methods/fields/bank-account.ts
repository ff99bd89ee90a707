/** Bank accounts by IBAN, for direct debits and for refunds to an account. */
import { nameMax } from '#schemas/parts/address.ts'
import { closed, formatted, optional, text } from '#schemas/parts/fields.ts'

const bankName = optional(text(64, 'Name of the bank.'))

const code = optional(
  text(11, 'BIC of the bank, 8 or 11 characters.', {
    pattern: '^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$',
  }),
)

export const bankAccount = closed(
  {
    number: formatted(
      'account-number',
      'IBAN in upper case and without spaces, or pseudo bank account number.',
      { sensitive: true },
    ),
    code,
    bankName,
    accountHolderName: text(nameMax, 'Name of the holder.', {
      minLength: 1,
      format: 'printable',
      sensitive: true,
    }),
  },
  { title: 'BankAccount', description: 'An account and its holder.' },
)

/** Masked, for payment records. */
export const bankAccountRecord = closed(
  {
    last4Digits: optional(text(4, 'Last four characters of the IBAN.')),
    pseudoBankAccountNumber: optional(text(22, 'Number that stands for the account at this merchant.')),
    code,
    bankName,
    accountHolderName: optional(text(nameMax, 'Name of the holder.')),
  },
  { title: 'BankAccountRecord', description: 'The account that was used, masked.' },
)
