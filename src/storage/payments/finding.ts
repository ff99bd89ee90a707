/**
 * Finds payments of a merchant by filters, the newest first. Each search is planned on its own, so that the planner
 * sees the values. A page continues after a key, never at an offset.
 */
import type { CustomerId, MerchantId, PayId, PlanId } from '#domain/ids.ts'
import { success } from '#domain/response-codes.ts'
import type { Payment, PaymentStatus } from '#lifecycle/payment.ts'
import { type PaymentRow, toPayment } from '#storage/commit/rows.ts'
import type { Database } from '#storage/database.ts'
import { chargedCustomer, email, lastDigits, linkId, merchantCustomer } from '#storage/payments/found-by.ts'
import { paymentColumns, paymentInstruments } from '#storage/payments/payments.ts'
import { inLists } from '#storage/planner.ts'

export interface PaymentFilter {
  /** Inclusive. */
  readonly from?: Date
  /** Exclusive. */
  readonly to?: Date
  readonly statuses?: readonly PaymentStatus[]
  readonly types?: readonly string[]
  readonly currency?: string
  readonly amountFrom?: number
  readonly amountTo?: number
  readonly transId?: string
  readonly refNr?: string
  readonly responseCode?: string
  readonly email?: string
  readonly merchantCustomerId?: string
  readonly customerId?: CustomerId
  readonly planId?: PlanId
  readonly last4Digits?: string
  /** Payments made by any link, or by this one. */
  readonly link?: string | true
}

/** The last payment of the previous page. */
export interface PaymentPlace {
  readonly createdAt: Date
  readonly payId: PayId
}

export interface PaymentQuestion {
  readonly merchantId: MerchantId
  readonly filter: PaymentFilter
  readonly after?: PaymentPlace
  readonly limit: number
}

/** The fields of a payment in the console's lists; reading them is a tenth of the work of the whole record. */
export interface PaymentSummary {
  readonly payId: PayId
  readonly transId: string
  readonly status: PaymentStatus
  readonly amount: number
  readonly currency: string
  readonly method: string
  readonly email: string | null
  readonly lastDigits: string | null
  readonly createdAt: Date
}

export interface PaymentFinder {
  find(question: PaymentQuestion): Promise<readonly Payment[]>
  summarize(question: PaymentQuestion): Promise<readonly PaymentSummary[]>
}

/** 1,000: the newest payments, among which those with a provider call under way are searched. */
const inFlightMax = 1_000

type Parameter = (value: unknown) => string

export function createPaymentFinder({ readers, lists }: Pick<Database, 'readers' | 'lists'>): PaymentFinder {
  return {
    async find(question) {
      const values: unknown[] = []
      const parameter: Parameter = value => `$${values.push(value)}`
      const text = `SELECT ${paymentColumns} FROM (${select(question, parameter)}) f
        JOIN payment p ON p.merchant_id = f.merchant_id AND p.pay_id = f.pay_id ${paymentInstruments}
        ORDER BY p.created_at DESC, p.pay_id DESC`
      const { rows } = await lists.run(question.merchantId, () => readers.query<PaymentRow>(text, values))
      return rows.map(toPayment)
    },
    async summarize(question) {
      const values: unknown[] = []
      const parameter: Parameter = value => `$${values.push(value)}`
      const text = `SELECT ${summaryColumns} FROM (${select(question, parameter)}) f
        JOIN payment p ON p.merchant_id = f.merchant_id AND p.pay_id = f.pay_id ${order}`
      const { rows } = await lists.run(question.merchantId, () => readers.query<PaymentSummary>(text, values))
      return rows
    },
  }
}

const order = 'ORDER BY p.created_at DESC, p.pay_id DESC'

