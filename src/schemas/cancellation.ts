/** Ending a payment that is not paid yet. */
import type { Static } from 'typebox'
import { closed, freeTextMax, optional, text } from '#schemas/fields.ts'
import { paymentIntentId } from '#schemas/identifiers.ts'
import { metadata } from '#schemas/metadata.ts'
import { failedResult } from '#schemas/result.ts'

export const cancellationRequest = closed(
  { reason: optional(text(freeTextMax, 'Why, for your own records.')), metadata: optional(metadata) },
  { title: 'CancellationRequest', description: 'Ends the payment. Both fields may be left out.' },
)
export type CancellationRequest = Static<typeof cancellationRequest>

export const cancellationResult = closed(
  { ...failedResult.properties, paymentIntentId: optional(paymentIntentId) },
  { title: 'CancellationResult', description: 'The payment has ended: FAILED, cancelled by the merchant.' },
)
