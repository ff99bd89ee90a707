/**
 * Rules about customers and their stored payment methods: which payments create a customer, what an approved payment
 * stores, and what a merchant may change. Pure.
 */

import type { CustomerId, MerchantId, StoredMethodId } from '#domain/ids.ts'
import { erasePersonalData } from '#domain/personal-data.ts'
import { lacksAuthorization, type Payment } from '#lifecycle/payment.ts'
import type { CustomerAddress, CustomerPatch } from '#schemas/customer.ts'

export interface Phone {
  readonly countryCode: string
  readonly number: string
}

/** The personal data of a customer that a merchant may read and change. */
export interface CustomerData {
  readonly firstName?: string
  readonly lastName?: string
  readonly email: string
  readonly phone?: Phone
  readonly billingAddress?: CustomerAddress
}

export interface Customer extends CustomerData {
  readonly merchantId: MerchantId
  readonly customerId: CustomerId
  readonly merchantCustomerId: string
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly lastUsedAt: Date
  /** Incremented by every change made by the merchant. */
  readonly version: number
}

interface KeptMethod {
  readonly merchantId: MerchantId
  readonly customerId: CustomerId
  readonly methodId: StoredMethodId
  readonly type: string
  readonly last4Digits: string
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly lastUsedAt: Date
}

export interface StoredCard extends KeptMethod {
  /** The card's id in the vault. */
  readonly cardId: string
  readonly pseudoCardNumber: string
  readonly brand: string
  readonly expiryDate?: string
  readonly cardHolderName?: string
}

export interface StoredAccount extends KeptMethod {
  readonly cardId?: undefined
  /** The account's id in the vault. */
  readonly accountId: string
  readonly pseudoBankAccountNumber: string
  readonly accountHolderName?: string
}

/** A card or account that a customer can pay with again. */
export type StoredMethod = StoredCard | StoredAccount

export const isStoredCard = (method: StoredMethod): method is StoredCard => method.cardId !== undefined

/** The merchant's own id of the customer; undefined if the request names none. */
export function namedCustomer({ kind, details }: Payment): string | undefined {
  const named = details.customerInfo?.merchantCustomerId
  return kind === 'PAYMENT' && named !== undefined && named !== '' ? named : undefined
}

/**
 * The customer whose stored card or account a merchant-initiated payment charges; undefined if it belongs to no customer.
 * It is stored with the payment, because the payment may be settled later by another process.
 */
export const chargedCustomer = ({ own }: Payment): CustomerId | undefined => own.chargedCustomerId

/** Whether the payment has just been approved. */
export const isApproval = (before: Payment, after: Payment): boolean =>
  lacksAuthorization(before) && !lacksAuthorization(after)

/**
 * On a hosted page customers decide whether their card is saved; elsewhere the merchant decides by naming the customer.
 */
export const keepsCard = ({ own }: Payment): boolean => own.keepCard !== false

/**
 * The customer record that an approved payment creates. Undefined if the payment's personal data was erased before the
 * approval: erased data must not return, and a customer needs an email address.
 */
export function customerDataOf({ details }: Payment): CustomerData | undefined {
  const { firstName, lastName, email, phone } = details.customerInfo ?? {}
  if (email === undefined) return undefined
  const { streetName, city, postalCode, state, country } = details.billingAddress ?? {}
  const address = { streetName, city, postalCode, state, country }
  const isKnown = Object.values(address).some(line => line !== undefined)
  return { firstName, lastName, email, phone, billingAddress: isKnown ? address : undefined }
}

/**
 * Every request that names its customer has an email address, so it is missing only if the personal data was erased.
 */
export const isErased = ({ customerInfo }: Payment['details']): boolean =>
  customerInfo !== undefined && customerInfo.email === undefined

/**
 * What is stored of a payment whose customer's data was erased before: the provider gets what the request says, and
 * nothing of it is kept. Earlier operations were erased with the payment.
 */
export const withoutPersonalData = (payment: Payment): Payment => ({
  ...payment,
  details: erasePersonalData(payment.details),
  instrument: erasePersonalData(payment.instrument),
  account: erasePersonalData(payment.account),
  operations: payment.operations.map((operation, at, { length }) =>
    at === length - 1 ? { ...operation, details: erasePersonalData(operation.details) } : operation,
  ),
})

/** A value replaces the stored one, null clears it, an absent field keeps it. The same holds for each address field. */
export function patchCustomer(customer: Customer, patch: CustomerPatch, now: Date): Customer {
  const { firstName, lastName, email, phone, billingAddress } = patch
  return {
    ...customer,
    firstName: merged(customer.firstName, firstName),
    lastName: merged(customer.lastName, lastName),
    email: email ?? customer.email,
    phone: merged(customer.phone, phone),
    billingAddress: patchAddress(customer.billingAddress, billingAddress),
    updatedAt: now,
    version: customer.version + 1,
  }
}

const merged = <T>(old: T | undefined, given: T | null | undefined): T | undefined =>
  given === undefined ? old : (given ?? undefined)

function patchAddress(
  old: CustomerAddress | undefined,
  given: CustomerPatch['billingAddress'],
): CustomerAddress | undefined {
  if (given === undefined) return old
  if (given === null) return undefined
  const address = Object.fromEntries(
    Object.entries({ ...old, ...given }).filter(([, line]) => line !== null && line !== undefined),
  )
  return Object.keys(address).length > 0 ? address : undefined
}
