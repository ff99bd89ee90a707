/** `GET /events`: the events sent to the merchant, the newest first. */
import { parsePayId } from '#domain/ids.ts'
import { eventExample, toEventRecord } from '#endpoints/events/event-record.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { type EventList, eventList, eventQuery, eventsPageSize } from '#schemas/event.ts'

export const listEventsEndpoint = endpoint<Services, undefined, undefined, typeof eventQuery>({
  verb: 'GET',
  scope: 'read',
  path: '/events',
  operationId: 'listEvents',
  summary: 'List events',
  description:
    'Every notice about a result that came later than the answer to a request, with every attempt to deliver it. A page ' +
    'beyond the last one is empty.',
  tag: 'Events',
  version: '2.5.0',
  access: 'merchant',
  idempotent: false,
  dialect: 'customer',
  query: eventQuery,
  answers: { 200: eventList },
  examples: [
    {
      summary: 'The events of a payment',
      after: ['createPayment 3', 'moveTestClock 2'],
      query: { page: '1', payId: '{payId}' },
      status: 200,
      answer: {
        totalNumberOfPages: 1,
        totalNumberOfItems: 1,
        page: 1,
        pageSize: eventsPageSize,
        data: [eventExample],
      },
    },
  ],
  async handle({ query, merchant }, { events }) {
    const page = Number(query.page ?? 1)
    const filter = { payId: parsePayId(query.payId ?? ''), status: query.status }
    const range = { offset: (page - 1) * eventsPageSize, limit: eventsPageSize }
    const { total, events: found } = await perform(events.store.list(merchant.merchantId, filter, range))
    const list: EventList = {
      totalNumberOfPages: Math.ceil(total / eventsPageSize),
      totalNumberOfItems: total,
      page,
      pageSize: eventsPageSize,
      data: found.map(toEventRecord),
    }
    return answer(200, list)
  },
})
