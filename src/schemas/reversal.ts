/** The whole request of `POST /payments/{id}/reversals`. */
import type { Static } from 'typebox'
import { otherObject, reversalObjects } from '#methods/fields/objects.ts'
import { amount } from '#schemas/amount.ts'
import { closed, closedBut, optional } from '#schemas/fields.ts'
import { refNr, simulationMode, transId } from '#schemas/identifiers.ts'
import { metadata } from '#schemas/metadata.ts'
import { order } from '#schemas/order.ts'

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
