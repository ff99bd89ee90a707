/** What every payment operation answers: done or under way (`operationResult`), or refused or declined (`failedResult`). */
import type { Static } from 'typebox'
import { customerInfoAnswer } from '#schemas/customer-info.ts'
import { choice, closed, freeTextMax, optional, text, url } from '#schemas/fields.ts'
import { merchantId, payId, refNr, transId, xId } from '#schemas/identifiers.ts'
import { metadata } from '#schemas/metadata.ts'
import { resultObjects } from '#schemas/method-objects.ts'
import { order } from '#schemas/order.ts'

export const responseCode = text(8, 'Eight digits: kind, module, detail.', { pattern: '^[0-9]{8}$' })
export const responseDescription = text(freeTextMax, 'The response code in words.')

export const links = closed(
  {
    redirect: optional(
      closed(
        { href: url('Where to send the customer.'), type: text(64, 'Media type of that page.') },
        { title: 'Link', description: 'An address and what lies there.' },
      ),
    ),
  },
  { title: 'Links', description: 'Where to go next.' },
)

const resultMethods = closed(resultObjects, {
  title: 'ResultPaymentMethods',
  description: "What the provider said, in one object named by the method's key.",
})

const rest = {
  refNr: optional(refNr),
  responseCode,
  responseDescription,
  metadata: optional(metadata),
  paymentMethods: optional(resultMethods),
}

export const operationResult = closed(
  {
    payId,
    merchantId,
    transId,
    xId,
    status: choice(
      ['AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED', 'CAPTURE_REQUEST', 'OK'],
      'What became of the operation.',
    ),
    ...rest,
    order: optional(order),
    customerInfo: optional(customerInfoAnswer),
    paymentPlanId: optional(text(64, 'The plan that this payment has begun.')),
    _links: optional(links),
  },
  { title: 'OperationResult', description: 'An operation that is done or under way.' },
)
export type OperationResult = Static<typeof operationResult>

/**
 * Without payId and xId where the refusal came before there was a payment or an operation, and without transId where a
 * reused key was refused before the body was looked at.
 */
export const failedResult = closed(
  {
    payId: optional(payId),
    merchantId,
    transId: optional(transId),
    xId: optional(xId),
    status: choice(['FAILED'], 'Always FAILED.'),
    ...rest,
  },
  { title: 'FailedResult', description: 'An operation that was refused or declined.' },
)
export type FailedResult = Static<typeof failedResult>
