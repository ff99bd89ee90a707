/**
 * The expressions by which a payment `p` is found, exactly as in its indexes (migrations/0045-found-by.sql). Searchable
 * rows have a column for each; rows of the former release, and those whose personal data was erased, have the value
 * only in their JSON.
 */
import type { Payment } from '#lifecycle/payment.ts'

const either = (column: string, json: string): string =>
  `(CASE WHEN p.searchable THEN p.${column} ELSE ${json} END)`

export const email = either('email', `p.details #>> '{customerInfo,email}'`)
export const merchantCustomer = either(
  'merchant_customer',
  `p.details #>> '{customerInfo,merchantCustomerId}'`,
)
export const chargedCustomer = either('charged_customer', `p.details ->> 'chargedCustomerId'`)
export const linkId = either('link_id', `p.details ->> 'linkId'`)
export const lastDigits = either(
  'last_digits',
  `coalesce(p.instrument ->> 'last4Digits', p.account ->> 'last4Digits')`,
)

/**
 * For an UPDATE that rewrites a payment's JSON: it empties the columns, so that the payment is found by its JSON only.
 */
export const foundByJson =
  'searchable = NULL, email = NULL, merchant_customer = NULL, charged_customer = NULL, link_id = NULL, last_digits = NULL'

/** The search columns, filled from the details. */
export const foundByDetails = ({ details, own }: Payment) => ({
  searchable: true,
  email: details.customerInfo?.email,
  merchant_customer: details.customerInfo?.merchantCustomerId,
  charged_customer: own.chargedCustomerId,
  link_id: own.linkId,
})
