/** `POST /disputes/{id}/evidence`: the merchant's evidence against a dispute. */
import { disputeEndpoint, disputeExample, requireDisputeId } from '#endpoints/disputes/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { InvalidField } from '#http/server/ports.ts'
import { sendEvidence } from '#operations/disputes/answer-dispute.ts'
import {
  disputePath,
  disputeRecord,
  type EvidenceRequest,
  evidenceRequest,
  failedDisputeAnswer,
} from '#schemas/dispute.ts'

/** 5 MiB: the contract's limit for each file. */
const fileBytesMax = 5_242_880

/** 40 MiB: five files of the largest size in base64, and the text. */
const bodyBytesMax = 41_943_040

export const submitEvidenceEndpoint = endpoint<Services, typeof evidenceRequest, typeof disputePath>({
  ...disputeEndpoint,
  dialect: 'followUp',
  verb: 'POST',
  scope: 'payments',
  path: '/disputes/{id}/evidence',
  operationId: 'submitEvidence',
  summary: 'Send evidence',
  description:
    'A text, files, or both; they are kept sealed and handed to the provider. Each file may have 5 MB. Only where the ' +
    'provider takes evidence by its API, else 422 `20200009`; a dispute that is not open is 422 `20200015`, one whose ' +
    'time for evidence is over 422 `20200007`.',
  idempotent: true,
  bodyBytesMax,
  params: disputePath,
  body: evidenceRequest,
  answers: { 200: disputeRecord, 422: failedDisputeAnswer },
  examples: [
    {
      summary: 'The parcel was signed for',
      after: ['listDisputes'],
      params: { id: '{data.0.disputeId}' },
      body: {
        text: 'WIN: the cardholder signed for the parcel on 12 November.',
        files: [{ name: 'receipt.pdf', type: 'application/pdf', content: 'JVBERi0xLjQKJSVFT0YK' }],
      },
      status: 200,
      answer: {
        ...disputeExample,
        status: 'UNDER_REVIEW',
        events: [
          ...disputeExample.events,
          {
            at: '2026-11-18T12:00:00.000Z',
            type: 'EVIDENCE_SENT',
            stage: 'CHARGEBACK',
            status: 'UNDER_REVIEW',
          },
        ],
      },
    },
  ],
  async handle({ params, body, merchant, key }, { engine, records }) {
    const evidence = { text: body.text, files: (body.files ?? []).map(readFile) }
    const disputeId = requireDisputeId(params)
    return perform(sendEvidence({ merchant, disputeId, key, evidence }, { engine, vault: records }))
  },
})

type File = NonNullable<EvidenceRequest['files']>[number]

function readFile({ name, type, content }: File, index: number) {
  const field = `files[${index}].content`
  if (content.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(content))
    throw new InvalidField(field, `${field} must be base64.`)
  const bytes = Buffer.from(content, 'base64')
  if (bytes.length > fileBytesMax)
    throw new InvalidField(field, `${field} has ${bytes.length} bytes; a file may have ${fileBytesMax}.`)
  return { name, type, content: bytes }
}
