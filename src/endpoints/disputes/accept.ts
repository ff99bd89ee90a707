/** `POST /disputes/{id}/accept`: the merchant does not contest a dispute. */
import { disputeEndpoint, disputeExample, requireDisputeId } from '#endpoints/disputes/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { accept } from '#operations/disputes/answer-dispute.ts'
import { disputePath, disputeRecord, failedDisputeAnswer } from '#schemas/dispute.ts'
import { noMembers } from '#schemas/parts/fields.ts'

export const acceptDisputeEndpoint = endpoint<Services, typeof noMembers, typeof disputePath>({
  ...disputeEndpoint,
  dialect: 'followUp',
  verb: 'POST',
  scope: 'payments',
  path: '/disputes/{id}/accept',
  operationId: 'acceptDispute',
  summary: 'Accept a dispute',
  description:
    'The money stays with the cardholder. Only where the provider takes the answer of merchants by its API, else 422 ' +
    '`20200009`; a dispute that is not open is 422 `20200015`.',
  idempotent: true,
  params: disputePath,
  body: noMembers,
  answers: { 200: disputeRecord, 422: failedDisputeAnswer },
  examples: [
    {
      summary: 'The cardholder is right',
      after: ['listDisputes'],
      params: { id: '{data.0.disputeId}' },
      body: {},
      status: 200,
      answer: {
        ...disputeExample,
        status: 'ACCEPTED',
        events: [
          ...disputeExample.events,
          { at: '2026-11-18T12:00:00.000Z', type: 'ACCEPTED', stage: 'CHARGEBACK', status: 'ACCEPTED' },
        ],
      },
    },
  ],
  async handle({ params, merchant, key }, { engine, records }) {
    return perform(accept({ merchant, disputeId: requireDisputeId(params), key }, { engine, vault: records }))
  },
})
