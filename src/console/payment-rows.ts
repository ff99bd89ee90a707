/**
 * The list of payments, read without the endpoint, because 50 full records cost several times as much as the columns
 * that the page shows. Filters, order and cursor are the endpoint's own; requests that it would refuse are passed to
 * it.
 */
import type { Json } from '#console/context.ts'
import type { Merchant } from '#domain/merchant.ts'
import { toListRequest } from '#endpoints/payments/list.ts'
import { InvalidField } from '#http/server/ports.ts'
import { undecided } from '#methods/method.ts'
import { ForeignCursor, listPaymentSummaries } from '#operations/finding/list-payments.ts'
import { type PaymentQuery, paymentQuery } from '#schemas/finding.ts'
import { formats } from '#schemas/parts/formats.ts'
import { TooManyLists } from '#storage/list-turns.ts'
import type { PaymentFinder, PaymentSummary } from '#storage/payments/finding.ts'

/** A page as the endpoint answers it, with fewer members; undefined: ask the endpoint, which says what is wrong. */
export type PaymentRows = (
  merchant: Merchant,
  query: Readonly<Record<string, string>>,
) => Promise<Json | undefined>

interface TextSchema {
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
}

// Every parameter is a text; TypeBox's type does not show the keywords of its schema.
const schemas = paymentQuery.properties as Readonly<Record<string, TextSchema>>

/** Half of a surrogate pair, or a byte that the database does not store. */
const isBroken = (text: string): boolean => text.includes('\0') || !text.isWellFormed()

function isAccepted(name: string, text: string): boolean {
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined
  if (!schema || text === '' || isBroken(text)) return false
  const { maxLength = text.length, pattern, format } = schema
  return (
    text.length <= maxLength &&
    (pattern === undefined || new RegExp(pattern, 'u').test(text)) &&
    (format === undefined || formats[format]?.check(text) === true)
  )
}

const toRow = (payment: PaymentSummary): Json => ({
  payId: payment.payId,
  transId: payment.transId,
  status: payment.status,
  amount: { value: payment.amount, currency: payment.currency },
  creationDate: payment.createdAt,
  ...(payment.email === null ? {} : { customerInfo: { email: payment.email } }),
  ...(payment.method === undecided.type
    ? {}
    : { paymentMethods: { type: payment.method, last4Digits: payment.lastDigits ?? undefined } }),
})

export function createPaymentRows(finder: PaymentFinder): PaymentRows {
  return async (merchant, query) => {
    if (!Object.entries(query).every(([name, text]) => isAccepted(name, text))) return undefined
    try {
      // isAccepted has checked every member against the schema of PaymentQuery.
      const request = toListRequest(query as PaymentQuery, merchant)
      const { payments, nextCursor } = await listPaymentSummaries(request, { finder })
      return { data: payments.map(toRow), nextCursor }
    } catch (error) {
      if (error instanceof InvalidField || error instanceof ForeignCursor) return undefined
      if (error instanceof TooManyLists) return undefined
      throw error
    }
  }
}
