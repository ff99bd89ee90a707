/** `PATCH /customers/{id}`: changes a customer's data. */
import { customerPath, requireCustomerId } from '#endpoints/customers/path.ts'
import { createdBy, customerEndpoint, detailExample } from '#endpoints/customers/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { changeCustomer } from '#operations/customers/customers.ts'
import { customerDetail, customerPatch } from '#schemas/customer.ts'

export const updateCustomerEndpoint = endpoint<Services, typeof customerPatch, typeof customerPath>({
  ...customerEndpoint,
  verb: 'PATCH',
  scope: 'payments',
  path: '/customers/{id}',
  operationId: 'updateCustomer',
  summary: 'Update a customer',
  description:
    'What is given replaces what is there, null clears it, what is left out stays; the lines of the address are taken ' +
    'one by one. The email address can be replaced but not cleared. A telephone number needs both of its members.',
  idempotent: true,
  params: customerPath,
  body: customerPatch,
  answers: { 200: customerDetail },
  examples: [
    {
      summary: 'The customer has moved and has no telephone any more',
      after: [createdBy],
      params: { id: '{customerInfo.gatewayCustomerId}' },
      body: { phone: null, billingAddress: { streetName: 'Ashley Combe', city: 'Porlock' } },
      status: 200,
      answer: {
        ...detailExample,
        phone: undefined,
        billingAddress: {
          streetName: 'Ashley Combe',
          city: 'Porlock',
          postalCode: 'SW1Y 4JH',
          country: 'GBR',
        },
        updatedAt: '2026-11-16T08:30:00.000',
      },
    },
  ],
  handle: ({ body, params, merchant, key }, { engine }) =>
    perform(changeCustomer({ merchant, customerId: requireCustomerId(params.id), patch: body, key }, engine)),
})
