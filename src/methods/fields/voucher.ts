/** Vouchers: cash payments can only be refunded to an account. */
import { closed, optional, text } from '#schemas/parts/fields.ts'

/**
 * The refund object of every method without its own one. The schema does not know which keys are vouchers, so the check
 * against the method's row refuses these members for other families.
 */
export const voucherRefund = closed(
  {
    bankName: optional(text(64, 'Name of the bank.')),
    accountNumber: optional(
      text(64, 'Number of the account, with a hyphen in it.', {
        pattern: '^[0-9A-Za-z ]*-[0-9A-Za-z -]*$',
        sensitive: true,
      }),
    ),
    bankSortCode: optional(text(32, 'Code of the bank or branch.', { format: 'printable' })),
  },
  {
    title: 'VoucherRefund',
    description: 'The account that gets the money back, for vouchers. For other methods it stays empty.',
  },
)
