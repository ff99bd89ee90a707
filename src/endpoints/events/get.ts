/** `GET /events/{id}`: one event with every attempt to deliver it. */
import { eventExample, eventPath, requireEventId, toEventRecord } from '#endpoints/events/event-record.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { eventRecord } from '#schemas/event.ts'

export const getEventEndpoint = endpoint<Services, undefined, typeof eventPath>({
  verb: 'GET',
  scope: 'read',
  path: '/events/{id}',
  operationId: 'getEvent',
  summary: 'Retrieve an event',
  description: 'The event, where it was sent, and what the receiver answered to every attempt.',
  tag: 'Events',
  version: '2.5.0',
  access: 'merchant',
  idempotent: false,
  dialect: 'customer',
  params: eventPath,
  answers: { 200: eventRecord },
  examples: [
    {
      summary: 'An event that had no address to go to',
      after: ['listEvents'],
      params: { id: '{data.0.id}' },
      status: 200,
      answer: eventExample,
    },
  ],
  async handle({ params, merchant }, { events }) {
    const event = await perform(events.store.find(merchant.merchantId, requireEventId(params)))
    return answer(200, toEventRecord(event))
  },
})
