/** Provider R: purchase on invoice. A capture names the shipment. */

import { refundedCapture } from '#methods/fields/other-refunds.ts'
import { providerId, providerResponseCode, providerResponseText } from '#methods/fields/provider-fields.ts'
import { billingAddress, shipping } from '#schemas/parts/address.ts'
import { choice, closed, freeTextMax, optional, text } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'

const shippingInfo = closed(
  {
    type: choice(['SHIPMENT', 'RETURN'], 'Whether the parcel goes out or comes back.'),
    shippingCompany: text(freeTextMax, 'Who brings the parcel.', { minLength: 1 }),
    trackingId: text(freeTextMax, 'Number of the parcel.', { minLength: 1 }),
  },
  { title: 'ProviderRShippingInfo', description: 'How the goods were sent.' },
)

export const providerRCapture = closed(
  { shippingInfo },
  { title: 'ProviderRCapture', description: 'What a capture with provider R says.' },
)

export const providerRRefund = closed(
  {
    refundType: optional(choice(['RETURN', 'REFUND'], 'Whether goods came back or only money goes.')),
    invoiceNumber: optional(providerId('Number of the invoice.')),
    ...refundedCapture,
  },
  { title: 'ProviderRRefund', description: 'What a refund with provider R may say.' },
)

export const providerRResult = closed(
  { providerResponseCode: optional(providerResponseCode) },
  { title: 'ProviderRResult', description: 'Result from provider R.' },
)

export const providerRFailure = closed(
  { ...providerRResult.properties, providerResponseText: optional(providerResponseText) },
  { title: 'ProviderRFailure', description: 'Why provider R declined.' },
)

export const providerRConfirmed = closed(
  {
    ...providerRResult.properties,
    billingAddress: optional(billingAddress),
    shippingAddress: optional(shipping),
  },
  { title: 'ProviderRConfirmed', description: 'Result of the confirmation from provider R.' },
)

/** The API contract defines a number here, and text everywhere else. */
const refundCode = optional(Type.Number({ description: "The provider's own code as a number." }))

export const providerRRefunded = closed(
  { providerResponseCode: refundCode },
  { title: 'ProviderRRefunded', description: 'Result of the refund from provider R.' },
)

export const providerRRefundFailure = closed(
  { providerResponseCode: refundCode, providerResponseText: optional(providerResponseText) },
  { title: 'ProviderRRefundFailure', description: 'Why provider R refused the refund.' },
)
