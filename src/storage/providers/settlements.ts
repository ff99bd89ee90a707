/** Settlement lines of providers, and their reconciliation with our own books. Every query is scoped by merchant. */
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Money } from '#domain/money/money.ts'
import { entryLine, type KeyedEntry } from '#storage/bank/former-keys.ts'
import type { Database } from '#storage/database.ts'
import {
  addsUpToZero,
  isOfFailedCharge,
  settledAs,
  statedIn,
  sumOfStated,
  takenBack,
} from '#storage/doctor/provider-checks.ts'
import { inLineLists } from '#storage/planner.ts'
import {
  type ImportWait,
  insertLines,
  type LineToInsert,
  matchGiven,
} from '#storage/providers/insert-lines.ts'
import { matchLines } from '#storage/providers/match-lines.ts'

export type SettlementType = 'CAPTURE' | 'REFUND' | 'CHARGEBACK' | 'FEE' | 'RESERVE' | 'PAYOUT' | 'CORRECTION'

export interface StoredLine {
  readonly settlementId: string
  readonly accountId: string
  /** YYYY-MM-DD */
  readonly date: string
  readonly type: SettlementType
  readonly payId?: PayId
  readonly xId?: XId
  readonly gross: number
  readonly fee: number
  readonly net: number
  readonly currency: string
  /**
   * The amount in the currency in which the customer paid, if it differs and the provider states it; signed like
   * `gross`.
   */
  readonly paid?: Money
  readonly providerReference: string
  readonly transactionId?: string
}

/** A line from the provider's file: it names an operation but is not matched yet. */
export interface NewLine extends Omit<StoredLine, 'accountId' | 'payId' | 'xId'> {
  /** Our reference, if the provider repeats it. */
  readonly reference?: string
  /** `providerReference` alone identifies the line: a file that has it in another settlement reports the same line. */
  readonly isNamedOnce?: true
  /** The entry of a bank statement that the line repeats. */
  readonly entry?: KeyedEntry
}

export interface LineFilter {
  readonly accountId?: string
  readonly types?: readonly SettlementType[]
  readonly settlementId?: string
  readonly payId?: PayId
  /** Days, `from` inclusive, `to` exclusive. */
  readonly from?: string
  readonly to?: string
  readonly after?: LinePosition
  readonly limit: number
}

/** The sort key of lines: the newest day first. */
export interface LinePosition {
  readonly date: string
  readonly accountId: string
  readonly settlementId: string
  readonly type: string
  readonly providerReference: string
}

/** An operation of ours that moved money; as CHARGEBACK, the total of disputes and returns of a payment. */
export interface BookedOperation {
  readonly xId: XId
  readonly payId: PayId
  readonly transId: string
  readonly type: 'CAPTURE' | 'REFUND' | 'CHARGEBACK'
  /** Positive: money to the merchant; negative: money from the merchant, as in lines. */
  readonly amount: number
  readonly currency: string
  readonly date: string
}

export interface Reconciliation {
  readonly oursWithoutTheirs: readonly BookedOperation[]
  readonly theirsWithoutOurs: readonly StoredLine[]
  /** `theirs` is the first line, with the sums of all lines about the operation. */
  readonly amountsDiffer: readonly { readonly ours: BookedOperation; readonly theirs: StoredLine }[]
}

export interface SettledAccount {
  readonly merchantId: MerchantId
  readonly accountId: string
}

export interface Inserted {
  /** How many lines were new. */
  readonly added: number
  /** How many of the given lines are about an operation but match none of ours yet. */
  readonly unmatched: number
}

export interface SettlementRange extends SettledAccount {
  /** Days, `from` inclusive, `to` exclusive. */
  readonly from: string
  readonly to: string
}

export interface SettlementStore {
  /** A line that was imported before is not changed, except that a payout takes the place of its day. */
  insert(account: SettledAccount, lines: readonly NewLine[]): Promise<Inserted>
  list(merchantId: MerchantId, filter: LineFilter): Promise<readonly StoredLine[]>
  reconcile(range: SettlementRange): Promise<Reconciliation>
}

interface LineRow {
  settlement_id: string
  provider_account_id: string
  date: string
  type: SettlementType
  pay_id: PayId | null
  x_id: XId | null
  gross: number
  fee: number
  net: number
  currency: string
  paid: number | null
  paid_currency: string | null
  provider_reference: string
  transaction_id: string | null
}

const columns = `l.settlement_id, l.provider_account_id, l.date::text AS date, l.type, l.pay_id, l.x_id, l.gross, l.fee, l.net,
  l.currency, l.paid, l.paid_currency, l.provider_reference, l.transaction_id`

const position = 'l.date, l.provider_account_id, l.settlement_id, l.type, l.provider_reference'

