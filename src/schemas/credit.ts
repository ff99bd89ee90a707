/** The whole request of `POST /payments/refunds`: without reference to a payment, to a card or an account. */
import type { Static } from 'typebox'
import { creditObjects } from '#methods/fields/objects.ts'
import { refundBillingAddress, shipping } from '#schemas/parts/address.ts'
import { amount } from '#schemas/parts/amount.ts'
import { refundBrowserInfo } from '#schemas/parts/browser-info.ts'
import { customerInfo } from '#schemas/parts/customer-info.ts'
import { closed, optional } from '#schemas/parts/fields.ts'
import { refNr, simulationMode, statementDescriptor, transId } from '#schemas/parts/identifiers.ts'
import { metadata } from '#schemas/parts/metadata.ts'

const creditPaymentMethods = closed(creditObjects, {
  title: 'CreditPaymentMethods',
  description: 'The card or the account that gets the money; exactly one of them.',
  minProperties: 1,
  maxProperties: 1,
})

export const creditRequest = closed(
  {
    transId,
    amount,
    paymentMethods: creditPaymentMethods,
    refNr: optional(refNr),
    billingAddress: optional(refundBillingAddress),
    shipping: optional(shipping),
    statementDescriptor: optional(statementDescriptor),
    customerInfo: optional(customerInfo),
    browserInfo: optional(refundBrowserInfo),
    metadata: optional(metadata),
    simulationMode: optional(simulationMode),
  },
  { title: 'CreditRequest', description: 'Pays money out that belongs to no payment of ours.' },
)
export type CreditRequest = Static<typeof creditRequest>
