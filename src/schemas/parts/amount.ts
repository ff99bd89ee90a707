/** Amounts of money: integers of the currency's smallest unit. */
import type { Static } from 'typebox'
import { maximumAmount } from '#domain/money/money.ts'
import { closed, formatted, optional, whole } from '#schemas/parts/fields.ts'

const currency = formatted('currency', 'ISO 4217 code of an active currency.')

const part = (description: string) => optional(whole(0, maximumAmount, description))
/** Some shops send discounts as negative numbers, some as positive ones; both are only passed on. */
const signedPart = (description: string) => optional(whole(-maximumAmount, maximumAmount, description))

const parts = {
  taxTotal: part('Taxes within the amount.'),
  netItemTotal: part('Goods without tax and without shipping.'),
  netShippingAmount: part('Shipping without tax.'),
  grossShippingAmount: part('Shipping with tax.'),
  netDiscount: signedPart('Discount without tax.'),
  grossDiscount: signedPart('Discount with tax.'),
}

const value = (minimum: number) =>
  whole(minimum, maximumAmount, "All that is to be paid, in the currency's smallest unit.")

export const plainAmount = closed(
  { value: value(1), currency },
  { title: 'PlainAmount', description: 'A value and its currency.' },
)
export type PlainAmount = Static<typeof plainAmount>

export const amount = closed(
  { value: value(1), currency, ...parts },
  { title: 'Amount', description: 'A value and its currency, with the parts it is made of.' },
)
export type Amount = Static<typeof amount>

/** An amount of zero verifies a card; create-payment.ts restricts it to the requests that may do so. */
export const createAmount = closed(
  { value: value(0), currency, ...parts },
  { title: 'CreateAmount', description: 'As Amount; 0 is only for the verification of an account.' },
)

/** For operations in records, where an account verification has the amount 0. */
export const operationAmount = closed(
  { value: value(0), currency },
  { title: 'OperationAmount', description: 'What the operation was about.' },
)

export const recordAmount = closed(
  {
    value: value(0),
    currency,
    ...parts,
    authorizedValue: whole(0, maximumAmount, 'Approved so far, increments included.'),
    // A provider may allow captures above the authorised amount, so sums can exceed the largest single amount.
    capturedValue: whole(0, 2 * maximumAmount, 'Captured so far.'),
    refundedValue: whole(0, 2 * maximumAmount, 'Refunded so far.'),
    reversedValue: whole(0, maximumAmount, 'Released so far, by reversal or expiry.'),
    returnedValue: whole(0, 2 * maximumAmount, "Taken back by the customer's bank."),
    disputedValue: whole(0, 2 * maximumAmount, 'Disputed by the cardholder and not won.'),
    receivedValue: optional(
      whole(
        0,
        2 * maximumAmount,
        'What the customer has sent so far, where the bank has reported transfers.',
      ),
    ),
  },
  { title: 'RecordAmount', description: 'What was asked for and what became of it.' },
)
export type RecordAmount = Static<typeof recordAmount>
