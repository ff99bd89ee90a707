/** `GET /operations`: the list of movements, as pages or as one CSV file. */
import { parsePayId } from '#domain/ids.ts'
import { collectFaults, nameCursor, oneOf, readAll, readList, readRange } from '#endpoints/filters.ts'
import { exampleIds } from '#endpoints/payments/follow-up.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { type Answer, answer, endpoint } from '#http/endpoint.ts'
import { TooMany } from '#http/server/ports.ts'
import { beginMovements, csvHeader, listMovements } from '#operations/finding/movements.ts'
import { movementList, type OperationQuery, operationQuery } from '#schemas/finding.ts'
import { operationTypes } from '#schemas/payment-record.ts'
import { finalStates, type MovementQuestion } from '#storage/payments/movements.ts'

const usualLimit = 100

export const listOperationsEndpoint = endpoint<Services, undefined, undefined, typeof operationQuery>({
  verb: 'GET',
  scope: 'read',
  path: '/operations',
  operationId: 'listOperations',
  summary: 'List operations',
  description:
    'The book of movements: operations that have become final, the oldest first by that moment. With `Accept: text/csv` ' +
    'the whole range comes as one file; limit and cursor do not matter then.',
  tag: 'Payments',
  version: '2.6.0',
  access: 'merchant',
  idempotent: false,
  dialect: 'customer',
  query: operationQuery,
  findFaults: query => collectFaults(() => readFilters(query)),
  answers: { 200: movementList },
  alsoAnswers: {
    'text/csv':
      'RFC 4180 with a header row. `value` is in the smallest unit, `amount` the same as decimal text; a cell that a ' +
      'spreadsheet would take for a formula begins with an apostrophe.',
  },
  examples: [
    {
      summary: 'What became of one payment',
      after: ['createPayment'],
      query: { payId: '{payId}' },
      status: 200,
      answer: {
        data: [
          {
            xId: '019a3f6b2c4e7a1b8c2d3e4f5a6b7c8d',
            payId: exampleIds.payId,
            transId: 'order-1001',
            type: 'AUTHORIZATION',
            status: 'AUTHORIZED',
            amount: { value: 4999, currency: 'EUR' },
            paymentMethodType: 'CARD',
            responseCode: '00000000',
            creationDate: '2026-11-15T12:00:00.000Z',
            settledDate: '2026-11-15T12:00:00.013Z',
            provider: { account: 'simulator', transactionId: 'sim0c1f3a5b7d9e2468ace0' },
          },
        ],
      },
    },
  ],
  async handle({ query, merchant, accept }, { engine }) {
    const { limit, cursor, ...filters } = query
    // The schema has already refused anything that is not one of our ids.
    const payId = parsePayId(query.payId ?? '')
    const { range, ...lists } = readFilters(query)
    const question = { merchantId: merchant.merchantId, ...lists, ...range, payId }
    if (wantsCsv(accept)) return exportMovements(question, engine)
    const scope = { list: 'operations', filters }
    const page = listMovements(
      { ...question, limit: Number(limit ?? usualLimit) },
      { cursor, scope },
      engine.movements,
    )
    return answer(200, await perform(page).catch(nameCursor))
  },
})

async function exportMovements(
  question: Omit<MovementQuestion, 'after' | 'limit'>,
  { movements }: Services['engine'],
): Promise<Answer> {
  const onEnd = movements.beginExport(question.merchantId)
  if (!onEnd)
    throw new TooMany('Too many exports of this merchant are under way. Read those to their end first.', 5)
  try {
    return {
      onEnd,
      status: 200,
      json: csvHeader,
      rest: await perform(beginMovements(question, movements)),
      headers: {
        'content-type': 'text/csv; charset=utf-8; header=present',
        'content-disposition': 'attachment; filename="operations.csv"',
      },
    }
  } catch (error) {
    // Nothing is sent, so no stream reports the end of the export.
    onEnd()
    throw error
  }
}

const readFilters = (query: OperationQuery) =>
  readAll({
    types: () => readList('type', query.type, oneOf(operationTypes)) ?? operationTypes,
    states: () => readList('status', query.status, oneOf(finalStates)) ?? finalStates,
    range: () => readRange(query),
  })

/** The types that we serve, and the wildcards, which mean JSON. */
const ours = ['text/csv', 'application/json', 'application/*', '*/*']

/** Whether CSV has the highest weight; of equal weights the first one wins. */
function wantsCsv(accept = ''): boolean {
  const [first] = accept
    .split(',')
    .map(part => {
      const [name = '', ...parameters] = part.split(';').map(word => word.trim().toLowerCase())
      const weight = parameters.find(parameter => parameter.startsWith('q='))
      return { name, weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0 }
    })
    .filter(({ name, weight }) => ours.includes(name) && weight > 0)
    .sort((a, b) => b.weight - a.weight)
  return first?.name === 'text/csv'
}
