/** The whole request of `PATCH /payments/{id}`. */
import type { Static } from 'typebox'
import { amount } from '#schemas/amount.ts'
import { closed, optional } from '#schemas/fields.ts'
import { refNr, transId } from '#schemas/identifiers.ts'
import { metadata } from '#schemas/metadata.ts'
import { order } from '#schemas/order.ts'

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
