/**
 * Erases personal data from stored JSON: names, e-mail, telephone, addresses except the country, IP and device.
 * Bookkeeping data stays: amounts, ids, dates, country, masked numbers, and the merchant's own metadata. Pure.
 */

/** Members that are personal in any object. Names of goods and banks are not. */
const personal: ReadonlySet<string> = new Set([
  'firstName',
  'lastName',
  'middleName',
  'maidenName',
  'salutation',
  'gender',
  'birthDate',
  'birthPlace',
  'socialSecurityNumber',
  'taxId',
  'companyName',
  'positionOccupied',
  'companyRegistrationNumber',
  'companyVatId',
  'cardholderName',
  'cardHolderName',
  'accountHolderName',
  'email',
  'phone',
  'mobilePhone',
  'workPhone',
  'homePhone',
  'streetName',
  'streetNumber',
  'addressLine2',
  'addressLine3',
  'ipAddress',
  'ipAddres',
  'browserInfo',
  'device',
  'deviceInfo',
  // The merchant's data about the customer's account, for 3-D Secure.
  'fraudData',
  'sender',
  'recipient',
])

/** Members that are personal only in a customer object, because their names mean something else elsewhere. */
const personalOfCustomer: ReadonlySet<string> = new Set(['title', 'name', 'city', 'state', 'postalCode'])

const customers: ReadonlySet<string> = new Set([
  'customerInfo',
  'billing',
  'billingAddress',
  'shipping',
  'shippingAddress',
  'payer',
])

/** Returned to the merchant unchanged; merchants must erase personal data there themselves. */
const ownData = 'metadata'

/** A pattern for a personal member in stored JSON text, so that erased rows are not visited again. */
export const personalMember = `"(${[...personal].join('|')})"\\s*:`

/** The result is still a T, because members are only removed and personal ones are optional wherever they occur. */
export function erasePersonalData<T>(value: T): T {
  return erase(value, false) as T
}

function erase(value: unknown, ofCustomer: boolean): unknown {
  if (Array.isArray(value)) return value.map(item => erase(item, ofCustomer))
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(
    ([key]) => !personal.has(key) && !(ofCustomer && personalOfCustomer.has(key)),
  )
  return Object.fromEntries(
    kept.map(([key, member]) => [
      key,
      key === ownData ? member : erase(member, ofCustomer || customers.has(key)),
    ]),
  )
}
