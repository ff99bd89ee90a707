/** The whole request of `POST /payments/{id}/refunds`: with reference to a payment. */
import type { Static } from 'typebox'
import { otherRefundObject, refundObjects } from '#methods/fields/objects.ts'
import { amount } from '#schemas/amount.ts'
import { closed, closedBut, optional } from '#schemas/fields.ts'
import { refNr, simulationMode, statementDescriptor, transId } from '#schemas/identifiers.ts'
import { metadata } from '#schemas/metadata.ts'
import { order } from '#schemas/order.ts'

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
