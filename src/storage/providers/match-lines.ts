/**
 * Matches settlement lines with payments and operations by the provider's references. Runs repeatedly, because lines
 * may be imported before the outcome of their payment is known. Every statement is bounded, because one that takes too
 * long makes the database count as silent.
 */
import { entriesOf } from '#domain/json.ts'
import type { Database } from '#storage/database.ts'
import { misstated, unbooked, unsettled } from '#storage/doctor/provider-checks.ts'
import { type RowOf, recordset, toRecordset } from '#storage/recordset.ts'

interface LineScope {
  readonly merchantId?: string
  readonly accountId?: string
}

/** The payment of a line. Our own reference has priority, because a provider may use one id for several operations. */
const paymentOf = `SELECT r.pay_id FROM provider_reference r WHERE r.merchant_id = $2
    AND r.provider_account = l.provider_account_id AND r.reference IN (l.reference, l.transaction_id)
  ORDER BY r.reference IS NOT DISTINCT FROM l.reference DESC LIMIT 1`

const candidates = (states: string): string =>
  `FROM operation o WHERE o.merchant_id = $2 AND o.pay_id = l.pay_id AND o.type = l.type
    AND o.state IN (${states})`

/** Whether a line names a try that failed: its money is not that of the try which was approved later. */
const namesFailedTry = `EXISTS (SELECT 1 FROM operation f WHERE f.merchant_id = $2 AND f.pay_id = l.pay_id
    AND f.state = 'FAILED' AND l.reference IN (replace(f.x_id::text, '-', ''), f.details->>'captureXId'))`

/**
 * The operation of a line: the one it names, else the payment's only operation of that type. Of several with one
 * provider id it is the first, because they are compared as one sum. A failed operation may have lines too: its money
 * went out and came back.
 */
const operationOf = `SELECT coalesce(
    (SELECT o.x_id ${candidates(`'OK', 'FAILED'`)} AND replace(o.x_id::text, '-', '') = l.reference LIMIT 1),
    (SELECT min(o.x_id::text)::uuid ${candidates(`'OK'`)} AND o.provider->>'transactionId' = l.transaction_id),
    (SELECT min(o.x_id::text)::uuid ${candidates(`'FAILED'`)} AND o.provider->>'transactionId' = l.transaction_id),
    (SELECT min(o.x_id::text)::uuid ${candidates(`'OK'`)} AND NOT ${namesFailedTry} HAVING count(*) = 1))`

/** What identifies a line, in the order of the primary key. */
const lineKey = [
  ['merchant_id', 'text'],
  ['provider_account_id', 'text'],
  ['settlement_id', 'text'],
  ['type', 'text'],
  ['provider_reference', 'text'],
] as const

const pageColumns = [
  ...lineKey,
  ['reference', 'text'],
  ['transaction_id', 'text'],
  ['pay_id', 'uuid'],
] as const

type PageRow = RowOf<typeof pageColumns>

/** 1,000: a tenth of a second, where a statement may take six. An account may have any number of unmatched lines. */
const linesAtOnce = 1_000

const position = lineKey.map(([name]) => `l.${name}`).join(', ')

/** The condition is that of the index `settlement_line_unmatched_by_key`. */
const findPage = (
  scope: string,
): string => `SELECT ${pageColumns.map(([name]) => `l.${name}`).join(', ')} FROM settlement_line l
  WHERE l.type IN ('CAPTURE', 'REFUND', 'CHARGEBACK') AND (l.pay_id IS NULL OR (l.x_id IS NULL AND l.type IN ('CAPTURE', 'REFUND')))
    AND (${position}) > ($1::text, $2::text, $3::text, $4::text, $5::text) ${scope}
  ORDER BY ${position} LIMIT ${linesAtOnce}`

const allPages = findPage('')
export const pagesOfAccount = findPage('AND l.merchant_id = $6 AND l.provider_account_id = $7')

const isSame = lineKey.map(([name]) => `l.${name} = f.${name}`).join(' AND ')

/** Matches the lines of a page, $1, which are all of merchant $2: with one merchant the statement runs on one node of Citus. */
export const matchPage = `WITH found AS MATERIALIZED (
    SELECT ${position}, l.pay_id, l.known, CASE WHEN l.type <> 'CHARGEBACK' THEN (${operationOf}) END AS x_id
    FROM (SELECT ${position}, l.reference, l.transaction_id, l.pay_id AS known, coalesce(l.pay_id, (${paymentOf})) AS pay_id
      FROM ${recordset('$1', pageColumns, 'l')} OFFSET 0) l)
  UPDATE settlement_line l SET pay_id = f.pay_id, x_id = coalesce(f.x_id, l.x_id) FROM found f
  WHERE l.merchant_id = $2 AND ${isSame} AND (f.x_id IS NOT NULL OR f.pay_id IS DISTINCT FROM f.known)`

/** Without a scope, matches the lines of all merchants. `isOver` ends it between two pages. */
export async function matchLines(
  writers: Database['writers'],
  { merchantId, accountId }: LineScope = {},
  isOver = () => false,
): Promise<void> {
  const isScoped = merchantId !== undefined && accountId !== undefined
  const [text, scope] = isScoped ? [pagesOfAccount, [merchantId, accountId]] : [allPages, []]
  let after: PageRow | undefined
  do {
    const start = lineKey.map(([name]) => after?.[name] ?? '')
    const { rows }: { rows: PageRow[] } = await writers.query<PageRow>(text, [...start, ...scope])
    for (const [merchant, page] of Map.groupBy(rows, row => row.merchant_id))
      await writers.query(matchPage, [toRecordset(pageColumns, page), merchant])
    after = rows.length < linesAtOnce ? undefined : rows.at(-1)
  } while (after && !isOver())
}

export type DifferenceList = 'ours_without_theirs' | 'theirs_without_ours' | 'amounts_differ'

const lists: Readonly<Record<DifferenceList, string>> = {
  ours_without_theirs: unsettled,
  theirs_without_ours: unbooked,
  amounts_differ: misstated,
}

/**
 * Counts the differences between our books and the settlement lines of all providers, for the metric. No counts if no
 * provider has sent lines yet.
 */
export async function countDifferences({
  readers,
  readWhole,
}: Pick<Database, 'readers' | 'readWhole'>): Promise<ReadonlyMap<DifferenceList, number>> {
  const { rowCount } = await readers.query('SELECT 1 FROM settlement_line LIMIT 1')
  const counted = new Map<DifferenceList, number>()
  for (const [list, found] of entriesOf(lists)) {
    if (rowCount === 0) {
      counted.set(list, 0)
      continue
    }
    const [row] = await readWhole<{ found: number }>(
      `SELECT count(*)::int AS found FROM (${found}) difference`,
    )
    counted.set(list, row?.found ?? 0)
  }
  return counted
}
