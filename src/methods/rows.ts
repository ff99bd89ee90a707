/**
 * The rows of all payment methods, joined from the files of the families. Every difference between methods is a column
 * or a named flow; no other folder refers to a method by name. To add a method, add a row to its family.
 */
import type { Method } from '#methods/method.ts'
import { bankRedirects } from '#methods/rows/bank-redirect.ts'
import { bankTransfers } from '#methods/rows/bank-transfer.ts'
import { payLater } from '#methods/rows/bnpl.ts'
import { cards } from '#methods/rows/card.ts'
import { carrierBilling } from '#methods/rows/carrier-billing.ts'
import { cashOnDelivery } from '#methods/rows/cash-on-delivery.ts'
import { coreTypes } from '#methods/rows/core.ts'
import { crypto } from '#methods/rows/crypto.ts'
import { directDebits } from '#methods/rows/direct-debit.ts'
import { giftCards } from '#methods/rows/gift-card.ts'
import { instalments } from '#methods/rows/instalment.ts'
import { invoices } from '#methods/rows/invoice.ts'
import { mobile } from '#methods/rows/mobile.ts'
import { openBanking } from '#methods/rows/open-banking.ts'
import { prepaid } from '#methods/rows/prepaid.ts'
import { qrCodes } from '#methods/rows/qr.ts'
import { vouchers } from '#methods/rows/voucher.ts'
import { wallets } from '#methods/rows/wallet.ts'

export type {
  CaptureType,
  Flow,
  IntegrationType,
  Method,
  MethodOperation,
} from '#methods/method.ts'

const byFamily: readonly Method[] = [
  ...cards,
  ...directDebits,
  ...bankRedirects,
  ...openBanking,
  ...bankTransfers,
  ...qrCodes,
  ...wallets,
  ...mobile,
  ...payLater,
  ...instalments,
  ...invoices,
  ...vouchers,
  ...prepaid,
  ...giftCards,
  ...carrierBilling,
  ...crypto,
  ...cashOnDelivery,
]

/** The whole catalogue: the core methods in their own order, then the others by family. */
export const rows: readonly Method[] = [
  ...byFamily.filter(row => row.core).sort((a, b) => coreTypes.indexOf(a.type) - coreTypes.indexOf(b.type)),
  ...byFamily.filter(row => !row.core),
]
