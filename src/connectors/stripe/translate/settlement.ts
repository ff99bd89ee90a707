/**
 * Parses Stripe's balance transactions into settlement lines: JSON from `GET /v1/balance_transactions` (a list object,
 * an array or one object per line) or the itemised CSV report of the dashboard.
 */
import type { SettlementLine } from '#connectors/contract.ts'
import { readRecords } from '#connectors/csv-lines.ts'
import { fromStripeAmount } from '#connectors/stripe/translate/amounts.ts'
import {
  captureKey,
  dateAt,
  idAt,
  isWire,
  listAt,
  numberAt,
  parseWire,
  referenceKey,
  textAt,
  type Wire,
} from '#connectors/stripe/translate/wire.ts'
import { describeCut, splitCsvLine } from '#domain/csv.ts'
import { parseXId } from '#domain/ids.ts'
import { exponentOf } from '#domain/money/currencies.ts'
import type { Money } from '#domain/money/money.ts'

type LineType = SettlementLine['type']

const setOf = (list: string): ReadonlySet<string> => new Set(list.trim().split(/\s+/))

/** The line that releases the uncaptured rest. Its source is a refund object, its charge that of the capture. */
const restCategory = 'partial_capture_reversal'

/** The lines that take a debit back which failed after it was booked; the older name is the transaction's type. */
const failureCategories = ['charge_failure', 'payment_failure_refund'] as const

/** Categories whose money belongs to a charge, although their source may be a refund object. */
const ofCharges: ReadonlySet<string> = new Set([restCategory, ...failureCategories])

/** Our line types for Stripe's `type` or, in reports, `reporting_category`. Everything else is a correction. */
const typesByMeaning: readonly (readonly [LineType, ReadonlySet<string>])[] = [
  // A partial capture is a charge of the whole authorisation and a second line that takes the uncaptured rest back.
  ['CAPTURE', setOf(`charge payment ${restCategory} ${failureCategories.join(' ')}`)],
  // A failed refund has a second line, which returns its money.
  ['REFUND', setOf('refund refund_failure payment_refund payment_reversal')],
  ['CHARGEBACK', setOf('dispute dispute_reversal')],
  [
    'FEE',
    setOf('fee stripe_fee stripe_fx_fee network_cost tax tax_fee application_fee application_fee_refund'),
  ],
  [
    'RESERVE',
    setOf(`
      risk_reserved_funds reserve_hold reserve_release reserve_transaction reserved_funds payment_network_reserve_hold
      payment_network_reserve_release payout_minimum_balance_hold payout_minimum_balance_release
    `),
  ],
  ['PAYOUT', setOf('payout payout_cancel payout_failure payout_reversal')],
]

export function lineType(type: string, source: string | undefined): LineType {
  // Disputed money moves as an adjustment whose source is the dispute.
  if (type === 'adjustment' && /^d[pu]_/.test(source ?? '')) return 'CHARGEBACK'
  return typesByMeaning.find(([, names]) => names.has(type))?.[0] ?? 'CORRECTION'
}

/** The metadata key of our reference. A charge of an automatic capture also carries the capture's reference. */
const referenceKeys: Partial<Record<LineType, string>> = { CAPTURE: captureKey, REFUND: referenceKey }

/** Throws for an amount that our smallest unit cannot express, because it would make reconciliation impossible. */
function exactly(amount: number | undefined, currency: string | undefined, id: string): number {
  const money = fromStripeAmount(amount, currency)
  if (money === undefined)
    throw new Error(`balance transaction ${id} has an amount that cannot be exact in ${currency}`)
  return money.value
}

/** The amount in the customer's currency, with the sign of the line. Left out if the line is in that currency. */
function paidBeside(
  gross: number,
  currency: string,
  amount: Money | undefined,
): Pick<SettlementLine, 'paid'> {
  if (amount === undefined || amount.currency === currency) return {}
  const value = Math.abs(amount.value)
  return { paid: { value: gross < 0 ? -value : value, currency: amount.currency } }
}

/** Stripe states the customer's currency for charges and refunds, but not for disputes. */
const paidTypes: ReadonlySet<LineType> = new Set(['CAPTURE', 'REFUND'])
const paidObjects: ReadonlySet<string> = new Set(['charge', 'refund'])

export function toSettlementLine(transaction: Wire): SettlementLine {
  const id = textAt(transaction, 'id') ?? 'without an id'
  const currency = textAt(transaction, 'currency')
  const source = idAt(transaction, 'source')
  const whole = isWire(transaction.source) ? transaction.source : undefined
  const available = dateAt(transaction, 'available_on') ?? dateAt(transaction, 'created')
  if (available === undefined || currency === undefined)
    throw new Error(`balance transaction ${id} has no date or no currency`)
  const date = available.toISOString().slice(0, 10)
  const category = textAt(transaction, 'reporting_category') ?? textAt(transaction, 'type') ?? ''
  const type = lineType(category, source)
  const transactionId = (ofCharges.has(category) ? idAt(whole, 'charge') : undefined) ?? source
  const reference = parseXId(textAt(whole, 'metadata', referenceKeys[type] ?? '') ?? '')
  const gross = exactly(numberAt(transaction, 'amount'), currency, id)
  const isPaid = paidTypes.has(type) && paidObjects.has(textAt(whole, 'object') ?? '')
  const paid = isPaid ? fromStripeAmount(numberAt(whole, 'amount'), textAt(whole, 'currency')) : undefined
  return {
    settlementId: type === 'PAYOUT' && source !== undefined ? source : date,
    date,
    type,
    ...(reference === undefined ? {} : { reference }),
    ...(transactionId === undefined ? {} : { transactionId }),
    gross,
    fee: exactly(numberAt(transaction, 'fee') ?? 0, currency, id),
    net: exactly(numberAt(transaction, 'net'), currency, id),
    currency: currency.toUpperCase(),
    ...paidBeside(gross, currency.toUpperCase(), paid),
    providerReference: id,
    isNamedOnce: true,
  }
}

