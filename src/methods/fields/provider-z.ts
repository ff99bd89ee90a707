/** Provider Z: a wallet with a charge permission, under which charges, reversals and refunds are made. */

import { providerId, providerResponseCode, providerResponseText } from '#methods/fields/provider-fields.ts'
import { closed, freeTextMax, optional, text } from '#schemas/parts/fields.ts'

export const providerZReversal = closed(
  { reversalReason: optional(text(freeTextMax, 'Why the payment is reversed.')) },
  { title: 'ProviderZReversal', description: 'What a reversal with provider Z may say.' },
)

export const providerZRefund = closed(
  {
    simulationCode: optional(
      text(64, "A case of the provider's own test environment.", { format: 'printable' }),
    ),
  },
  { title: 'ProviderZRefund', description: 'What a refund with provider Z may say.' },
)

export const providerZResult = closed(
  {
    providerResponseCode: optional(providerResponseCode),
    providerStatus: optional(text(64, 'Status in the words of the provider.')),
    chargeId: optional(providerId('Id of the charge.')),
  },
  { title: 'ProviderZResult', description: 'Result from provider Z.' },
)

export const providerZFailure = closed(
  { ...providerZResult.properties, providerResponseText: optional(providerResponseText) },
  { title: 'ProviderZFailure', description: 'Why provider Z declined.' },
)

export const providerZReversed = closed(
  {
    ...providerZResult.properties,
    chargePermissionId: optional(providerId('Id of the permission that is closed.')),
  },
  { title: 'ProviderZReversed', description: 'Result of the reversal from provider Z.' },
)

export const providerZRefunded = closed(
  { ...providerZResult.properties, refundId: optional(providerId('Id of the refund.')) },
  { title: 'ProviderZRefunded', description: 'Result of the refund from provider Z.' },
)
