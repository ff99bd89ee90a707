/** When the money is taken: at once, by a later call, or automatically after some hours. */
import type { Static } from 'typebox'
import { choice, closed, flag, optional, when, whole } from '#schemas/parts/fields.ts'

/** 696 hours: 29 days, the limit of the API contract. */
const delayedHoursMax = 696
/** 999: more than the 50 captures that a payment can have, so that the rule refuses and not the schema. */
const sequenceMax = 999

const delayed = closed(
  { delayedHours: whole(1, delayedHoursMax, 'Hours from the authorisation to the capture.') },
  { title: 'DelayedCapture', description: 'Needed for DELAYED.' },
)

export const captureMethod = closed(
  {
    type: choice(['AUTOMATIC', 'MANUAL', 'DELAYED'], 'When the money is taken.'),
    delayed: optional(delayed),
  },
  {
    title: 'CaptureMethod',
    description: 'When the money is taken.',
    // Without DELAYED the hours would be ignored silently, so they are refused.
    ...when(
      { properties: { type: { const: 'DELAYED' } }, required: ['type'] },
      { properties: { delayed: {} }, required: ['delayed'] },
      { properties: { delayed: false } },
    ),
  },
)
export type CaptureMethod = Static<typeof captureMethod>

const manual = closed(
  {
    currentSequence: optional(whole(1, sequenceMax, 'Number of this capture, counted from 1.')),
    final: optional(flag('Whether this is the last capture.')),
    total: optional(whole(1, sequenceMax, 'How many captures will be sent in all.')),
  },
  { title: 'ManualCapture', description: 'Where this capture stands among several.' },
)

/** For the capture request, which has only the position in the sequence. */
export const partialCapture = closed(
  { manual: optional(manual) },
  { title: 'PartialCapture', description: 'Where this capture stands among several.' },
)
