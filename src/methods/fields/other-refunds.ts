/** Refunds of methods without an object of their own: vouchers, and methods that are captured in several parts. */
import { providerId } from '#methods/fields/provider-fields.ts'
import { closed, optional, text } from '#schemas/parts/fields.ts'

/** The capture to refund. Without it, only the last of several captures could be refunded. */
export const refundedCapture = {
  providerTransactionId: optional(providerId('The capture to refund; the last one if absent.')),
}

export const captureRefund = closed(refundedCapture, {
  title: 'CaptureRefund',
  description: 'Which of several captures is refunded.',
})

/** Vouchers are paid in cash, so they can only be refunded to an account. */
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
  { title: 'VoucherRefund', description: 'The account that gets the money back.' },
)

/** The schema does not know the methods behind the keys, so the check against the method's row refuses the others' members. */
export const otherRefund = closed(
  { ...refundedCapture, ...voucherRefund.properties },
  { title: 'OtherRefund', description: 'What the refund of any other method may say.' },
)
