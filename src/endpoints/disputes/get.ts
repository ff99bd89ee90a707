/** `GET /disputes/{id}`: one dispute with everything that happened to it. */
import { disputeEndpoint, disputeExample, requireDisputeId } from '#endpoints/disputes/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { showDispute } from '#operations/disputes/answer-dispute.ts'
import { disputePath, disputeRecord } from '#schemas/dispute.ts'

export const getDisputeEndpoint = endpoint<Services, undefined, typeof disputePath>({
  ...disputeEndpoint,
  verb: 'GET',
  scope: 'read',
  path: '/disputes/{id}',
  operationId: 'getDispute',
  summary: 'Retrieve a dispute',
  description: 'How it stands, until when evidence is taken, and what happened to it so far.',
  idempotent: false,
  params: disputePath,
  answers: { 200: disputeRecord },
  examples: [
    {
      summary: 'A dispute that was just opened',
      after: ['listDisputes'],
      params: { id: '{data.0.disputeId}' },
      status: 200,
      answer: disputeExample,
    },
  ],
  async handle({ params, merchant }, { engine }) {
    const dispute = await perform(engine.disputes.byId(merchant.merchantId, requireDisputeId(params)))
    return answer(200, showDispute(dispute))
  },
})
