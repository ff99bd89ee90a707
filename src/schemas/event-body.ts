/** The body of enhanced webhooks: one object per type of event, with the same members, distinguished by `type`. */
import type { Static, TProperties } from 'typebox'
import { type EventType, eventTypeNames, eventTypes } from '#domain/event-types.ts'
import { operationAmount, recordAmount } from '#schemas/parts/amount.ts'
import { choice, closed, formatted, optional, text, whole } from '#schemas/parts/fields.ts'
import {
  merchantId,
  methodType,
  ownId,
  payId,
  paymentIntentId,
  refNr,
  transId,
  xId,
} from '#schemas/parts/identifiers.ts'
import { metadata } from '#schemas/parts/metadata.ts'
import { Type } from '#schemas/parts/type.ts'
import { operationStatus, operationType, paymentStatus, reasonCode } from '#schemas/payment-record.ts'
import { responseCode, responseDescription } from '#schemas/result.ts'

const eventOperation = closed(
  {
    xId,
    type: operationType,
    status: operationStatus,
    amount: operationAmount,
    responseCode,
    responseDescription,
    reasonCode: optional(reasonCode),
  },
  { title: 'EventOperation', description: 'The operation that the event is about.' },
)

const eventMethod = closed(
  { type: methodType },
  { title: 'EventPaymentMethod', description: 'The method that the customer pays by.' },
)

const disputeMembers = { disputeId: text(64, 'The dispute.') }

/** Members that only these types have. */
const ownMembers: Partial<Record<EventType, TProperties>> = {
  'debit.announced': {
    mandateId: text(64, 'The mandate that the debit is collected under.'),
    creditorId: text(35, "The creditor's identifier, as the customer's statement shows it."),
    dueDate: formatted('date', 'The day on which the debit is collected.'),
  },
  'dispute.opened': disputeMembers,
  'dispute.won': disputeMembers,
  'dispute.lost': disputeMembers,
}

/** Events about the plan itself, without an operation on a payment. */
export const withoutOperation: readonly EventType[] = ['plan.completed', 'plan.cancelled']

const titleOf = (type: EventType): string =>
  `${type
    .split(/[._]/)
    .map(word => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
    .join('')}Event`

const bodyOf = (type: EventType) =>
  closed(
    {
      type: Type.Literal(type, { type: 'string', description: eventTypes[type] }),
      payId,
      merchantId,
      transId,
      refNr: optional(refNr),
      status: paymentStatus,
      responseCode,
      responseDescription,
      amount: recordAmount,
      ...(withoutOperation.includes(type) ? {} : { operation: optional(eventOperation) }),
      paymentMethods: Type.Array(eventMethod, {
        maxItems: 1,
        description: 'Empty while the customer has not chosen one.',
      }),
      metadata: optional(metadata),
      paymentPlanId: optional(ownId('The plan that the payment begins or belongs to.')),
      paymentIntentId: optional(paymentIntentId),
      linkId: optional(text(64, 'The link that the payment was made by.')),
      ...ownMembers[type],
      creationDate: formatted('date-time', 'When the payment was created.'),
      sequence: whole(1, 2_147_483_647, 'Number of the event among those of its payment, from 1.'),
      xId: ownId('The operation whose response code stands above.'),
    },
    { title: titleOf(type), description: eventTypes[type] },
  )

export const eventBodies: ReadonlyMap<EventType, ReturnType<typeof bodyOf>> = new Map(
  eventTypeNames.map(type => [type, bodyOf(type)]),
)

/** Any event; `type` tells which. */
export const webhookEvent = {
  title: 'WebhookEvent',
  description: 'An event as an enhanced webhook carries it; `type` tells which.',
  oneOf: [...eventBodies.values()],
  discriminator: {
    propertyName: 'type',
    mapping: Object.fromEntries(eventTypeNames.map(type => [type, `#/components/schemas/${titleOf(type)}`])),
  },
}

export const sampleEvent = closed(
  { type: choice(eventTypeNames, 'What the event says.') },
  { title: 'SampleEvent', description: 'An event that is to be written although nothing has happened.' },
)
export type SampleEvent = Static<typeof sampleEvent>
