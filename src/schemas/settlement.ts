/** Settlement lines as the API shows them. */
import type { Static } from 'typebox'
import { pageQuery } from '#schemas/dispute.ts'
import { choice, closed, formatted, optional, text } from '#schemas/parts/fields.ts'
import { ownId, payId, xId } from '#schemas/parts/identifiers.ts'
import { Type } from '#schemas/parts/type.ts'

export const settlementTypes = [
  'CAPTURE',
  'REFUND',
  'CHARGEBACK',
  'FEE',
  'RESERVE',
  'PAYOUT',
  'CORRECTION',
] as const

/** 2^53: the largest number that is exact in JSON. */
const signed = (description: string) =>
  Type.Integer({ minimum: -9_007_199_254_740_991, maximum: 9_007_199_254_740_991, description })

export const settlementLine = closed(
  {
    settlementId: text(255, "The provider's id of the settlement that the line belongs to."),
    account: text(64, 'The provider account.'),
    date: formatted('date', 'The day on which the provider booked it.'),
    type: choice(settlementTypes, 'What the line is about.'),
    payId: optional(payId),
    xId: optional(xId),
    gross: signed('Before fees, in the smallest unit; positive to the merchant, negative from them.'),
    fee: signed('What the provider keeps.'),
    net: signed('What the merchant gets.'),
    currency: formatted('currency', 'ISO 4217 code.'),
    providerReference: text(255, "The provider's own id of the line."),
  },
  { title: 'SettlementLine', description: 'One line of what a provider has paid out.' },
)

export const settlementList = closed(
  {
    data: Type.Array(settlementLine, { maxItems: 100, description: 'The newest day first.' }),
    nextCursor: optional(text(1024, 'Where the next page begins; absent on the last one.')),
  },
  { title: 'SettlementList', description: 'One page of settlement lines.' },
)

export const settlementQuery = closed(
  {
    account: optional(text(64, 'Only lines of this provider account.', { minLength: 1 })),
    settlementId: optional(text(255, 'Only lines of this settlement.', { minLength: 1 })),
    type: optional(text(100, 'Only these types, with commas between.')),
    payId: optional(ownId('Only lines of this payment.')),
    from: optional(formatted('date', 'Booked on this day or later.')),
    to: optional(formatted('date', 'Booked before this day.')),
    ...pageQuery,
  },
  { title: 'SettlementQuery', description: 'Which settlement lines to list.' },
)
export type SettlementQuery = Static<typeof settlementQuery>
