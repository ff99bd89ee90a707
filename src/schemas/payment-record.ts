/**
 * The payment record, answered by both retrievals and the update: the request's fields, the result and all operations.
 */
import type { Static } from 'typebox'
import { otherRecordObject, recordObjects } from '#methods/fields/objects.ts'
import { paymentDetails } from '#schemas/create-payment.ts'
import { billingAddress, refundBillingAddress } from '#schemas/parts/address.ts'
import { operationAmount, recordAmount } from '#schemas/parts/amount.ts'
import { browserInfo, refundBrowserInfo } from '#schemas/parts/browser-info.ts'
import { customerInfoAnswer } from '#schemas/parts/customer-info.ts'
import { choice, closed, closedBut, formatted, freeTextMax, optional, text } from '#schemas/parts/fields.ts'
import {
  integrationType,
  merchantId,
  methodType,
  ownId,
  payId,
  paymentIntentId,
  refNr,
  transId,
  xId,
} from '#schemas/parts/identifiers.ts'
import { Type } from '#schemas/parts/type.ts'
import { appUrls } from '#schemas/parts/urls.ts'
import { responseCode, responseDescription } from '#schemas/result.ts'
import { linkFields, pageFields } from '#schemas/session.ts'

const recordMethods = closedBut(
  { type: methodType, integrationType: optional(integrationType), ...recordObjects },
  otherRecordObject,
  { title: 'RecordPaymentMethods', description: 'The method used, with masked data.' },
)

/** Operations that we request from providers; a fault can be ordered for each. */
export const askedOperations = [
  'AUTHORIZATION',
  'CONFIRM',
  'INCREMENTAL',
  'CAPTURE',
  'REVERSAL',
  'REFUND',
  'CREDIT',
] as const

/** All types of operations. A RETURN is made by the customer's bank. */
export const operationTypes = [...askedOperations, 'RETURN'] as const

export const operationType = choice(operationTypes, 'Kind of operation.')

export const operationStatus = choice(
  ['AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED', 'CAPTURE_REQUEST', 'OK', 'FAILED'],
  'What became of the operation.',
)

export const paymentStatus = choice(
  ['AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED', 'CAPTURE_REQUEST', 'OK', 'FAILED', 'REVERSED'],
  'Where the payment stands.',
)

export const reasonCode = text(
  35,
  "The provider's own reason for a return or a refusal, such as the bank's AC04; absent where it names none.",
)

export const operationRecord = closed(
  {
    xId,
    type: operationType,
    status: operationStatus,
    amount: operationAmount,
    transId: optional(transId),
    refNr: optional(refNr),
    responseCode: optional(responseCode),
    responseDescription: optional(responseDescription),
    reasonCode: optional(reasonCode),
    providerTransactionId: optional(text(128, "The provider's id of the operation.")),
    providerResponseText: optional(
      text(
        255,
        'Why the provider refused it, in its own words, or why its answer was not understood; of payments at a provider account.',
      ),
    ),
    origin: optional(choice(['PROVIDER'], "Made in the provider's own dashboard, not through this API.")),
    provider: optional(
      closed(
        { account: text(64, 'The provider account that was asked.') },
        {
          title: 'OperationProvider',
          description: 'An account that was not reached before the one that took it.',
        },
      ),
    ),
    creationDate: formatted('date-time', 'When the operation began.'),
  },
  { title: 'OperationRecord', description: 'One operation of the payment.' },
)
export type OperationRecord = Static<typeof operationRecord>

/** The fields of the request that the payment record shows. */
export const recordDetails = {
  ...paymentDetails,
  // Records also show credits, whose requests have other schemas for address and browser.
  billingAddress: optional(
    Type.Union([billingAddress, refundBillingAddress], {
      description: 'Where the invoice goes, or the credit.',
    }),
  ),
  browserInfo: optional(
    Type.Union([browserInfo, refundBrowserInfo], { description: "The customer's browser." }),
  ),
  ...pageFields,
  ...linkFields,
  urls: optional(appUrls),
}

/** 1000: 50 captures, their refunds and reversals, with room for the declined ones. */
const operationsMax = 1000

export const paymentRecord = closed(
  {
    payId,
    merchantId,
    transId,
    xId: optional(ownId('The last operation.')),
    status: paymentStatus,
    responseCode,
    responseDescription,
    amount: recordAmount,
    paymentMethods: optional(recordMethods),
    provider: optional(
      closed(
        {
          account: text(64, 'The provider account that processes the payment.'),
          connector: text(64, 'The connector of that account.'),
        },
        { title: 'PaymentProvider', description: 'Who processes the payment; absent without an account.' },
      ),
    ),
    ...recordDetails,
    customerInfo: optional(customerInfoAnswer),
    operations: Type.Array(operationRecord, { maxItems: operationsMax, description: 'The oldest first.' }),
    paymentPlanId: optional(text(64, 'The plan this payment belongs to.')),
    paymentIntentId: optional(paymentIntentId),
    cancellationReason: optional(text(freeTextMax, 'The `reason` with which the payment was cancelled.')),
    creationDate: formatted('date-time', 'When the payment was created.'),
    updatedAt: formatted('date-time', 'When it last changed.'),
  },
  { title: 'PaymentRecord', description: 'A payment and all that became of it.' },
)
export type PaymentRecord = Static<typeof paymentRecord>
