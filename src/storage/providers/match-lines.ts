/**
 * Matches settlement lines with payments and operations by the provider's references. Runs repeatedly, because lines
 * may be imported before the outcome of their payment is known.
 */

import type { MerchantId } from '#domain/ids.ts'
import { entriesOf } from '#domain/json.ts'
import type { Database } from '#storage/database.ts'
import { misstated, unbooked, unsettled } from '#storage/doctor/provider-checks.ts'

interface LineScope {
  readonly merchantId?: MerchantId
  readonly accountId?: string
}

const scope = `($1::text IS NULL OR l.merchant_id = $1) AND ($2::text IS NULL OR l.provider_account_id = $2)`

/** The payment of a line. Our own reference has priority, because a provider may use one id for several operations. */
const paymentOf = `SELECT r.pay_id FROM provider_reference r WHERE r.merchant_id = l.merchant_id
    AND r.provider_account = l.provider_account_id AND r.reference IN (l.reference, l.transaction_id)
  ORDER BY r.reference IS NOT DISTINCT FROM l.reference DESC LIMIT 1`

const findPayments = `UPDATE settlement_line l SET pay_id = (${paymentOf})
  WHERE ${scope} AND l.pay_id IS NULL AND l.type IN ('CAPTURE', 'REFUND', 'CHARGEBACK') AND EXISTS (${paymentOf})`

const candidates = (states: string): string =>
  `FROM operation o WHERE o.merchant_id = l.merchant_id AND o.pay_id = l.pay_id AND o.type = l.type
    AND o.state IN (${states})`

/**
 * The operation of a line: the one it names, else the payment's only operation of that type. Of several with one
 * provider id it is the first, because they are compared as one sum. A failed operation may have lines too: its money
 * went out and came back.
 */
const operationOf = `SELECT coalesce(
    (SELECT o.x_id ${candidates(`'OK', 'FAILED'`)} AND replace(o.x_id::text, '-', '') = l.reference LIMIT 1),
    (SELECT min(o.x_id::text)::uuid ${candidates(`'OK'`)} AND o.provider->>'transactionId' = l.transaction_id),
    (SELECT min(o.x_id::text)::uuid ${candidates(`'FAILED'`)} AND o.provider->>'transactionId' = l.transaction_id),
    (SELECT min(o.x_id::text)::uuid ${candidates(`'OK'`)} HAVING count(*) = 1))`

const findOperations = `UPDATE settlement_line l SET x_id = (${operationOf})
  WHERE ${scope} AND l.x_id IS NULL AND l.pay_id IS NOT NULL AND l.type IN ('CAPTURE', 'REFUND')
    AND (${operationOf}) IS NOT NULL`

/** Without a scope, matches the lines of all merchants. */
export async function matchLines(
  writers: Database['writers'],
  { merchantId, accountId }: LineScope = {},
): Promise<void> {
  const values = [merchantId ?? null, accountId ?? null]
  await writers.query(findPayments, values)
  await writers.query(findOperations, values)
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
export async function countDifferences(
  readers: Database['readers'],
): Promise<ReadonlyMap<DifferenceList, number>> {
  const { rowCount } = await readers.query('SELECT 1 FROM settlement_line LIMIT 1')
  const counted = new Map<DifferenceList, number>()
  for (const [list, found] of entriesOf(lists)) {
    if (rowCount === 0) {
      counted.set(list, 0)
      continue
    }
    const { rows } = await readers.query<{ found: number }>(
      `SELECT count(*)::int AS found FROM (${found}) difference`,
    )
    counted.set(list, rows[0]?.found ?? 0)
  }
  return counted
}
