/** Provider K: deferred payment, confirmed with the client token from the answer to the create request. */

import {
  providerId,
  providerResponseCode,
  providerResponseText,
  providerTransactionId,
} from '#methods/fields/provider-fields.ts'
import { choice, closed, freeTextMax, givenUrl, optional, text, url } from '#schemas/parts/fields.ts'

/** 4096: these tokens are signed texts of one to two thousand characters. */
const accessToken = text(4096, 'The client token. It is good for 60 minutes.', {
  minLength: 1,
  format: 'printable',
  sensitive: true,
})

export const providerKConfirm = closed(
  { accessToken },
  { title: 'ProviderKConfirm', description: 'The client token that the creation gave.' },
)

const label = (description: string) => optional(text(freeTextMax, description))

const shippingInfo = closed(
  {
    trackingId: label('Number of the parcel.'),
    returnTrackingId: label('Number of the parcel that comes back.'),
    shippingCompany: label('Who brings the parcel.'),
    returnShippingCompany: label('Who brings it back.'),
    trackingUrl: optional(givenUrl('Where the parcel can be followed.')),
    returnTrackingUrl: optional(givenUrl('Where the parcel that comes back can be followed.')),
    shippingMethod: optional(
      choice(
        [
          'PICK_UP_STORE',
          'HOME',
          'BOX_REG',
          'BOX_UNREG',
          'PICK_UP_POINT',
          'OWN',
          'POSTAL',
          'DHL_PACKSTATION',
          'DIGITAL',
          'UNDEFINED',
          'PICK_UP_WAREHOUSE',
          'CLICK_COLLECT',
          'PALLET_DELIVERY_PICK_UP_POINT',
          'PALLET_DELIVERY',
        ],
        'How the goods reach the customer.',
      ),
    ),
  },
  { title: 'ProviderKShippingInfo', description: 'How the goods were sent.' },
)

export const providerKCapture = closed(
  {
    completeType: optional(choice(['YES'], 'Reverses what this capture leaves open; there must be a rest.')),
    shippingInfo: optional(shippingInfo),
  },
  { title: 'ProviderKCapture', description: 'What a capture with provider K may say.' },
)

export const providerKResult = closed(
  { providerResponseCode: optional(providerResponseCode) },
  { title: 'ProviderKResult', description: 'Result from provider K.' },
)

export const providerKFailure = closed(
  { ...providerKResult.properties, providerResponseText: optional(providerResponseText) },
  { title: 'ProviderKFailure', description: 'Why provider K declined.' },
)

export const providerKCreated = closed(
  { ...providerKResult.properties, accessToken: optional(accessToken) },
  { title: 'ProviderKCreated', description: 'The client token to confirm with.' },
)

const agreement = {
  providerTransactionId: optional(providerTransactionId),
  billingAgreementId: optional(
    providerId('Stands for the permission to charge again. Only for the first of a plan.'),
  ),
}

export const providerKConfirmed = closed(
  {
    ...providerKResult.properties,
    ...agreement,
    redirectUrl: optional(url('Send the customer here, so that the provider can set its cookie.')),
  },
  { title: 'ProviderKConfirmed', description: 'Result of the confirmation from provider K.' },
)

export const providerKRefunded = closed(
  { ...providerKResult.properties, invoiceNumber: optional(providerId('Booking number of the refund.')) },
  { title: 'ProviderKRefunded', description: 'Result of the refund from provider K.' },
)

export const providerKRecord = closed(agreement, {
  title: 'ProviderKRecord',
  description: 'What is known of a payment with provider K.',
})
