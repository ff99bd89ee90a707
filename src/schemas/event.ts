/** Events in the API: the body, the receivers, and the attempts with their results. */
import type { Static } from 'typebox'
import { eventTypeNames } from '#domain/event-types.ts'
import { choice, closed, formatted, givenUrl, optional, text, whole } from '#schemas/parts/fields.ts'
import { ownId, payId } from '#schemas/parts/identifiers.ts'
import { Type } from '#schemas/parts/type.ts'

const eventStatus = choice(
  ['PENDING', 'DELIVERED', 'FAILED'],
  'PENDING is tried by itself, DELIVERED was taken with a 2xx, FAILED is sent again by a replay only.',
)

export const eventType = choice(eventTypeNames, 'What happened.')

const endpointId = text(35, 'An added endpoint; absent for the address of the payment or of the merchant.', {
  pattern: '^we_[0-9a-f]{32}$',
})

const eventDelivery = closed(
  { endpointId, url: givenUrl('Where it goes, or where it went last.'), status: eventStatus },
  { title: 'EventDelivery', description: 'The event at one added endpoint.' },
)

/** 100: far more endpoints than a merchant has systems that need events. */
const endpointsMax = 100

const eventAttempt = closed(
  {
    endpointId: optional(endpointId),
    at: formatted('date-time', "When, in the merchant's time."),
    status: optional(whole(100, 999, 'The HTTP status; absent when no answer came.')),
    durationMs: whole(0, 86_400_000, 'How long it took.'),
    answer: text(1024, 'The first bytes of the answer, or why there is none.'),
  },
  { title: 'EventAttempt', description: 'One try to deliver the event.' },
)

/** 10,000: an event has ten attempts, and ten more per replay; nobody replays it a thousand times. */
const attemptsMax = 10_000

export const eventRecord = closed(
  {
    id: ownId('Id of the event; every attempt carries it as webhook-id.'),
    payId,
    sequence: whole(1, 2_147_483_647, 'Number of the event among those of its payment, from 1.'),
    type: optional(eventType),
    status: eventStatus,
    url: optional(givenUrl('Where it goes, or where it went last; absent when there is no address.')),
    creationDate: formatted('date-time', 'When it was written, together with what it tells of.'),
    body: Type.Object(
      {},
      {
        // Not validated here, because it was validated when it was stored. The document describes the types.
        title: 'WebhookEvent',
        description: 'What an enhanced webhook carries.',
        additionalProperties: true,
      },
    ),
    attempts: Type.Array(eventAttempt, { maxItems: attemptsMax, description: 'The oldest first.' }),
    deliveries: optional(
      Type.Array(eventDelivery, {
        maxItems: endpointsMax,
        description: 'What became of it at added endpoints.',
      }),
    ),
  },
  { title: 'Event', description: 'A notice about a payment and how it was delivered.' },
)
export type EventRecord = Static<typeof eventRecord>

export const eventsPageSize = 20

export const eventList = closed(
  {
    totalNumberOfPages: whole(0, 2_147_483_647, 'How many pages there are.'),
    totalNumberOfItems: whole(0, 2_147_483_647, 'How many events there are.'),
    page: whole(1, 2_147_483_647, 'This page.'),
    pageSize: whole(eventsPageSize, eventsPageSize, 'How many events a page holds at most.'),
    data: Type.Array(eventRecord, { maxItems: eventsPageSize, description: 'The newest first.' }),
  },
  { title: 'EventList', description: 'One page of events.' },
)
export type EventList = Static<typeof eventList>

export const eventQuery = closed(
  {
    page: optional(text(9, 'Which page, from 1; the first unless given.', { pattern: '^[1-9][0-9]{0,8}$' })),
    payId: optional(ownId('Only events of this payment.')),
    status: optional(eventStatus),
  },
  { title: 'EventQuery', description: 'Which events to list.' },
)
export type EventQuery = Static<typeof eventQuery>

export const eventReplay = closed(
  { endpointId: optional(endpointId) },
  {
    title: 'EventReplay',
    description: 'The endpoint to send the event to again; all endpoints of the event unless given.',
  },
)
export type EventReplay = Static<typeof eventReplay>
