/** `POST /test/payments/{payId}/events`: an event of any type, to try a receiver with. */
import Type from 'typebox'
import { eventExample, toEventRecord } from '#endpoints/events/event-record.ts'
import { requirePayId } from '#endpoints/payments/follow-up.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { actOnce } from '#endpoints/test/once.ts'
import { endpoint } from '#http/endpoint.ts'
import { writeSampleEvent } from '#operations/events/sample-event.ts'
import { eventRecord } from '#schemas/event.ts'
import { sampleEvent } from '#schemas/event-body.ts'

const path = Type.Object({ payId: Type.String({ maxLength: 64, description: 'The payId of the payment.' }) })

export const sampleEventEndpoint = endpoint<Services, typeof sampleEvent, typeof path>({
  verb: 'POST',
  scope: 'test',
  path: '/test/payments/{payId}/events',
  operationId: 'sendSampleEvent',
  summary: 'Send a sample event',
  description:
    'Writes and sends an event of the given type about a payment, although nothing has happened to it: for receivers of ' +
    'events that only a real provider causes.',
  tag: 'Test',
  version: '2.6.0',
  access: 'merchant',
  idempotent: true,
  testOnly: true,
  dialect: 'payment',
  params: path,
  body: sampleEvent,
  answers: { 200: eventRecord },
  examples: [
    {
      summary: 'A dispute',
      after: ['createPayment'],
      params: { payId: '{payId}' },
      body: { type: 'dispute.opened' },
      status: 200,
      answer: { ...eventExample, type: 'dispute.opened', status: 'PENDING', attempts: [] },
    },
  ],
  handle: (call, services) =>
    actOnce(call, services, async () => {
      const { body, params, merchant } = call
      const { engine, events } = services
      const payId = requirePayId({ id: params.payId })
      const eventId = await perform(writeSampleEvent({ merchant, payId, type: body.type }, engine))
      return { body: toEventRecord(await perform(events.store.find(merchant.merchantId, eventId))) }
    }),
})
