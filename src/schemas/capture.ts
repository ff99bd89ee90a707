/** The whole request of `POST /payments/{id}/captures`. */
import type { Static } from 'typebox'
import { captureObjects, otherObject } from '#methods/fields/objects.ts'
import { plainAmount } from '#schemas/amount.ts'
import { partialCapture } from '#schemas/capture-method.ts'
import { enhancedData } from '#schemas/enhanced-data.ts'
import { closed, closedBut, optional } from '#schemas/fields.ts'
import { refNr, simulationMode, statementDescriptor, transId } from '#schemas/identifiers.ts'
import { metadata } from '#schemas/metadata.ts'
import { order } from '#schemas/order.ts'

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