function select(question: PaymentQuestion, parameter: Parameter): string {
  const { filter, merchantId } = question
  if (filter.merchantCustomerId !== undefined)
    return selectOfMerchantCustomer(question, { name: filter.merchantCustomerId, parameter })
  const merchant = parameter(merchantId)
  const conditions = [...placeConditions(question, parameter), ...conditionsOf(filter, parameter, merchant)]
  const where = [`p.merchant_id = ${merchant}`, ...conditions]
  const limit = parameter(question.limit)
  const marked = markedBy(filter)
  if (!marked) {
    if (filter.transId === undefined) where.push(inLists('p'))
    return `SELECT p.merchant_id, p.pay_id FROM payment p WHERE ${where.join(' AND ')} ${order} LIMIT ${limit}`
  }
  const found = `SELECT f.merchant_id, f.pay_id, f.created_at FROM unnest(${parameter(marked.values)}::text[]) v(value)
    CROSS JOIN LATERAL (SELECT p.merchant_id, p.pay_id, p.created_at
      FROM (SELECT m.merchant_id, m.pay_id FROM payment_mark m
        WHERE m.merchant_id = ${parameter(merchantId)} AND m.${marked.column} = v.value
          ${placeConditions(question, parameter, 'm')
            .map(condition => `AND ${condition}`)
            .join(' ')}
        ORDER BY m.created_at DESC, m.pay_id DESC) m
      JOIN payment p USING (merchant_id, pay_id) WHERE ${where.join(' AND ')} ${order} LIMIT ${limit}) f`
  const inFlight = () => `SELECT p.merchant_id, p.pay_id, p.created_at FROM (SELECT * FROM payment p
      WHERE p.merchant_id = ${parameter(merchantId)} AND ${inLists('p')} ${placeConditions(
        question,
        parameter,
      )
        .map(condition => `AND ${condition}`)
        .join(' ')} ${order} LIMIT ${inFlightMax}) p
    WHERE p.status = 'PENDING' AND ${where.join(' AND ')}`
  const both = marked.values.includes('PENDING') ? `${found} UNION ${inFlight()}` : found
  return `SELECT p.merchant_id, p.pay_id FROM (${both}) p ${order} LIMIT ${limit}`
}

/**
 * Payments that name the merchant's id of the customer, and charges of plans, which name ours: those of all customers
 * who have or had that id. Each index is read in its order and for one page only, however many payments the customer
 * has.
 */
function selectOfMerchantCustomer(
  question: PaymentQuestion,
  { name, parameter }: { readonly name: string; readonly parameter: Parameter },
): string {
  const merchant = parameter(question.merchantId)
  const customer = parameter(name)
  const limit = parameter(question.limit)
  const conditions = [
    `p.merchant_id = ${merchant}`,
    ...placeConditions(question, parameter),
    ...conditionsOf(question.filter, parameter, merchant),
  ]
  const page = (
    column: string,
    value: string,
  ) => `(SELECT p.merchant_id, p.pay_id, p.created_at FROM payment p
    WHERE ${column} IS NOT NULL AND ${column} = ${value} AND ${conditions.join(' AND ')} ${order} LIMIT ${limit})`
  const customers = `SELECT replace(c.customer_id::text, '-', '') AS id FROM customer c
      WHERE c.merchant_id = ${merchant} AND c.merchant_customer_id = ${customer}
    UNION ALL SELECT replace(d.customer_id::text, '-', '') FROM deleted_customer d
      WHERE d.merchant_id = ${merchant} AND d.merchant_customer_id = ${customer}`
  const charges = `SELECT f.* FROM (${customers}) c CROSS JOIN LATERAL ${page(chargedCustomer, 'c.id')} f`
  return `SELECT p.merchant_id, p.pay_id FROM (${page(merchantCustomer, customer)} UNION ${charges}) p ${order} LIMIT ${limit}`
}

/** Whether to search by marks, because no other filter has an index that is faster. */
function markedBy(
  filter: PaymentFilter,
): { readonly column: 'status' | 'response_code'; readonly values: readonly string[] } | undefined {
  const { transId, refNr, email, merchantCustomerId, customerId, planId, last4Digits, link } = filter
  const selective = [transId, refNr, email, merchantCustomerId, customerId, planId, last4Digits, link]
  if (selective.some(value => value !== undefined)) return undefined
  const { statuses, responseCode } = filter
  if (responseCode !== undefined && responseCode !== success)
    return { column: 'response_code', values: [responseCode] }
  return statuses && !statuses.includes('OK') ? { column: 'status', values: statuses } : undefined
}

