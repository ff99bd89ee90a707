/** `GET /disputes`: the merchant's disputes, the newest first. */

import { parsePayId } from '#domain/ids.ts'
import { isInstant } from '#domain/time/dates.ts'
import { disputeEndpoint, disputeExample } from '#endpoints/disputes/shared.ts'
import { collectFaults, oneOf, readAll, readList, readRange } from '#endpoints/filters.ts'
import { readCursor, toPage } from '#endpoints/page-cursor.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { showDispute } from '#operations/disputes/answer-dispute.ts'
import { type DisputeQuery, disputeList, disputeQuery, disputeStatuses } from '#schemas/dispute.ts'

/** 20: the default page size. */
const usualLimit = 20

export const listDisputesEndpoint = endpoint<Services, undefined, undefined, typeof disputeQuery>({
  ...disputeEndpoint,
  verb: 'GET',
  scope: 'read',
  path: '/disputes',
  operationId: 'listDisputes',
  summary: 'List disputes',
  description:
    'Captured money that cardholders have asked back through their banks, the newest dispute first.',
  idempotent: false,
  query: disputeQuery,
  findFaults: query => collectFaults(() => readFilters(query)),
  answers: { 200: disputeList },
  examples: [
    {
      summary: 'Disputes that wait for evidence',
      after: ['createPayment 6', 'moveTestClock 2'],
      query: { status: 'OPEN', limit: '20' },
      status: 200,
      answer: { data: [disputeExample] },
    },
  ],
  async handle({ query, merchant }, { engine }) {
    const limit = Number(query.limit ?? usualLimit)
    const scope = { merchantId: merchant.merchantId, list: 'disputes', query }
    const { cursor = [], filters } = readAll({
      cursor: () => readCursor(scope, [isInstant, () => true]),
      filters: () => readFilters(query),
    })
    const [createdAt, disputeId] = cursor
    const { statuses, range } = filters
    const filter = {
      statuses,
      payId: query.payId === undefined ? undefined : parsePayId(query.payId),
      ...range,
      after: createdAt && disputeId ? { createdAt: new Date(createdAt), disputeId } : undefined,
      limit: limit + 1,
    }
    const found = await perform(engine.disputes.list(merchant.merchantId, filter))
    return answer(
      200,
      toPage(found, limit, {
        show: showDispute,
        positionOf: dispute => [dispute.createdAt.toISOString(), dispute.disputeId],
        scope,
      }),
    )
  },
})

const readFilters = (query: DisputeQuery) =>
  readAll({
    statuses: () => readList('status', query.status, oneOf(disputeStatuses)),
    range: () => readRange(query),
  })
