/** The merchant's clock in the test environment: `GET` and `POST /test/clock`. */
import type { Static } from 'typebox'
import { closed, formatted, optional } from '#schemas/fields.ts'

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
