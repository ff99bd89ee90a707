/** `POST /events/{id}/replays`: sends an event again. */
import { eventExample, eventPath, requireEventId, toEventRecord } from '#endpoints/events/event-record.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { InvalidField } from '#http/server/ports.ts'
import { replayEvent, UnknownEndpoint } from '#operations/events/replay-event.ts'
import { eventRecord, eventReplay } from '#schemas/event.ts'

export const replayEventEndpoint = endpoint<Services, typeof eventReplay, typeof eventPath>({
  verb: 'POST',
  scope: 'payments',
  path: '/events/{id}/replays',
  operationId: 'replayEvent',
  summary: 'Send an event again',
  description:
    'A new attempt begins at once, whether the event was delivered, failed or still waits, with the same webhook-id and ' +
    'body; if it fails, the retries begin anew. The event is PENDING until then. It goes to every receiver that it was for, ' +
    'and to endpoints added since that want its type; with `endpointId` to that endpoint alone.',
  tag: 'Events',
  version: '2.5.0',
  access: 'merchant',
  idempotent: true,
  dialect: 'customer',
  params: eventPath,
  body: eventReplay,
  answers: { 200: eventRecord },
  examples: [
    {
      summary: 'Now there is an address',
      after: ['listEvents'],
      params: { id: '{data.0.id}' },
      status: 200,
      answer: { ...eventExample, status: 'PENDING' },
    },
  ],
  async handle({ params, body, merchant, key }, { engine, events }) {
    const replay = {
      endpointId: body.endpointId,
      merchant,
      eventId: requireEventId(params),
      key,
      show: (event: Parameters<typeof toEventRecord>[0]) => answer(200, toEventRecord(event)),
    }
    return perform(replayEvent(replay, { engine, ...events })).catch(error => {
      if (!(error instanceof UnknownEndpoint)) throw error
      throw new InvalidField('endpointId', error.message)
    })
  },
})
