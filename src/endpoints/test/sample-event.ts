/** `POST /test/payments/{payId}/events`: an event of any type, to try a receiver with. */

import { eventExample, toEventRecord } from '#endpoints/events/event-record.ts'
import { webhooks } from '#endpoints/events/webhook-examples.ts'
import { requirePayId } from '#endpoints/payments/follow-up.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { actOnce } from '#endpoints/test/once.ts'
import { endpoint } from '#http/endpoint.ts'
import { writeSampleEvent } from '#operations/events/emit-event.ts'
import { eventRecord } from '#schemas/event.ts'
import { sampleEvent } from '#schemas/event-body.ts'
import { Type } from '#schemas/parts/type.ts'
import { failedResult } from '#schemas/result.ts'

const sampleBody = webhooks.find(({ name }) => name === 'payment.authorized')?.example

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
  answers: { 200: eventRecord, 422: failedResult },
  examples: [
    {
      summary: 'An approval',
      after: ['createPayment'],
      params: { payId: '{payId}' },
      body: { type: 'payment.authorized' },
      status: 200,
      answer: {
        ...eventExample,
        type: 'payment.authorized',
        status: 'PENDING',
        body: sampleBody,
        attempts: [],
      },
    },
  ],
  handle: (call, services) =>
    actOnce(call, services, async () => {
      const { body, params, merchant } = call
      const { engine, events } = services
      const payId = requirePayId({ id: params.payId })
      const eventId = await perform(writeSampleEvent({ merchant, payId, type: body.type }, engine))
      const event = await perform(events.store.find(merchant.merchantId, eventId))
      // As it was stored: its delivery begins while the answer is being built.
      return { body: toEventRecord({ ...event, status: 'PENDING', attempts: [] }) }
    }),
})
