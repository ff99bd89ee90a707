/** `GET /customers`: the merchant's customers, page by page. */
import { createdBy, customerEndpoint, itemExample } from '#endpoints/customers/shared.ts'
import { collectFaults, readAll, readDays, readPage } from '#endpoints/filters.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { listCustomers } from '#operations/customers/customers.ts'
import { type CustomerQuery, customerList, customerQuery } from '#schemas/customer.ts'

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
  findFaults: query => collectFaults(() => readFilters(query)),
  answers: { 200: customerList },
  examples: [
    {
      summary: 'Look for an email address',
      after: [createdBy],
      query: { page: '1', email: 'ada@example.com' },
      status: 200,
      answer: { totalNumberOfPages: 1, totalNumberOfItems: 1, page: 1, pageSize: 20, data: [itemExample] },
    },
  ],
  async handle({ query, merchant }, { engine }) {
    const { page, days } = readFilters(query)
    const { merchantCustomerId, email, phoneNumber } = query
    const phoneCountry = query.phoneCountry?.replace(/^[+ ]/, '')
    const conditions = { ...days, merchantCustomerId, email, phoneCountry, phoneNumber }
    return answer(200, await perform(listCustomers(merchant, { page, conditions }, engine.customers)))
  },
})

const readFilters = (query: Partial<CustomerQuery>) =>
  readAll({ page: () => readPage(query.page), days: () => readDays(query) })
