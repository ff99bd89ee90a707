/**
 * Parses Adyen's settlement details report (CSV) into lines. Columns are found by their headings, because accounts have
 * different columns in different orders.
 */
import type { SettlementLine } from '#connectors/contract.ts'
import { readRecords } from '#connectors/csv-lines.ts'
import { describeCut, splitCsvLine } from '#domain/csv.ts'
import { parseXId } from '#domain/ids.ts'
import { entryOf } from '#domain/json.ts'
import { exponentOf } from '#domain/money/currencies.ts'
import { exact, type Money } from '#domain/money/money.ts'

type LineType = SettlementLine['type']

const types: Readonly<Record<string, LineType>> = {
  Settled: 'CAPTURE',
  Refunded: 'REFUND',
  RefundedReversed: 'REFUND',
  Chargeback: 'CHARGEBACK',
  SecondChargeback: 'CHARGEBACK',
  ChargebackReversed: 'CHARGEBACK',
  Fee: 'FEE',
  MiscCosts: 'FEE',
  PaymentCost: 'FEE',
  InvoiceDeduction: 'FEE',
  DepositCorrection: 'RESERVE',
  ReserveAdjustment: 'RESERVE',
  MerchantPayout: 'PAYOUT',
}

/**
 * Suffixes that do not change the kind of movement: in bulk, an instalment, or paid out by the acquirer instead of
 * Adyen.
 */
const waysOfSettling = /(Bulk|Installment)?(ExternallyWithInfo)?$/

const typeOf = (kind: string): LineType => entryOf(types, kind.replace(waysOfSettling, '')) ?? 'CORRECTION'

const needed = [
  'Psp Reference',
  'Merchant Reference',
  'Type',
  'Net Currency',
  'Net Debit (NC)',
  'Net Credit (NC)',
]
const aboutPayments: ReadonlySet<LineType> = new Set(['CAPTURE', 'REFUND', 'CHARGEBACK'])
const feeColumns = ['Commission (NC)', 'Markup (NC)', 'Scheme Fees (NC)', 'Interchange (NC)']

type Cell = (heading: string) => string

export async function* readSettlementReport(file: AsyncIterable<Uint8Array>): AsyncGenerator<SettlementLine> {
  let headings: readonly string[] | undefined
  let number = 0
  const places = new Map<string, number>()
  for await (const record of readRecords(file, new TextDecoder())) {
    const cells = splitRow(record)
    number += 1
    if (cells.length === 1 && cells[0] === '') continue
    if (headings === undefined) {
      headings = cells.map(heading => heading.trim())
      const missing = needed.filter(name => !headings?.includes(name))
      if (missing.length > 0)
        throw new Error(
          `The file is not a settlement details report of Adyen: it has no column ${missing.join(', ')}`,
        )
      continue
    }
    const positions = headings
    const cut = describeCut(cells, positions)
    if (cut !== undefined) throw new Error(`Settlement details report, line ${number} ${cut}`)
    const cell: Cell = heading => cells[positions.indexOf(heading)] ?? ''
    const settlement = settlementOf(cell)
    const place = (places.get(settlement) ?? firstPlace) + 1
    places.set(settlement, place)
    yield toLine(cell, { number, settlement, place })
  }
  if (headings === undefined) throw new Error('The settlement details report is empty')
}

/** A report may be made without the batch; then the day stands for it, because batches end on different days. */
const settlementOf = (cell: Cell): string => cell('Batch Number') || dayOf(cell)

const dayOf = (cell: Cell): string => (cell('Booking Date') || cell('Creation Date')).slice(0, 10)

/** 1: the first line of a batch has place 2, its line number in the report of this batch, which earlier releases used. */
const firstPlace = 1

interface Position {
  /** In the file. */
  readonly number: number
  readonly settlement: string
  /** Within its settlement: the same in the batch's own report and in one of many batches. */
  readonly place: number
}

function toLine(cell: Cell, { number, settlement, place }: Position): SettlementLine {
  const type = typeOf(cell('Type'))
  const currency = cell('Net Currency')
  const amount = (heading: string): number =>
    parseDecimal(cell(heading), currency, `line ${number}, ${heading}`)
  const net = exact(amount('Net Credit (NC)') - amount('Net Debit (NC)'))
  // A fee line has no gross amount.
  const fee =
    type === 'FEE' ? exact(0 - net) : feeColumns.map(amount).reduce((sum, next) => exact(sum + next), 0)
  const gross = exact(net + fee)
  const modification = cell('Modification Reference')
  return {
    settlementId: settlement,
    date: dayOf(cell),
    type,
    // An automatic capture carries only our reference of the authorisation.
    reference: parseXId(cell('Modification Merchant Reference')) ?? parseXId(cell('Merchant Reference')),
    transactionId: modification || cell('Psp Reference') || undefined,
    gross,
    fee,
    net,
    currency,
    paid: aboutPayments.has(type) ? readPaid(cell, number, { value: gross, currency }) : undefined,
    providerReference: modification || cell('Psp Reference') || `${settlement}-${cell('Type')}-${place}`,
  }
}

/**
 * The gross amount in the payment's currency. It takes the sign of the settled amount, because reports do not always
 * put both amounts into the matching column (debit or credit).
 */
function readPaid(cell: Cell, number: number, settled: Money): Money | undefined {
  const currency = cell('Gross Currency')
  if (currency === settled.currency || exponentOf(currency) === undefined) return undefined
  const amount = (heading: string): number =>
    parseDecimal(cell(heading), currency, `line ${number}, ${heading}`)
  const value = exact(amount('Gross Credit (GC)') - amount('Gross Debit (GC)'))
  if (value === 0) return undefined
  const isTurned = settled.value !== 0 && settled.value > 0 !== value > 0
  return { value: isTurned ? -value : value, currency }
}

/** Converts a decimal text to the smallest unit by its digits, without floating point. */
function parseDecimal(text: string, currency: string, where: string): number {
  if (text.trim() === '') return 0
  const exponent = exponentOf(currency)
  const [, sign, whole, decimals = ''] = /^(-?)([0-9]+)(?:\.([0-9]+))?$/.exec(text.trim()) ?? []
  if (exponent === undefined || whole === undefined)
    throw new Error(`Settlement details report, ${where}: ${text} ${currency} is not an amount`)
  const rest = decimals.slice(exponent)
  if (/[1-9]/.test(rest))
    throw new Error(`Settlement details report, ${where}: ${text} has more decimals than ${currency}`)
  const value = exact(Number(whole + decimals.slice(0, exponent).padEnd(exponent, '0')))
  return sign === '-' ? exact(0 - value) : value
}

function splitRow(line: string): readonly string[] {
  const cells = splitCsvLine(line)
  if (cells === undefined)
    throw new Error('Settlement details report: a line has a quotation mark without its counterpart')
  return cells
}
