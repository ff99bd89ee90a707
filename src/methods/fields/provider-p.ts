/** Provider P: a wallet whose captures may exceed the authorised amount. */

import { refundedCapture } from '#methods/fields/other-refunds.ts'
import {
  providerDeclineCategory,
  providerResponseCode,
  providerTransactionId,
} from '#methods/fields/provider-fields.ts'
import { closed, flag, optional } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'

const confirm = optional(flag('Whether the payment waits for a confirm call once the customer has approved.'))

export const providerPCreate = closed(
  { confirm },
  { title: 'ProviderPRequest', description: 'How a payment with provider P goes on.' },
)

export const providerPCapture = closed(
  { completeType: optional(flag('Whether the order is closed for further captures.')) },
  { title: 'ProviderPCapture', description: 'What a capture with provider P may say.' },
)

export const providerPRefund = closed(refundedCapture, {
  title: 'ProviderPRefund',
  description: 'Which capture is refunded.',
})

export const providerPResult = closed(
  { providerResponseCode: optional(providerResponseCode) },
  { title: 'ProviderPResult', description: 'Result from provider P.' },
)

/** The API contract defines a number here, and text everywhere else. */
export const providerPConfirmed = closed(
  { providerResponseCode: optional(Type.Number({ description: "The provider's own code as a number." })) },
  { title: 'ProviderPConfirmed', description: 'Result of the confirmation from provider P.' },
)

const refundAmount = (description: string) => optional(Type.Number({ description }))

export const providerPRefunded = closed(
  {
    ...providerPResult.properties,
    feeRefundAmount: refundAmount("Of the provider's fee, in the currency's smallest unit."),
    grossRefundAmount: refundAmount("What the customer gets, in the currency's smallest unit."),
    netRefundAmount: refundAmount("What the merchant pays, in the currency's smallest unit."),
  },
  { title: 'ProviderPRefunded', description: 'Result of the refund from provider P.' },
)

export const providerPRefundFailure = closed(
  { ...providerPResult.properties, providerDeclineCategory: optional(providerDeclineCategory) },
  { title: 'ProviderPRefundFailure', description: 'Why provider P refused the refund.' },
)

export const providerPRecord = closed(
  { confirm, providerTransactionId: optional(providerTransactionId) },
  { title: 'ProviderPRecord', description: 'What is known of a payment with provider P.' },
)
