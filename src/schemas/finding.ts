/** Lists of payments and operations: filters and pages. */
import type { Static } from 'typebox'
import { operationAmount } from '#schemas/parts/amount.ts'
import { choice, closed, emailFilter, filled, formatted, optional, text } from '#schemas/parts/fields.ts'
import { methodType, ownId, payId, refNr, transId, xId } from '#schemas/parts/identifiers.ts'
import { Type } from '#schemas/parts/type.ts'
import { operationType, paymentRecord } from '#schemas/payment-record.ts'
import { responseCode } from '#schemas/result.ts'

/** 2,000 characters: enough for any list of types in a filter. */
const listMax = 2_000

const amountBound = (description: string) => optional(text(12, description, { pattern: '^[0-9]{1,12}$' }))

const pageLimit = (maximum: number, usual: number, pattern: string) =>
  optional(text(4, `How many on a page, 1 to ${maximum}; ${usual} unless given.`, { pattern }))

const cursor = optional(
  text(512, 'nextCursor of the page before, with the same filters.', { pattern: '^[0-9A-Za-z_-]{20,}$' }),
)
const nextCursor = optional(text(512, 'Where the next page begins; absent on the last one.'))

export const paymentQuery = closed(
  {
    from: optional(formatted('date-time', 'Created at this moment or later.')),
    to: optional(formatted('date-time', 'Created before this moment.')),
    status: optional(text(listMax, 'One status, or several separated by commas.')),
    type: optional(text(listMax, 'One type of payment method, or several separated by commas.')),
    currency: optional(formatted('currency', 'ISO 4217 code of the amount.')),
    amountFrom: amountBound('At least this amount, in the smallest unit.'),
    amountTo: amountBound('At most this amount, in the smallest unit.'),
    transId: filled(64, "The merchant's id of the payment."),
    refNr: filled(40, "The merchant's reference of the payment."),
    responseCode: optional(text(8, 'Response code of the last operation.', { pattern: '^[0-9]{8}$' })),
    email: emailFilter('Email address of customerInfo; upper and lower case are the same.'),
    merchantCustomerId: filled(
      64,
      "The merchant's id of the customer; also finds the charges of their plans.",
    ),
    gatewayCustomerId: optional(ownId('Our id of the customer.')),
    paymentPlanId: optional(ownId('The plan that the payment begins or belongs to.')),
    last4Digits: optional(
      text(4, 'Last four characters of the card number or IBAN.', { pattern: '^[0-9A-Za-z]{4}$' }),
    ),
    limit: pageLimit(100, 20, '^(?:[1-9][0-9]?|100)$'),
    cursor,
  },
  { title: 'PaymentQuery', description: 'Which payments. All conditions must hold.' },
)
export type PaymentQuery = Static<typeof paymentQuery>

export const paymentList = closed(
  {
    data: Type.Array(paymentRecord, { maxItems: 100, description: 'The newest first.' }),
    nextCursor,
  },
  { title: 'PaymentList', description: 'One page of payments.' },
)

export const operationQuery = closed(
  {
    from: optional(formatted('date-time', 'Final at this moment or later.')),
    to: optional(formatted('date-time', 'Final before this moment.')),
    type: optional(text(listMax, 'One kind of operation, or several separated by commas.')),
    status: optional(text(listMax, 'OK, AUTHORIZED or FAILED, or several separated by commas.')),
    payId: optional(ownId('Only operations of this payment.')),
    limit: pageLimit(1000, 100, '^(?:[1-9][0-9]{0,2}|1000)$'),
    cursor,
  },
  { title: 'OperationQuery', description: 'Which operations. All conditions must hold.' },
)
export type OperationQuery = Static<typeof operationQuery>

const movement = closed(
  {
    xId,
    payId,
    transId,
    refNr: optional(refNr),
    type: operationType,
    status: choice(['AUTHORIZED', 'OK', 'FAILED'], 'What became of the operation.'),
    amount: operationAmount,
    paymentMethodType: Type.Union([methodType, Type.Literal('UNDECIDED', { type: 'string' })], {
      description: 'Type of the payment method; UNDECIDED where the customer never chose one.',
    }),
    responseCode,
    creationDate: formatted('date-time', 'When the operation began.'),
    settledDate: formatted('date-time', 'When it became final.'),
    provider: optional(
      closed(
        {
          account: text(64, 'The provider account that served it; simulator where none was needed.'),
          transactionId: optional(text(128, "The provider's id of the operation.")),
        },
        { title: 'MovementProvider', description: 'Who moved the money.' },
      ),
    ),
  },
  { title: 'Movement', description: 'An operation that has become final.' },
)

export const movementList = closed(
  { data: Type.Array(movement, { maxItems: 1000, description: 'The oldest first.' }), nextCursor },
  { title: 'MovementList', description: 'One page of the book of movements.' },
)
