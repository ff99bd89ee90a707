/** The guards of a batch: which of its changes are refused, and why. */
import { accountRefusals } from '#storage/commit/account-parts.ts'
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

/** A row of the table, `t`, is the one that a row of the batch, `i`, names. */
export const match = (key: Columns): string => key.map(([name]) => `t.${name} = i.${name}`).join(' AND ')

/** The name under which a statement reads the rows of a part. */
export const inputName = (part: string): string =>
  `${part.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)}_in`

/**
 * The changes that are refused, and why. A key or transId that is taken refuses its change; so does a payment whose
 * version has moved on, or an intent that another payment has claimed. The update of the payment, and of the intent, is
 * itself part of the guard: in a race the row is locked and checked again, so the rest of the change depends on whether
 * that update happened.
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
  // A payment without card data relies on the vault; another process may have deleted the card since.
  const brought = present.includes('card') ? 'AND i.c NOT IN (SELECT c FROM card_in)' : ''
  for (const part of (['payment', 'chosen'] as const).filter(one => present.includes(one))) {
    taken.push(`SELECT i.c, 'card_gone' AS why FROM ${part}_in i WHERE i.card_id IS NOT NULL ${brought} AND NOT EXISTS (
      SELECT 1 FROM vault_card t WHERE t.merchant_id = i.merchant_id AND t.card_id = i.card_id
        AND t.sealed IS NOT NULL AND t.delete_after_use_at IS NULL)`)
  }
  taken.push(...accountRefusals(present), ...customerRefusals(present), ...planRefusals(present))
  const none = 'SELECT NULL::integer AS c, NULL::text AS why WHERE false'
  const early = `taken AS MATERIALIZED (${taken.join(' UNION ALL ') || none})`
  const updates = (['settled', 'revised', 'chosen'] as const)
    .filter(part => present.includes(part))
    .map(updatePayment)
  updates.push(...intentGuards(present))
  if (present.includes('quote')) updates.push(takeQuote())
  if (present.includes('customerUpdate')) updates.push(customerUpdateGuard)
  updates.push(...planGuards(present))
  return [...customerLocks(present), early, ...updates.map(({ cte }) => cte), refusedBy(updates)]
}

interface GuardingUpdate {
  readonly cte: string
  readonly input: string
  readonly updated: string
  /** The conflict to report if the update did not happen. */
  readonly why: string
}

/**
 * A quote is used by one payment. As with a payment's version, the row is locked and checked again.
 * A change that takes a quote updates no payment, so the two kinds of guard never meet in one.
 */
function takeQuote(): GuardingUpdate {
  const input = inputName('quote')
  const updated = 'quote_updated'
  const cte = `${updated} AS (UPDATE dcc_quote t SET pay_id = i.pay_id FROM ${input} i
      WHERE ${match(quoteKey)} AND t.pay_id IS NULL AND i.c NOT IN (SELECT c FROM taken) RETURNING i.c)`
  return { cte, input, updated, why: 'quote_taken' }
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
