/** `GET /customers`: the merchant's customers, page by page. */
import { bornBy, customerEndpoint, itemExample } from '#endpoints/customers/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { InvalidField } from '#http/server/ports.ts'
import { listCustomers } from '#operations/customers/customers.ts'
import { type CustomerQuery, customerList, customerQuery } from '#schemas/customer.ts'
import type { CustomerConditions } from '#storage/customers/customer-pages.ts'

export const listCustomersEndpoint = endpoint<Services, undefined, undefined, typeof customerQuery>({
  ...customerEndpoint,
  verb: 'GET',
  scope: 'read',
  path: '/customers',
  operationId: 'listCustomers',
  summary: 'List customers',
  description:
    'The newest first, 20 on a page. A customer is made by the first successful payment that names a ' +
    'merchantCustomerId. A page beyond the end is empty.',
  query: customerQuery,
  answers: { 200: customerList },
  examples: [
    {
      summary: 'Look for an email address',
      after: [bornBy],
      query: { page: '1', email: 'ada@example.com' },
      status: 200,
      answer: { totalNumberOfPages: 1, totalNumberOfItems: 1, page: 1, pageSize: 20, data: [itemExample] },
    },
  ],
  async handle({ query, merchant }, { engine }) {
    const list = listCustomers(
      merchant,
      { page: readPage(query), conditions: toConditions(query) },
      engine.customers,
    )
    return answer(200, await perform(list))
  },
})

/** The contract's int32. */
const lastPage = 2_147_483_647

function readPage({ page }: CustomerQuery): number {
  const number = Number(page)
  if (number > lastPage) throw new InvalidField('page', `page is ${page}; it must be at most ${lastPage}.`)
  return number
}

const dayMs = 24 * 60 * 60 * 1000

/** Days are those of UTC, both ends included. */
const toConditions = (query: CustomerQuery): CustomerConditions => ({
  createdFrom: query.createdFrom === undefined ? undefined : new Date(startOf(query.createdFrom)),
  createdBefore: query.createdTo === undefined ? undefined : new Date(startOf(query.createdTo) + dayMs),
  merchantCustomerId: query.merchantCustomerId,
  email: query.email,
  phoneCountry: query.phoneCountry?.replace(/^[+ ]/, ''),
  phoneNumber: query.phoneNumber,
})

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`)
