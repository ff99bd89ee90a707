/** The whole request of `POST /payments/{id}/incrementals`. */
import type { Static } from 'typebox'
import { plainAmount } from '#schemas/amount.ts'
import { closed, optional, whole } from '#schemas/fields.ts'
import { refNr, simulationMode, transId } from '#schemas/identifiers.ts'
import { metadata } from '#schemas/metadata.ts'

/** 365 days: longer than any stay or rental that one authorisation covers. */
const durationMax = 365

export const incrementalRequest = closed(
  {
    transId,
    amount: plainAmount,
    duration: optional(whole(1, durationMax, 'Further days of the stay or rental.')),
    refNr: optional(refNr),
    metadata: optional(metadata),
    simulationMode: optional(simulationMode),
  },
  { title: 'IncrementalRequest', description: 'Raises what is authorised by the given amount.' },
)
export type IncrementalRequest = Static<typeof incrementalRequest>
