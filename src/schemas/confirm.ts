/** The whole request of `POST /payments/{id}/confirms`, version 2.2.0; it includes everything of 2.0.0. */
import type { Static } from 'typebox'
import { confirmObjects, otherObject } from '#methods/fields/objects.ts'
import { billingAddress, shipping } from '#schemas/parts/address.ts'
import { amount } from '#schemas/parts/amount.ts'
import { captureMethod } from '#schemas/parts/capture-method.ts'
import { closed, closedBut, optional } from '#schemas/parts/fields.ts'
import { expirationTime, refNr, simulationMode, transId } from '#schemas/parts/identifiers.ts'
import { metadata } from '#schemas/parts/metadata.ts'
import { order } from '#schemas/parts/order.ts'

const confirmPaymentMethods = closedBut(confirmObjects, otherObject, {
  title: 'ConfirmPaymentMethods',
  description: "One object named by the key of the payment's method.",
})

export const confirmRequest = closed(
  {
    transId,
    amount,
    refNr: optional(refNr),
    captureMethod: optional(captureMethod),
    expirationTime: optional(expirationTime),
    order: optional(order),
    metadata: optional(metadata),
    billingAddress: optional(billingAddress),
    shipping: optional(shipping),
    paymentMethods: optional(confirmPaymentMethods),
    simulationMode: optional(simulationMode),
  },
  { title: 'ConfirmRequest', description: 'Goes on with a payment that waits for it.' },
)
export type ConfirmRequest = Static<typeof confirmRequest>
