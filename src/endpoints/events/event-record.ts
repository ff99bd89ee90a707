/** An event in the words of the API, and the example that the reference shows of it. */

import { exampleIds } from '#endpoints/payments/follow-up.ts'
import { NotFound } from '#http/server/ports.ts'
import type { EventRecord } from '#schemas/event.ts'
import { Type } from '#schemas/parts/type.ts'
import type { StoredEvent } from '#storage/events/events.ts'

export const eventPath = Type.Object({
  id: Type.String({ maxLength: 64, description: 'The id of the event.' }),
})

/** A text that cannot be an id of ours is not found, like an unknown id. */
export function requireEventId({ id }: { readonly id: string }): string {
  if (!/^[0-9a-f]{32}$/.test(id)) throw new NotFound()
  return id
}

export const toEventRecord = ({
  createdAt,
  attempts,
  body,
  deliveries,
  ...event
}: StoredEvent): EventRecord => ({
  id: event.id,
  payId: event.payId,
  sequence: event.sequence,
  type: event.type,
  status: event.status,
  url: event.url,
  creationDate: createdAt.toISOString(),
  body: { ...body },
  attempts: attempts.map(attempt => ({ ...attempt, at: attempt.at.toISOString() })),
  ...(deliveries.length > 0 ? { deliveries: [...deliveries] } : {}),
})

const xId = '019a3f6ba0117d3f90415263748596a7'

export const eventExample = {
  id: '019a3f6d1e2f7a3b8c4d5e6f70819203',
  payId: exampleIds.payId,
  sequence: 1,
  type: 'payment.failed',
  status: 'FAILED',
  creationDate: '2026-11-16T12:00:00.000Z',
  body: {
    type: 'payment.failed',
    payId: exampleIds.payId,
    merchantId: exampleIds.merchantId,
    transId: 'order-2001',
    status: 'FAILED',
    responseCode: '21000402',
    responseDescription: 'Timed out or expired.',
    amount: {
      value: 4999,
      currency: 'EUR',
      authorizedValue: 0,
      capturedValue: 0,
      refundedValue: 0,
      reversedValue: 0,
      returnedValue: 0,
      disputedValue: 0,
    },
    operation: {
      xId,
      type: 'AUTHORIZATION',
      status: 'FAILED',
      amount: { value: 4999, currency: 'EUR' },
      responseCode: '21000402',
      responseDescription: 'Timed out or expired.',
    },
    paymentMethods: [{ type: 'CARD' }],
    creationDate: '2026-11-15T12:00:00.000Z',
    sequence: 1,
    xId,
  },
  attempts: [
    {
      at: '2026-11-16T12:00:00.000Z',
      durationMs: 0,
      answer: 'not sent: neither the payment nor the merchant names an address',
    },
  ],
}
