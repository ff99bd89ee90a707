/** The tools of the test environment: the clock, faults on demand, and the customer's step without a browser. */
import type { Static } from 'typebox'
import { choice, closed, formatted, optional, text, whole } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'
import { askedOperations } from '#schemas/payment-record.ts'

/** The merchant's clock: `GET` and `POST /test/clock`. */
export const clockRequest = closed(
  {
    advance: optional(formatted('duration', 'How far to move, as an ISO 8601 duration.')),
    now: optional(formatted('date-time', 'Where to move; never back.')),
  },
  {
    title: 'ClockRequest',
    description: 'Moves the clock forward, by a duration or to an instant: exactly one of them.',
    minProperties: 1,
    maxProperties: 1,
  },
)
export type ClockRequest = Static<typeof clockRequest>

export const clock = closed(
  { now: formatted('date-time', 'What time it is for this merchant.') },
  { title: 'Clock', description: "The merchant's clock." },
)
export type Clock = Static<typeof clock>

export const faultRule = closed(
  {
    operation: choice([...askedOperations, '*'], 'The operation that fails; `*` for whichever comes next.'),
    fault: choice(
      ['decline', 'delay', 'lost_request', 'lost_answer', 'error'],
      'What goes wrong. A lost request never arrives; after a lost answer or an error the outcome is unknown.',
    ),
    code: optional(text(2, 'Provider code of the decline; 05 unless given.', { pattern: '^[0-9]{2}$' })),
    // 60 s: three times as long as the gateway waits for a provider.
    delayMs: optional(whole(0, 60_000, 'How long the provider takes, in milliseconds.')),
    times: whole(1, 10_000, 'How often; then everything works again.'),
  },
  { title: 'FaultRule', description: 'Something that goes wrong on demand.' },
)
export type FaultRule = Static<typeof faultRule>

export const faultList = closed(
  { faults: Type.Array(faultRule, { description: 'What is still to go wrong, the next first.' }) },
  { title: 'FaultList', description: 'The faults in force.' },
)

export const customerAction = closed(
  { action: choice(['approve', 'decline', 'cancel', 'pending'], 'What the customer does on the page.') },
  { title: 'CustomerAction', description: "The customer's step, taken without a browser." },
)
export type CustomerAction = Static<typeof customerAction>
