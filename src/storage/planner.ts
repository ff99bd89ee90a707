/**
 * Steering PostgreSQL's planner: everything that tells it how to read is here, and test/storage/plans.test.ts explains
 * each prepared statement and fails if one of them reads a big table without an index.
 *
 * Why it must be steered: a prepared statement keeps one plan for all values, often made while a table was still empty
 * or had no statistics, and the figures of one merchant say nothing about another. The ways, in this order:
 *
 * 1. The settings of a connection, by what its pool is for (`writerSettings`, `readerSettings`, `wholeTableSettings`).
 * 2. `byOtherIndex(column)`: compare or sort by a column in a way that its own index cannot serve, where the planner
 * would choose the
 *    primary key (all rows of a merchant) although another condition leads to a few rows.
 * 3. `lookUp(select)`: a subquery, after LATERAL or EXISTS, that must stay a look-up per row: neither merged into a
 * join, which
 * takes the smaller index instead of the right one, nor answered from a hash of the whole table, which is what the
 * planner
 *    chooses while the table is small.
 * 4. `checkedLast(condition)`: a condition on the row to be updated that must not be what the row is found by.
 * 5. `inLists(payment)`: opens the indexes that only lists of payments use, which a look-up must not take.
 *
 * `AS MATERIALIZED` stands where a subquery is read several times; that is about work, not about plans.
 */

const asOptions = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')

/**
 * A path that is switched off is not forbidden but made very expensive, and PostgreSQL compiles what is expensive to machine
 * code: for every execution, half a second for a statement that takes a tenth of a millisecond (measured with PostgreSQL
 * 15, which compiles by default).
 */
const withoutCompiling = { jit: 'off' }

/**
 * The batch statements join a handful of rows to big tables by primary key. A plan made while a table was still empty
 * would read all of it for ever after, so these connections make every access path but an index too expensive. With no
 * cost for the levels of an index, the planner does not prefer the shallower of two indexes to the one that leads to
 * the row: while a table is small, nothing else distinguishes them.
 */
export const writerSettings = asOptions({
  ...withoutCompiling,
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_material: 'off',
  plan_cache_mode: 'force_generic_plan',
  cpu_operator_cost: '0',
})

/**
 * Every read goes by an index, and only while it runs is it known how few rows it wants: without this the planner would read
 * the whole table for the last few rows of it (measured: 20 ms for a page of customers instead of one).
 */
export const readerSettings = asOptions({ ...withoutCompiling, enable_seqscan: 'off' })

/**
 * For the doctor, which reads whole tables in ranges. The planner estimates a range between two keys as one row, and would
 * then look through all operations of the range for each of its payments: minutes instead of a second (measured with 50,000).
 * Grouping millions of rows by sorting takes two thirds of the time of hashing them, which does not fit into memory (measured).
 */
export const wholeTableSettings = 'SET enable_nestloop = off; SET enable_hashagg = off'

/** The column as a value that no index on it serves, so that the planner takes the index of another condition. */
export const byOtherIndex = (column: string): string => `${column} || ''`

/** A subquery that is run once per row of the outer side: the planner neither merges nor hashes what has an OFFSET. */
export const lookUp = (select: string): string => `(${select} OFFSET 0)`

/**
 * For updates from the rows of a batch, `i`. The planner takes `IS NULL` and the like for rare and would begin with every
 * row of the table that fulfils it; a condition that depends on the batch can only be checked after the join.
 */
export const checkedLast = (condition: string): string => `CASE WHEN i.c IS NOT NULL THEN ${condition} END`

/**
 * True of every payment, and the predicate of the indexes that lists are read by. While a table is empty all its indexes cost
 * the same, and the planner takes the newest: each look-up of a payment then walked through all payments of its merchant
 * (measured on a new installation under load: five times the processor time). What does not say this cannot use them.
 */
export const inLists = (payment: string): string => `${payment}.amount >= 0`
