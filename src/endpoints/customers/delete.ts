/** `DELETE /customers/{id}`: a customer and all of their stored payment methods. */
import { customerPath, requireCustomerId } from '#endpoints/customers/path.ts'
import { createdBy, customerEndpoint, itemExample } from '#endpoints/customers/shared.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { deleteCustomer } from '#operations/customers/customers.ts'
import { deletion } from '#schemas/customer.ts'
import { choice, closed, optional } from '#schemas/parts/fields.ts'

const eraseQuery = closed(
  { erase: optional(choice(['payments'], 'Also blanks personal data of the payments of this customer.')) },
  { title: 'CustomerDeletionQuery', description: 'What is erased besides.' },
)

export const deleteCustomerEndpoint = endpoint<Services, undefined, typeof customerPath, typeof eraseQuery>({
  ...customerEndpoint,
  verb: 'DELETE',
  scope: 'payments',
  path: '/customers/{id}',
  operationId: 'deleteCustomer',
  summary: 'Delete a customer',
  description:
    'The customer and their stored payment methods are gone for good. Card numbers that no other customer keeps are ' +
    'destroyed, and their pseudo numbers are unknown from then on. Payments keep their masked data. With ' +
    '`erase=payments` names, e-mail, telephone, addresses but for the country, IP and device are blanked in the ' +
    "customer's payments, their events and the answers stored under their idempotency keys.",
  params: customerPath,
  query: eraseQuery,
  answers: { 200: deletion },
  examples: [
    {
      summary: 'The customer wants to be forgotten',
      after: [createdBy],
      params: { id: '{customerInfo.gatewayCustomerId}' },
      status: 200,
      answer: { id: itemExample.id, deleted: true },
    },
  ],
  handle: async ({ params, query, merchant }, { engine }) => {
    const erasesPayments = query.erase === 'payments'
    const customerId = requireCustomerId(params.id)
    return answer(200, await perform(deleteCustomer(merchant, customerId, engine, { erasesPayments })))
  },
})
