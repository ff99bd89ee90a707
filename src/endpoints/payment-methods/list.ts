/** `GET /payment-methods`: the methods a payment may name, with what each can do. */
import type { Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { listOpenMethods, selectMethods, writeMethodList } from '#methods/method-list.ts'
import { servedMethods } from '#operations/payments/customer-pages/offer.ts'
import { methodFilter, methodList } from '#schemas/payment-method-list.ts'

export const listMethodsEndpoint = endpoint<Services, undefined, undefined, typeof methodFilter>({
  verb: 'GET',
  scope: 'read',
  path: '/payment-methods',
  operationId: 'listPaymentMethods',
  summary: 'List the payment methods',
  description:
    'Every method that `POST /payments` takes, all in one answer. It changes with the merchant’s provider accounts and ' +
    'rules, and with a new version of the gateway only, so a shop may keep it for a day. Where a country or currency matters, ask ' +
    'for the methods that fit.',
  tag: 'Services',
  version: '2.5.0',
  access: 'merchant',
  idempotent: false,
  dialect: 'service',
  query: methodFilter,
  answers: { 200: methodList },
  examples: [
    {
      summary: 'Cards and what they can do, for a German customer with euros',
      query: { currency: 'EUR', country: 'DEU', operation: 'multi_capture', family: 'card' },
      status: 200,
      answer: {
        totalNumberOfItems: 1,
        data: [
          {
            type: 'CARD',
            key: 'card',
            name: 'Credit or debit card',
            family: 'card',
            core: true,
            flow: 'direct',
            integrationTypes: ['HOSTED', 'DIRECT'],
            captureMethods: ['AUTOMATIC', 'MANUAL', 'DELAYED'],
            operations: [
              'capture',
              'partial_capture',
              'multi_capture',
              'increment',
              'reverse',
              'refund',
              'partial_refund',
              'credit',
              'recurring',
            ],
            currencies: ['*'],
            countries: ['*'],
            authorizationDays: 7,
          },
        ],
      },
    },
  ],
  async handle({ query, merchant: { merchantId, methods } }, { engine }) {
    const { currency, country } = query
    const open = await servedMethods(listOpenMethods(methods), { merchantId, currency, country }, engine)
    return { status: 200, json: writeMethodList(selectMethods(query, open)) }
  },
})
