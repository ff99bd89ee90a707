/** `GET /settlements`: the lines of providers' settlement reports. */

import { parsePayId } from '#domain/ids.ts'
import { isDate } from '#domain/time/dates.ts'
import { collectFaults, contradict, oneOf, readAll, readList } from '#endpoints/filters.ts'
import { readCursor, toPage } from '#endpoints/page-cursor.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import {
  type SettlementQuery,
  settlementList,
  settlementQuery,
  settlementTypes,
} from '#schemas/settlement.ts'
import type { LinePosition, StoredLine } from '#storage/providers/settlements.ts'

/** 20: the default page size. */
const usualLimit = 20

export const listSettlementsEndpoint = endpoint<Services, undefined, undefined, typeof settlementQuery>({
  verb: 'GET',
  scope: 'read',
  path: '/settlements',
  operationId: 'listSettlements',
  summary: 'List settlement lines',
  description:
    'Lines of the settlement files that were imported, the newest day first. A line names its payment and operation where ' +
    'it fits one.',
  tag: 'Settlements',
  version: '2.6.0',
  access: 'merchant',
  idempotent: false,
  dialect: 'customer',
  query: settlementQuery,
  findFaults: query => collectFaults(() => readFilters(query)),
  answers: { 200: settlementList },
  examples: [
    {
      summary: 'Nothing was imported yet',
      query: { from: '2026-11-01', to: '2026-12-01' },
      status: 200,
      answer: { data: [] },
    },
  ],
  async handle({ query, merchant }, { settlements }) {
    const limit = Number(query.limit ?? usualLimit)
    const scope = { merchantId: merchant.merchantId, list: 'settlements', query }
    const { cursor, filters } = readAll({
      cursor: () => readCursor(scope, [isDate, anyText, anyText, anyText, anyText]),
      filters: () => readFilters(query),
    })
    const { types, days } = filters
    const filter = {
      accountId: query.account,
      settlementId: query.settlementId,
      types,
      payId: query.payId === undefined ? undefined : parsePayId(query.payId),
      ...days,
      after: toPosition(cursor),
      limit: limit + 1,
    }
    const found = await perform(settlements.list(merchant.merchantId, filter))
    return answer(200, toPage(found, limit, { show: showLine, positionOf, scope }))
  },
})

const anyText = () => true

const readFilters = (query: SettlementQuery) =>
  readAll({
    types: () => readList('type', query.type, oneOf(settlementTypes)),
    days: () => readDays(query),
  })

/** Days are compared as text: the form is the same for all of them. */
function readDays({ from, to }: SettlementQuery) {
  if (from !== undefined && to !== undefined && from >= to)
    throw contradict(
      ['from', `from is ${from}; it must be earlier than to (${to}).`],
      ['to', `to is ${to}; it must be later than from (${from}).`],
    )
  return { from, to }
}

const positionOf = (line: StoredLine): readonly string[] => [
  line.date,
  line.accountId,
  line.settlementId,
  line.type,
  line.providerReference,
]

function toPosition(words: readonly string[] | undefined): LinePosition | undefined {
  const [date = '', accountId = '', settlementId = '', type = '', providerReference = ''] = words ?? []
  return words && { date, accountId, settlementId, type, providerReference }
}

const showLine = (line: StoredLine) => ({
  settlementId: line.settlementId,
  account: line.accountId,
  date: line.date,
  type: line.type,
  payId: line.payId,
  xId: line.xId,
  gross: line.gross,
  fee: line.fee,
  net: line.net,
  currency: line.currency,
  providerReference: line.providerReference,
})
