/** The shop behind a merchant that collects for others. */
import type { Static } from 'typebox'
import { closed, formatted, optional, text } from '#schemas/fields.ts'

const line = (description: string) => optional(text(64, description))

export const paymentFacilitator = closed(
  {
    subMerchantId: line('Id of the shop.'),
    subMerchantName: line('Name of the shop.'),
    subMerchantCity: line('City.'),
    subMerchantCountry: optional(formatted('alpha2', 'Country, ISO 3166-1 alpha-2.')),
    subMerchantStreet: line('Street.'),
    subMerchantZip: optional(text(16, 'Postal code.')),
    subMerchantState: line('State, province or region.'),
  },
  { title: 'PaymentFacilitator', description: 'The shop a facilitator collects for.' },
)
export type PaymentFacilitator = Static<typeof paymentFacilitator>
