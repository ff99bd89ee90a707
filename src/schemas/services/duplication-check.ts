/** `POST /services/duplicationCheck`: an order that is about to be paid, and its existing payments. */
import type { Static } from 'typebox'
import { plainAmount } from '#schemas/parts/amount.ts'
import { choice, closed, flag, formatted, freeTextMax, optional, text, whole } from '#schemas/parts/fields.ts'
import { payId, refNr, transId } from '#schemas/parts/identifiers.ts'
import { Type } from '#schemas/parts/type.ts'
import { responseCode, responseDescription } from '#schemas/result.ts'

const orderNames = closed(
  {
    merchantReference: optional(text(freeTextMax, "The merchant's id of the order.", { minLength: 1 })),
    invoiceId: optional(text(freeTextMax, 'Id of the invoice.', { minLength: 1 })),
  },
  {
    title: 'OrderNames',
    description: 'By what the order is known; a payment must match all that is given.',
    minProperties: 1,
  },
)

export const duplicationCheck = closed(
  {
    transId: optional(transId),
    order: orderNames,
    amount: plainAmount,
    // 96 hours: the limit of the API contract, enough for a long weekend.
    lookbackHours: optional(whole(1, 96, 'How far to look back; 24 hours if absent.')),
  },
  { title: 'DuplicationCheck', description: 'An order that is about to be paid.' },
)
export type DuplicationCheck = Static<typeof duplicationCheck>

const paymentOfOrder = closed(
  {
    payId,
    transId,
    refNr: optional(refNr),
    status: choice(
      ['AUTHORIZE_REQUEST', 'PENDING', 'AUTHORIZED', 'CAPTURE_REQUEST', 'OK'],
      'Where the payment stands.',
    ),
    amount: plainAmount,
    creationDate: formatted('date-time', 'When the payment was created.'),
  },
  { title: 'PaymentOfOrder', description: 'A payment of the same order.' },
)

export const duplicationAnswer = closed(
  {
    status: choice(['OK'], 'The search was made.'),
    responseCode,
    responseDescription,
    duplicate: flag('Whether such a payment was found.'),
    payments: Type.Array(paymentOfOrder, { maxItems: 100, description: 'The newest first, 100 at most.' }),
  },
  { title: 'DuplicationAnswer', description: 'What was found of the order.' },
)
