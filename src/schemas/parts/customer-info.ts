/** The customer of a payment. */
import type { Static } from 'typebox'
import { nameMax, phone } from '#schemas/parts/address.ts'
import { closed, formatted, optional, text } from '#schemas/parts/fields.ts'

const email = formatted('email', 'Email address.', { maxLength: 254 })
const short = (description: string) => optional(text(64, description))
const name = (description: string) => optional(text(nameMax, description))

const person = {
  merchantCustomerId: optional(text(64, "The merchant's id of the customer.", { format: 'printable' })),
  customerType: short('For example individual or business.'),
  firstName: name('First name.'),
  lastName: name('Last name.'),
  phone: optional(phone),
  salutation: short('Salutation.'),
  title: short('Title.'),
  gender: short('Gender.'),
  maidenName: name('Name at birth.'),
  middleName: name('Middle name.'),
  birthDate: optional(formatted('date', 'Day of birth.')),
  birthPlace: name('Place of birth.'),
  socialSecurityNumber: optional(text(64, 'Social security number.', { sensitive: true })),
  taxId: optional(text(64, 'Tax number of the person.', { sensitive: true })),
  companyName: optional(text(128, 'Name of the company.')),
  positionOccupied: short('Position within the company.'),
  companyRegistrationNumber: short('Number in the register of companies.'),
  companyVatId: short('VAT number of the company.'),
  companyLegalForm: short('Legal form of the company.'),
}

export const customerInfo = closed(
  { ...person, email },
  { title: 'CustomerInfo', description: 'Who pays. An email address is always needed.' },
)
export type CustomerInfo = Static<typeof customerInfo>

export const customerInfoAnswer = closed(
  {
    gatewayCustomerId: optional(text(64, 'Our id of the customer in the vault.')),
    ...person,
    email: optional(email),
  },
  { title: 'CustomerInfoAnswer', description: 'Who pays, as we know it.' },
)
