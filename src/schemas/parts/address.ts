/** Postal addresses and telephone numbers. */
import type { Static } from 'typebox'
import { closed, formatted, optional, text } from '#schemas/parts/fields.ts'

export const phone = closed(
  {
    countryCode: text(5, 'Country code, with or without a plus sign.', { pattern: '^\\+?[0-9]{1,4}$' }),
    number: text(15, 'Number without the country code, digits only.', { pattern: '^[0-9]{3,15}$' }),
  },
  { title: 'Phone', description: 'A telephone number.' },
)

/** 64: the longest name or line that card schemes and parcel services support. */
export const nameMax = 64

const place = {
  streetName: optional(text(64, 'Street without the house number.')),
  streetNumber: optional(text(16, 'House number.')),
  addressLine2: optional(text(64, 'Second line of the address.')),
  addressLine3: optional(text(64, 'Third line of the address.')),
  city: optional(text(64, 'City.')),
  state: optional(text(64, 'State, province or region.')),
  country: optional(formatted('alpha3', 'Country, ISO 3166-1 alpha-3.')),
  postalCode: optional(text(16, 'Postal code.')),
}

export const billingAddress = closed(place, {
  title: 'BillingAddress',
  description: 'Where the invoice goes.',
})
export type BillingAddress = Static<typeof billingAddress>

/** For a refund without reference: it may also name the resident. */
export const refundBillingAddress = closed(
  {
    firstName: optional(text(nameMax, 'First name.')),
    lastName: optional(text(nameMax, 'Last name.')),
    ...place,
  },
  { title: 'RefundBillingAddress', description: 'Where the customer lives.' },
)

export const shippingAddress = closed(
  {
    firstName: optional(text(nameMax, 'First name of the recipient.')),
    lastName: optional(text(nameMax, 'Last name of the recipient.')),
    companyName: optional(text(128, 'Company, for business recipients.')),
    ...place,
    phone: optional(phone),
  },
  { title: 'ShippingAddress', description: 'Where the goods go.' },
)

export const shipping = closed(
  { address: optional(shippingAddress), type: optional(text(64, 'Way of shipping.')) },
  { title: 'Shipping', description: 'Where and how the goods are sent.' },
)
export type Shipping = Static<typeof shipping>
