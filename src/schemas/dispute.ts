/** Disputes in the API, and the merchant's evidence. */
import type { Static } from 'typebox'
import { operationAmount } from '#schemas/parts/amount.ts'
import { choice, closed, filled, formatted, optional, text } from '#schemas/parts/fields.ts'
import { ownId, payId, xId } from '#schemas/parts/identifiers.ts'
import { Type } from '#schemas/parts/type.ts'

const stage = choice(
  ['INQUIRY', 'CHARGEBACK', 'PRE_ARBITRATION', 'ARBITRATION'],
  'How far it has gone: a question, a chargeback, and the two rounds after a won one.',
)

export const disputeStatuses = ['OPEN', 'UNDER_REVIEW', 'WON', 'LOST', 'ACCEPTED', 'EXPIRED'] as const

const status = choice(
  disputeStatuses,
  'OPEN waits for evidence; UNDER_REVIEW has it; ACCEPTED is not contested and will be lost.',
)

const disputeId = text(64, 'Id of the dispute.')

const disputeEvent = closed(
  {
    at: formatted('date-time', 'When.'),
    type: choice(
      ['OPENED', 'STAGE_CHANGED', 'STATUS_CHANGED', 'AMOUNT_CHANGED', 'EVIDENCE_SENT', 'ACCEPTED'],
      'What happened.',
    ),
    stage,
    status,
  },
  { title: 'DisputeEvent', description: 'Something that happened to the dispute.' },
)

/** 1,000: a dispute has only a handful of events. */
const eventsMax = 1_000

export const disputeRecord = closed(
  {
    disputeId,
    payId,
    xId,
    amount: operationAmount,
    stage,
    status,
    reasonCode: text(255, "The reason as the provider names it, such as a card scheme's code."),
    reasonGroup: choice(
      ['FRAUD', 'CONSUMER', 'PROCESSING', 'AUTHORIZATION', 'OTHER'],
      'What the reason comes down to.',
    ),
    evidenceDueBy: optional(formatted('date-time', 'Until when evidence is taken.')),
    providerDisputeId: text(255, "The provider's own id of the dispute."),
    creationDate: formatted('date-time', 'When it was opened.'),
    updatedAt: formatted('date-time', 'When something last happened to it.'),
    events: Type.Array(disputeEvent, { maxItems: eventsMax, description: 'The oldest first.' }),
  },
  { title: 'Dispute', description: 'Captured money that a cardholder has asked back through the bank.' },
)

export const disputeList = closed(
  {
    data: Type.Array(disputeRecord, { maxItems: 100, description: 'The newest first.' }),
    nextCursor: optional(text(1024, 'Where the next page begins; absent on the last one.')),
  },
  { title: 'DisputeList', description: 'One page of disputes.' },
)

/** The query parameters of lists with a cursor. */
export const pageQuery = {
  limit: optional(text(3, 'How many, 1 to 100; 20 unless given.', { pattern: '^([1-9][0-9]?|100)$' })),
  cursor: filled(1024, 'The nextCursor of the page before.'),
}

export const disputeQuery = closed(
  {
    status: optional(text(100, 'Only these statuses, with commas between.')),
    payId: optional(ownId('Only disputes of this payment.')),
    from: optional(formatted('date-time', 'Opened at this time or later.')),
    to: optional(formatted('date-time', 'Opened before this time.')),
    ...pageQuery,
  },
  { title: 'DisputeQuery', description: 'Which disputes to list.' },
)
export type DisputeQuery = Static<typeof disputeQuery>

export const disputePath = Type.Object({
  id: Type.String({ maxLength: 64, description: 'The id of the dispute.' }),
})

/** 7,000,000 characters: 5 MiB in base64, with some room. The decoded size is checked too. */
const contentMax = 7_000_000

const notBlank = '\\S'

/** 10 files: as many as a person reads in a dispute. */
const filesMax = 10

export const evidenceRequest = closed(
  {
    text: optional(
      text(20_000, 'What the merchant has to say, which is not blank.', { minLength: 1, pattern: notBlank }),
    ),
    files: optional(
      Type.Array(
        closed(
          {
            name: text(255, 'Name of the file, which is not blank.', { minLength: 1, pattern: notBlank }),
            type: choice(['application/pdf', 'image/png', 'image/jpeg'], 'Media type of the file.'),
            content: Type.String({
              minLength: 1,
              maxLength: contentMax,
              description: 'The file in base64, 5 MB at most.',
              sensitive: true,
            }),
          },
          { title: 'EvidenceFile', description: 'A document that proves the case.' },
        ),
        { minItems: 1, maxItems: filesMax, description: 'Documents.' },
      ),
    ),
  },
  {
    title: 'EvidenceRequest',
    description: 'Evidence against a dispute: a text, files, or both.',
    minProperties: 1,
  },
)
export type EvidenceRequest = Static<typeof evidenceRequest>

export const failedDisputeAnswer = closed(
  {
    status: choice(['FAILED'], 'Nothing was changed.'),
    responseCode: text(8, 'Why.'),
    responseDescription: text(255, 'The same in words.'),
  },
  { title: 'FailedDisputeAnswer', description: 'The answer to the dispute was not taken.' },
)