export const listLines = `SELECT ${columns} FROM settlement_line l WHERE l.merchant_id = $1 AND ${inLineLists('l')}
    AND ($2::text IS NULL OR l.provider_account_id = $2) AND ($3::text[] IS NULL OR l.type = ANY($3))
    AND ($4::text IS NULL OR l.settlement_id = $4) AND ($5::uuid IS NULL OR l.pay_id = $5)
    AND ($6::date IS NULL OR l.date >= $6) AND ($7::date IS NULL OR l.date < $7)
    AND ($8::date IS NULL OR (${position}) < ($8::date, $9::text, $10::text, $11::text, $12::text))
  ORDER BY l.date DESC, l.provider_account_id DESC, l.settlement_id DESC, l.type DESC, l.provider_reference DESC
  LIMIT $13`

export function createSettlementStore({
  readers,
  lists,
  writers,
  readWhole,
  ...wait
}: Pick<Database, 'readers' | 'lists' | 'writers' | 'readWhole'> & ImportWait): SettlementStore {
  return {
    async insert(account, lines) {
      if (lines.length === 0) return { added: 0, unmatched: 0 }
      const entries = lines.flatMap(({ entry }) => entry ?? [])
      const rows = lines.map(fromLine)
      const added = await insertLines(writers, account, {
        rows,
        entries,
        waitMs: wait.waitMs,
        pause: wait.pause,
      })
      return { added, unmatched: await matchGiven(writers, account, rows) }
    },
    async list(merchantId, { accountId, types, settlementId, payId, from, to, after, limit }) {
      const values = [
        ...[merchantId, accountId, types, settlementId, payId, from, to],
        ...[after?.date, after?.accountId, after?.settlementId, after?.type, after?.providerReference, limit],
      ]
      const { rows } = await lists.run(merchantId, () => readers.query<LineRow>(listLines, values))
      return rows.map(toLine)
    },
    async reconcile(range) {
      await matchLines(writers, range)
      const { merchantId, accountId, from, to } = range
      const values = [merchantId, accountId, from, to]
      return toReconciliation(await readWhole<ComparedRow>(reconcileStatement, values))
    },
  }
}

/**
 * Operations that moved money; those that the provider settles as one are added up. Disputes and returns are compared
 * per payment as one sum, because a reversed chargeback has two lines. Lines call a CREDIT a REFUND, and not every
 * provider writes one.
 */
const booked = `SELECT o.merchant_id, o.pay_id, min(o.x_id::text)::uuid AS x_id, p.trans_id,
    replace(o.type, 'CREDIT', 'REFUND') AS type, p.currency,
    sum(CASE WHEN o.type = 'CAPTURE' THEN o.amount ELSE -o.amount END)::bigint AS amount,
    max((o.updated_at AT TIME ZONE 'UTC')::date) AS date, ${settledAs('o')} AS subject, o.type <> 'CREDIT' AS is_expected,
    count(*) AS operations
  FROM payment p JOIN operation o ON o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id
  WHERE p.merchant_id = $1 AND p.provider_account = $2 AND o.state = 'OK'
    AND o.type IN ('CAPTURE', 'REFUND', 'CREDIT') AND o.amount > 0
  GROUP BY o.merchant_id, o.pay_id, p.trans_id, o.type, p.currency, ${settledAs('o')}
  UNION ALL SELECT p.merchant_id, p.pay_id, t.x_id, p.trans_id, 'CHARGEBACK', t.currency, (-t.amount)::bigint,
    (t.at AT TIME ZONE 'UTC')::date, p.pay_id::text, true, 1
  FROM payment p JOIN (${takenBack}) t ON t.merchant_id = p.merchant_id AND t.pay_id = p.pay_id
  WHERE p.merchant_id = $1 AND p.provider_account = $2`

/**
 * The condition that an operation failed after its booking: money went out and came back, so its lines add up to zero.
 */
const isUndone = `(l.is_nothing AND EXISTS (SELECT 1 FROM operation u WHERE u.merchant_id = l.merchant_id
    AND u.pay_id = l.pay_id AND u.x_id = l.x_id AND u.state = 'FAILED'))`

/**
 * Reconciles operations with lines. Several lines may belong to one operation (a capture paid out in parts): their sum
 * in our currency is compared. If the lines do not state it, or several captures of one charge were settled in another
 * currency, the operation counts as settled without comparing amounts.
 */