function placeConditions({ filter, after }: PaymentQuestion, parameter: Parameter, table = 'p'): string[] {
  const conditions: string[] = []
  if (filter.from) conditions.push(`${table}.created_at >= ${parameter(filter.from)}`)
  if (filter.to) conditions.push(`${table}.created_at < ${parameter(filter.to)}`)
  if (after)
    conditions.push(
      `(${table}.created_at, ${table}.pay_id) < (${parameter(after.createdAt)}::timestamptz, ${parameter(after.payId)}::uuid)`,
    )
  return conditions
}

/** Finds the payIds first, at most two rows. */
const byTransId = (value: string, merchant: string): string => `p.pay_id IN (
  SELECT t.pay_id FROM payment t WHERE t.merchant_id = ${merchant} AND t.trans_id = ${value} AND t.live
  UNION ALL SELECT t.pay_id FROM payment t WHERE t.merchant_id = ${merchant} AND t.trans_id = ${value} AND NOT t.live)`

/**
 * By customer. A payment gets its customer when it is approved; the customer id that it names is there from the start
 * and has an index. It keeps both when the customer is deleted.
 */
const byCustomer = (
  value: string,
  merchant: string,
): string => `p.customer_id = ${value} AND (${chargedCustomer} = replace(${value}::text, '-', '')
  OR ${merchantCustomer} = (SELECT c.merchant_customer_id FROM customer c
      WHERE c.merchant_id = ${merchant} AND c.customer_id = ${value}
    UNION ALL SELECT d.merchant_customer_id FROM deleted_customer d
      WHERE d.merchant_id = ${merchant} AND d.customer_id = ${value} LIMIT 1))`

const lastCode = `(SELECT o.response_code FROM operation o WHERE o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id
  ORDER BY o.sequence DESC LIMIT 1)`

const summaryColumns = `p.pay_id AS "payId", p.trans_id AS "transId", p.status, p.amount, p.currency, p.method,
  ${email} AS email, ${lastDigits} AS "lastDigits", p.created_at AS "createdAt"`

type Condition = (value: string, merchant: string) => string

const conditionByField: { readonly [Field in keyof PaymentFilter]?: Condition } = {
  statuses: value => `p.status = ANY (${value}::text[])`,
  types: value => `p.method = ANY (${value}::text[])`,
  currency: value => `p.currency = ${value}`,
  amountFrom: value => `p.amount >= ${value}`,
  amountTo: value => `p.amount <= ${value}`,
  refNr: value => `p.ref_nr = ${value}`,
  responseCode: value => `${lastCode} = ${value}`,
  email: value => `${email} IS NOT NULL AND lower${email} = lower(${value})`,
  customerId: (value, merchant) => byCustomer(`${value}::uuid`, merchant),
  planId: value => `p.plan_id = ${value}::uuid`,
  last4Digits: value => `${lastDigits} IS NOT NULL AND ${lastDigits} = ${value}`,
  link: value => `${linkId} IS NOT NULL AND (${value}::text = '' OR ${linkId} = ${value})`,
}

function conditionsOf(filter: PaymentFilter, parameter: Parameter, merchant: string): string[] {
  const { amountFrom, amountTo } = filter
  // An exact amount is a single position in the index; a range would have to be scanned.
  const isExact = amountFrom !== undefined && amountFrom === amountTo
  const { from: _from, to: _to, transId, ...rest } = filter
  const given = isExact ? { ...rest, amountFrom: undefined, amountTo: undefined } : rest
  // Object.entries loses the type of the keys.
  const conditions = (Object.entries(given) as [keyof PaymentFilter, unknown][]).flatMap(([field, value]) => {
    const condition = conditionByField[field]
    return condition && value !== undefined
      ? [condition(parameter(value === true ? '' : value), merchant)]
      : []
  })
  if (isExact) conditions.push(`p.amount = ${parameter(amountFrom)}`)
  if (transId !== undefined) conditions.push(byTransId(parameter(transId), merchant))
  return conditions
}