/** Stripe's names of the report columns that we read. */
const column = {
  id: 'balance_transaction_id',
  created: 'created_utc',
  available: 'available_on_utc',
  currency: 'currency',
  gross: 'gross',
  fee: 'fee',
  net: 'net',
  category: 'reporting_category',
  source: 'source_id',
  charge: 'charge_id',
  paid: 'customer_facing_amount',
  paidCurrency: 'customer_facing_currency',
  payout: 'automatic_payout_id',
  captureReference: `payment_metadata[${captureKey}]`,
  refundReference: `refund_metadata[${referenceKey}]`,
} as const

export type Row = Readonly<Record<string, string | undefined>>

/** Reports write amounts in the major unit: `-12.50`. */
function majorToMinor(text: string | undefined, currency: string, id: string): number {
  const exponent = exponentOf(currency)
  const [, sign = '', whole = '', decimals = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text ?? '') ?? []
  const kept = decimals.slice(0, exponent)
  if (whole === '' || exponent === undefined || /[1-9]/.test(decimals.slice(exponent))) {
    throw new Error(`balance transaction ${id} has the amount ${text}, which cannot be exact in ${currency}`)
  }
  const value = Number(whole + kept.padEnd(exponent, '0'))
  return sign === '-' && value !== 0 ? -value : value
}

/** The categories whose customer-facing amounts Stripe documents. */
const paidCategories: ReadonlySet<string> = new Set(['charge', 'refund'])

function paidOf(row: Row, id: string): Money | undefined {
  const amount = row[column.paid] ?? ''
  const currency = (row[column.paidCurrency] ?? '').toUpperCase()
  const isKnown = paidCategories.has(row[column.category] ?? '') && exponentOf(currency) !== undefined
  return isKnown && amount !== '' ? { value: majorToMinor(amount, currency, id), currency } : undefined
}

export function rowToSettlementLine(row: Row): SettlementLine {
  const id = row[column.id] ?? ''
  const currency = (row[column.currency] ?? '').toUpperCase()
  const date = (row[column.available] || row[column.created] || '').slice(0, 10)
  if (id === '' || !/^\d{4}-\d{2}-\d{2}$/.test(date))
    throw new Error(`a line of the report has no id or no date: ${id}`)
  const source = row[column.source] || undefined
  const category = row[column.category] ?? ''
  const type = lineType(category, source)
  const transactionId = (ofCharges.has(category) && row[column.charge]) || source
  const references: Partial<Record<LineType, string>> = {
    CAPTURE: row[column.captureReference],
    REFUND: row[column.refundReference],
  }
  const reference = parseXId(references[type] ?? '')
  const gross = majorToMinor(row[column.gross], currency, id)
  return {
    settlementId: row[column.payout] || (type === 'PAYOUT' && source !== undefined ? source : date),
    date,
    type,
    ...(reference === undefined ? {} : { reference }),
    ...(transactionId === undefined ? {} : { transactionId }),
    gross,
    fee: majorToMinor(row[column.fee] || '0', currency, id),
    net: majorToMinor(row[column.net], currency, id),
    currency,
    ...paidBeside(gross, currency, paidOf(row, id)),
    providerReference: id,
    isNamedOnce: true,
  }
}

/** A file that begins with a bracket is JSON; any other one must be the CSV report. */
export async function* readSettlement(file: AsyncIterable<Uint8Array>): AsyncIterable<SettlementLine> {
  let names: readonly string[] | undefined
  let json = ''
  for await (const line of readRecords(file, new TextDecoder('utf-8', { fatal: true }))) {
    if (line.trim() === '') continue
    if (names === undefined && (json !== '' || /^\s*[[{]/.test(line))) json += `${line}\n`
    else if (names === undefined) names = headerOf(line)
    else yield rowToSettlementLine(cellsOf(names, line))
  }
  if (json !== '') yield* transactionsOf(json).map(toSettlementLine)
  else if (names === undefined) throw new Error('the file is empty')
}

function headerOf(line: string): readonly string[] {
  const names = splitCsvLine(line.replace(/^\uFEFF/, ''))
  const missing = [column.id, column.currency, column.gross, column.net, column.category].filter(
    name => !names?.includes(name),
  )
  if (names === undefined || missing.length > 0) {
    throw new Error(
      `the file is not an itemised balance report of Stripe: it has no column ${missing.join(', ')}`,
    )
  }
  return names
}

function cellsOf(names: readonly string[], line: string): Row {
  const cells = splitCsvLine(line)
  if (cells === undefined)
    throw new Error('a line of the report has a quotation mark without its counterpart')
  const cut = describeCut(cells, names)
  if (cut !== undefined) throw new Error(`the line ${cells[0]} of the report ${cut}`)
  return Object.fromEntries(names.map((name, index) => [name, cells[index]]))
}

/** A list object of the API, an array of transactions, or one transaction per line. */
function transactionsOf(json: string): readonly Wire[] {
  const whole = parseWire(`{"list":${json}}`)
  const list = whole?.list
  if (Array.isArray(list)) return list.filter(isWire)
  if (isWire(list)) return Array.isArray(list.data) ? listAt(list, 'data') : [list]
  return json
    .trim()
    .split('\n')
    .map(line => {
      const transaction = parseWire(line)
      if (transaction === undefined) throw new Error('the file holds a line that is not a JSON object')
      return transaction
    })
}
