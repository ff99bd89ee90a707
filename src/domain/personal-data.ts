/**
 * Takes personal data out of stored JSON: names, e-mail, telephone, addresses but for the country, IP and device. What the
 * books need stays: amounts, ids, dates, country, masked numbers, and the merchant's own metadata. Pure.
 */

/** Members that are about a person in whatever object they appear. The names of goods and banks are not among them. */
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
  // What the merchant knows about its customer's account, for 3-D Secure.
  'fraudData',
  'sender',
  'recipient',
])

/** Members of a customer whose names mean something else in other objects. */
const personalOfCustomer: ReadonlySet<string> = new Set(['title', 'name', 'city', 'state', 'postalCode'])

const customers: ReadonlySet<string> = new Set([
  'customerInfo',
  'billing',
  'billingAddress',
  'shipping',
  'payer',
])

/** Returned to the merchant as it was sent; merchants erase what they keep there themselves. */
const ownData = 'metadata'

/** Finds one of them in stored JSON text, so that what was blanked before is not looked at again. */
export const personalMember = `"(${[...personal].join('|')})"\\s*:`

/** Members are only left out, and personal ones are optional wherever they occur: the result is still a T. */
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
