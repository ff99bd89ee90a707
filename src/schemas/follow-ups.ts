/** The requests that change an existing payment: capture, reversal, refund, incremental, update and cancellation. */
import type { Static } from 'typebox'
import {
  captureObjects,
  otherObject,
  otherRefundObject,
  refundObjects,
  reversalObjects,
} from '#methods/fields/objects.ts'
import { amount, plainAmount } from '#schemas/parts/amount.ts'
import { partialCapture } from '#schemas/parts/capture-method.ts'
import { enhancedData } from '#schemas/parts/enhanced-data.ts'
import { closed, closedBut, freeTextMax, optional, text, whole } from '#schemas/parts/fields.ts'
import {
  paymentIntentId,
  refNr,
  simulationMode,
  statementDescriptor,
  transId,
} from '#schemas/parts/identifiers.ts'
import { metadata } from '#schemas/parts/metadata.ts'
import { order } from '#schemas/parts/order.ts'
import { failedResult } from '#schemas/result.ts'

const capturePaymentMethods = closedBut(captureObjects, otherObject, {
  title: 'CapturePaymentMethods',
  description: "One object named by the key of the payment's method.",
})

export const captureRequest = closed(
  {
    transId,
    amount: plainAmount,
    refNr: optional(refNr),
    order: optional(order),
    statementDescriptor: optional(statementDescriptor),
    captureMethod: optional(partialCapture),
    enhancedData: optional(enhancedData),
    paymentMethods: optional(capturePaymentMethods),
    metadata: optional(metadata),
    simulationMode: optional(simulationMode),
  },
  { title: 'CaptureRequest', description: 'Takes some or all of what is authorised.' },
)
export type CaptureRequest = Static<typeof captureRequest>

const reversalPaymentMethods = closedBut(reversalObjects, otherObject, {
  title: 'ReversalPaymentMethods',
  description: "One object named by the key of the payment's method.",
})

export const reversalRequest = closed(
  {
    transId,
    amount,
    refNr: optional(refNr),
    order: optional(order),
    metadata: optional(metadata),
    paymentMethods: optional(reversalPaymentMethods),
    simulationMode: optional(simulationMode),
  },
  { title: 'ReversalRequest', description: 'Gives back some or all of what is authorised and not captured.' },
)
export type ReversalRequest = Static<typeof reversalRequest>

const refundPaymentMethods = closedBut(refundObjects, otherRefundObject, {
  title: 'RefundPaymentMethods',
  description: "One object named by the key of the payment's method.",
})

export const refundRequest = closed(
  {
    transId,
    amount,
    refNr: optional(refNr),
    simulationMode: optional(simulationMode),
    metadata: optional(metadata),
    order: optional(order),
    statementDescriptor: optional(statementDescriptor),
    paymentMethods: optional(refundPaymentMethods),
  },
  { title: 'RefundRequest', description: 'Pays back some or all of what was captured.' },
)
export type RefundRequest = Static<typeof refundRequest>

/** 365 days: longer than any stay or rental that one authorisation covers. */
const durationMax = 365

export const incrementalRequest = closed(
  {
    transId,
    amount: plainAmount,
    duration: optional(whole(1, durationMax, 'Further days of the stay or rental.')),
    refNr: optional(refNr),
    metadata: optional(metadata),
    simulationMode: optional(simulationMode),
  },
  { title: 'IncrementalRequest', description: 'Raises what is authorised by the given amount.' },
)
export type IncrementalRequest = Static<typeof incrementalRequest>

export const updateRequest = closed(
  {
    transId: optional(transId),
    amount: optional(amount),
    refNr: optional(refNr),
    order: optional(order),
    metadata: optional(metadata),
  },
  {
    title: 'UpdateRequest',
    description: 'What changes; at least one field. Metadata is merged with what is there.',
    minProperties: 1,
  },
)
export type UpdateRequest = Static<typeof updateRequest>

export const cancellationRequest = closed(
  { reason: optional(text(freeTextMax, 'Why, for your own records.')), metadata: optional(metadata) },
  { title: 'CancellationRequest', description: 'Ends the payment. Both fields may be left out.' },
)
export type CancellationRequest = Static<typeof cancellationRequest>

export const cancellationResult = closed(
  { ...failedResult.properties, paymentIntentId: optional(paymentIntentId) },
  { title: 'CancellationResult', description: 'The payment has ended: FAILED, cancelled by the merchant.' },
)
