/** The guards of a batch: they refuse changes and name the conflict. */
import { accountRefusals } from '#storage/commit/account-parts.ts'
import type { Conflict } from '#storage/commit/change.ts'
import {
  keyKey,
  paymentChoice,
  paymentKey,
  paymentState,
  paymentTerms,
  quoteKey,
} from '#storage/commit/columns.ts'
import { customerLocks, customerRefusals, customerUpdateGuard } from '#storage/commit/customer-parts.ts'
import { intentGuards } from '#storage/commit/intent-parts.ts'
import { planGuards, planRefusals } from '#storage/commit/plan-parts.ts'
import { lookUp } from '#storage/planner.ts'
import type { Columns } from '#storage/recordset.ts'

/** The condition that the table's row `t` has the key of the batch's row `i`. */
export const match = (key: Columns): string => key.map(([name]) => `t.${name} = i.${name}`).join(' AND ')

/** The name under which a statement reads the rows of a part. */
export const inputName = (part: string): string =>
  `${part.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)}_in`

/**
 * Guards a row that must be unchanged since it was read: a plan, an intent, a quote, or a payment that the change does
 * not update. The row is locked and compared before anything of the batch is written, because a change may have several
 * guards, and none may write what another one refuses.
 */
interface RowGuard {
  /** Selects the row `t` that a row `i` of the part expects: `table t WHERE …`. */
  readonly row: string
  /** The conflict to report if there is no such row. */
  readonly why: Conflict
}

const rowGuards = Object.entries<RowGuard>({
  ...intentGuards,
  ...planGuards,
  // Only locked, so that a concurrent change of the payment comes entirely before or after.
  paymentHold: {
    row: `payment t WHERE ${match(paymentKey)} AND t.version = i.expected_version`,
    why: 'version_changed',
  },
  // Only one payment may use a quote.
  quote: { row: `dcc_quote t WHERE ${match(quoteKey)} AND t.pay_id IS NULL`, why: 'quote_taken' },
})

/**
 * Selects the changes whose row is unchanged. A lateral subquery, so that the query plan goes from the change to its
 * row.
 */
const lockRow = (input: string, { row }: RowGuard): string =>
  `${input}_held AS MATERIALIZED (SELECT i.c FROM ${input} i CROSS JOIN LATERAL (
    SELECT 1 FROM ${row} FOR NO KEY UPDATE) held)`

const refuseOthers = (input: string, { why }: RowGuard): string =>
  `SELECT i.c, '${why}' AS why FROM ${input} i WHERE i.c NOT IN (SELECT c FROM ${input}_held)`

/**
 * Selects the refused changes with their conflicts. A change is refused if its key or transId is taken, or its plan or
 * intent has changed. Last comes the version of the payment or customer, whose update is itself the guard: in a race
 * PostgreSQL locks the row and checks the condition again, so the rest of the change depends on whether the update
 * happened. A change has at most one such update.
 */
export function guards(present: readonly string[]): string[] {
  const taken: string[] = []
  if (present.includes('key')) {
    taken.push(`SELECT i.c, 'key_taken' AS why FROM key_in i WHERE EXISTS (
      SELECT 1 FROM idempotency_key t WHERE ${match(keyKey)})`)
  }
  if (present.includes('payment')) {
    taken.push(
      `SELECT i.c, 'trans_id_taken' AS why FROM payment_in i WHERE i.live AND EXISTS ${lookUp(
        'SELECT 1 FROM payment t WHERE t.merchant_id = i.merchant_id AND t.trans_id = i.trans_id AND t.live',
      )}`,
    )
  }
  // A payment without a new card row relies on the vault, but another process may have deleted the card since it was
  // read.
  const brought = present.includes('card') ? 'AND i.c NOT IN (SELECT c FROM card_in)' : ''
  for (const part of (['payment', 'chosen'] as const).filter(one => present.includes(one))) {
    taken.push(`SELECT i.c, 'card_gone' AS why FROM ${part}_in i WHERE i.card_id IS NOT NULL ${brought} AND NOT EXISTS (
      SELECT 1 FROM vault_card t WHERE t.merchant_id = i.merchant_id AND t.card_id = i.card_id
        AND t.sealed IS NOT NULL AND t.delete_after_use_at IS NULL)`)
  }
  taken.push(...accountRefusals(present), ...customerRefusals(present), ...planRefusals(present))
  const held = rowGuards
    .map(([part, guard]) => [part, inputName(part), guard] as const)
    .filter(([part]) => present.includes(part))
  taken.push(...held.map(([, input, guard]) => refuseOthers(input, guard)))
  const none = 'SELECT NULL::integer AS c, NULL::text AS why WHERE false'
  const early = `taken AS MATERIALIZED (${taken.join(' UNION ALL ') || none})`
  const updates = (['settled', 'revised', 'chosen'] as const)
    .filter(part => present.includes(part))
    .map(updatePayment)
  if (present.includes('customerUpdate')) updates.push(customerUpdateGuard)
  const locks = [...customerLocks(present), ...held.map(([, input, guard]) => lockRow(input, guard))]
  return [...locks, early, ...updates.map(({ cte }) => cte), refusedBy(updates)]
}

interface GuardingUpdate {
  readonly cte: string
  readonly input: string
  readonly updated: string
  /** The conflict to report if the update did not happen. */
  readonly why: string
}

const updatedColumns = {
  settled: paymentState,
  revised: [...paymentState, ...paymentTerms],
  chosen: [...paymentState, ...paymentTerms, ...paymentChoice],
}

function updatePayment(part: keyof typeof updatedColumns): GuardingUpdate {
  const input = inputName(part)
  const updated = `${part}_updated`
  const columns = updatedColumns[part]
  const set = columns.map(([name]) => `${name} = i.${name}`).join(', ')
  const cte = `${updated} AS (UPDATE payment t SET ${set} FROM ${input} i
      WHERE ${match(paymentKey)} AND t.version = i.expected_version AND i.c NOT IN (SELECT c FROM taken)
      RETURNING i.c)`
  return { cte, input, updated, why: 'version_changed' }
}

const refusedBy = (updates: readonly GuardingUpdate[]): string =>
  `refused AS MATERIALIZED (${[
    'SELECT c, why FROM taken',
    ...updates.map(
      ({ input, updated, why }) => `SELECT i.c, '${why}' FROM ${input} i
      WHERE i.c NOT IN (SELECT c FROM ${updated}) AND i.c NOT IN (SELECT c FROM taken)`,
    ),
  ].join(' UNION ALL ')})`