const reconcileStatement = `WITH booked AS (${booked}),
  lines AS (SELECT l.*, CASE WHEN l.type = 'CHARGEBACK' THEN l.pay_id::text ELSE ${settledAs('o')} END AS subject,
      p.currency AS payment_currency
    FROM settlement_line l
    LEFT JOIN operation o ON o.merchant_id = l.merchant_id AND o.pay_id = l.pay_id AND o.x_id = l.x_id
    LEFT JOIN payment p ON p.merchant_id = l.merchant_id AND p.pay_id = l.pay_id
    WHERE l.merchant_id = $1 AND l.provider_account_id = $2 AND l.type IN ('CAPTURE', 'REFUND', 'CHARGEBACK')),
  compared AS (SELECT b.x_id AS our_x_id, b.pay_id AS our_pay_id, b.trans_id, b.type AS our_type, b.amount AS our_amount,
      b.currency AS our_currency, b.date AS our_date, b.is_expected, b.operations, l.*,
      ${statedIn('l', 'coalesce(b.currency, l.payment_currency)')} AS stated
    FROM booked b FULL JOIN lines l ON l.subject = b.subject AND l.type = b.type AND l.pay_id = b.pay_id),
  told AS (SELECT l.*, sum(l.gross) OVER same AS total, ${sumOfStated('l.stated', 'OVER same')} AS stated_total,
      ${addsUpToZero('l', 'l.stated', 'OVER same')} AS is_nothing,
      bool_and(l.currency = l.our_currency) OVER same AS is_gross,
      row_number() OVER (same ORDER BY l.date) AS nth
    FROM compared l WINDOW same AS (PARTITION BY l.pay_id, l.subject, l.type))
  SELECT l.our_x_id, l.our_pay_id, l.trans_id, l.our_type, l.our_amount, l.our_currency, l.our_date::text AS our_date,
    l.total, l.stated_total, ${columns}
  FROM told l
  WHERE (l.our_x_id IS NULL AND l.date >= $3::date AND l.date < $4::date AND NOT ${isUndone}
      AND NOT ${isOfFailedCharge('l')})
    OR (l.settlement_id IS NULL AND l.is_expected AND l.our_amount <> 0 AND l.our_date >= $3::date AND l.our_date < $4::date)
    OR (l.our_x_id IS NOT NULL AND l.settlement_id IS NOT NULL AND l.nth = 1 AND l.stated_total <> l.our_amount
      AND (l.is_gross OR l.operations = 1)
      AND ((l.date >= $3::date AND l.date < $4::date) OR (l.our_date >= $3::date AND l.our_date < $4::date)))
  ORDER BY coalesce(l.our_date, l.date), l.our_x_id, l.provider_reference`

/** An operation of ours, a line of the provider, or both. */
type ComparedRow = (OurPart | { our_x_id: null }) & (TheirPart | { settlement_id: null })

interface OurPart {
  our_x_id: XId
  our_pay_id: PayId
  trans_id: string
  our_type: BookedOperation['type']
  our_amount: number
  our_currency: string
  our_date: string
}

interface TheirPart extends LineRow {
  /** Sums of all lines about the operation: in the currency of settlement, and in ours if the lines state it. */
  total: string
  stated_total: string | null
}

function toReconciliation(rows: readonly ComparedRow[]): Reconciliation {
  return {
    oursWithoutTheirs: rows
      .filter(row => isOurs(row))
      .filter(row => !isTheirs(row))
      .map(toBooked),
    theirsWithoutOurs: rows
      .filter(row => isTheirs(row))
      .filter(row => !isOurs(row))
      .map(toLine),
    amountsDiffer: rows
      .filter(row => isOurs(row))
      .filter(row => isTheirs(row))
      .map(row => ({ ours: toBooked(row), theirs: toTotal(row) })),
  }
}

const isOurs = <Row extends ComparedRow>(row: Row): row is Row & OurPart => row.our_x_id !== null
const isTheirs = <Row extends ComparedRow>(row: Row): row is Row & TheirPart => row.settlement_id !== null

/** The provider's part of a difference in amounts, which exists only if the lines have a sum in our currency. */
function toTotal(row: OurPart & TheirPart): StoredLine {
  const line = toLine(row)
  const stated = { value: Number(row.stated_total), currency: row.our_currency }
  return line.currency === stated.currency
    ? { ...line, gross: stated.value }
    : { ...line, gross: Number(row.total), paid: stated }
}

const toBooked = (row: OurPart): BookedOperation => ({
  xId: row.our_x_id,
  payId: row.our_pay_id,
  transId: row.trans_id,
  type: row.our_type,
  amount: row.our_amount,
  currency: row.our_currency,
  date: row.our_date,
})

const toMoney = (value: number | null, currency: string | null): Money | undefined =>
  value === null || currency === null ? undefined : { value, currency }

const toLine = (row: LineRow): StoredLine => ({
  settlementId: row.settlement_id,
  accountId: row.provider_account_id,
  date: row.date,
  type: row.type,
  payId: row.pay_id ?? undefined,
  xId: row.x_id ?? undefined,
  gross: row.gross,
  fee: row.fee,
  net: row.net,
  currency: row.currency,
  paid: toMoney(row.paid, row.paid_currency),
  providerReference: row.provider_reference,
  transactionId: row.transaction_id ?? undefined,
})

const fromLine = (line: NewLine): LineToInsert => ({
  settlement_id: line.settlementId,
  date: line.date,
  type: line.type,
  gross: line.gross,
  fee: line.fee,
  net: line.net,
  currency: line.currency,
  paid: line.paid?.value,
  paid_currency: line.paid?.currency,
  provider_reference: line.entry === undefined ? line.providerReference : entryLine(line.entry.key),
  reference: line.reference,
  transaction_id: line.transactionId,
  entry_key: line.entry?.key,
  is_named_once: line.isNamedOnce,
})
