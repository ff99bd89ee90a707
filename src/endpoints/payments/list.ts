/** `GET /payments`: the merchant's payments, by filters. */
import { parseCustomerId, parsePlanId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import {
  collectFaults,
  contradict,
  nameCursor,
  oneOf,
  readAll,
  readList,
  readRange,
} from '#endpoints/filters.ts'
import { recordExample } from '#endpoints/payments/record-example.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import type { PaymentStatus } from '#lifecycle/payment.ts'
import { findMethod } from '#methods/catalogue.ts'
import { listPayments, type PaymentListRequest } from '#operations/finding/list-payments.ts'
import { toRecord } from '#operations/payments/answer.ts'
import { type PaymentQuery, paymentList, paymentQuery } from '#schemas/finding.ts'
import type { PaymentFilter } from '#storage/payments/finding.ts'

const usualLimit = 20

export const listPaymentsEndpoint = endpoint<Services, undefined, undefined, typeof paymentQuery>({
  verb: 'GET',
  scope: 'read',
  path: '/payments',
  operationId: 'listPayments',
  summary: 'List payments',
  description:
    'The newest first. All conditions must hold. Give nextCursor back as cursor, with the same filters, for the next page: ' +
    'every payment that existed when you began is shown exactly once, whatever arrives meanwhile.',
  tag: 'Payments',
  version: '2.6.0',
  access: 'merchant',
  idempotent: false,
  dialect: 'customer',
  query: paymentQuery,
  findFaults: query => collectFaults(() => toFilter(query)),
  answers: { 200: paymentList },
  examples: [
    {
      summary: 'Look for an order',
      after: ['createPayment'],
      query: { transId: '{transId}', limit: '1' },
      status: 200,
      answer: { data: [recordExample] },
    },
  ],
  async handle({ query, merchant }, { engine }) {
    const page = await perform(listPayments(toListRequest(query, merchant), engine)).catch(nameCursor)
    return answer(200, { data: page.payments.map(toRecord), nextCursor: page.nextCursor })
  },
})

export function toListRequest(query: PaymentQuery, merchant: Merchant): PaymentListRequest {
  const { limit, cursor, ...filters } = query
  return {
    merchant,
    filter: toFilter(query),
    limit: Number(limit ?? usualLimit),
    cursor,
    scope: { list: 'payments', filters },
  }
}

const statuses: readonly PaymentStatus[] = [
  'AUTHORIZE_REQUEST',
  'PENDING',
  'AUTHORIZED',
  'CAPTURE_REQUEST',
  'OK',
  'FAILED',
  'REVERSED',
]

const knownTypes = {
  has: (type: string): type is string => findMethod(type) !== undefined,
  named: 'the types that GET /payment-methods lists',
}

function toFilter(query: PaymentQuery): PaymentFilter {
  const { currency, transId, refNr, responseCode, email, merchantCustomerId, last4Digits } = query
  const { range, amounts, ...lists } = readAll({
    range: () => readRange(query),
    statuses: () => readList('status', query.status, oneOf(statuses)),
    types: () => readList('type', query.type, knownTypes),
    amounts: () => readAmounts(query),
  })
  return {
    ...range,
    ...lists,
    ...amounts,
    currency,
    transId,
    refNr,
    responseCode,
    email,
    merchantCustomerId,
    // The schema has already refused anything that is not one of our ids.
    customerId: parseCustomerId(query.gatewayCustomerId ?? ''),
    planId: parsePlanId(query.paymentPlanId ?? ''),
    last4Digits: last4Digits?.toUpperCase(),
  }
}

function readAmounts({ amountFrom, amountTo }: PaymentQuery) {
  const amounts = {
    amountFrom: amountFrom === undefined ? undefined : Number(amountFrom),
    amountTo: amountTo === undefined ? undefined : Number(amountTo),
  }
  if ((amounts.amountFrom ?? 0) > (amounts.amountTo ?? Number.POSITIVE_INFINITY))
    throw contradict(
      ['amountFrom', `amountFrom is ${amountFrom}; it must not be above amountTo (${amountTo}).`],
      ['amountTo', `amountTo is ${amountTo}; it must not be below amountFrom (${amountFrom}).`],
    )
  return amounts
}
