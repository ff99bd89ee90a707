/**
 * All hints for PostgreSQL's planner. test/storage/plans.test.ts runs EXPLAIN on each prepared statement and fails if
 * one of them reads a big table without an index.
 *
 * The hints are needed because a prepared statement keeps one plan for all values. That plan is often made while a
 * table is empty or has no statistics, and the statistics of one merchant say nothing about another. In order of
 * preference:
 *
 * 1. The settings of a connection, depending on its pool (`batchSettings`, `readerSettings`, `wholeTableSettings`).
 * 2. `byOtherIndex(column)`: compares or sorts by a column so that no index on it can be used. Without it, the planner
 *    would choose the primary key (all rows of a merchant) although another condition leads to a few rows.
 * 3. `lookUp(select)`: a subquery after LATERAL or EXISTS that must run once per row. Without it, the planner would
 *    merge it into a join, which takes the smaller index instead of the right one, or, while the table is small, answer
 *    it from a hash of the whole table.
 * 4. `checkedLast(condition)`: a condition on the row to be updated that must not be used to find the row.
 * 5. `inLists(payment)`, `inLineLists(line)`: allow the indexes that only lists of payments or lines may use.
 *
 * `AS MATERIALIZED` marks subqueries that are read several times; it saves work and is no hint.
 */

const asOptions = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')

/**
 * Switching an access path off only makes it very expensive, and PostgreSQL compiles expensive plans to machine code at
 * every execution: half a second for a statement that takes a tenth of a millisecond (measured with PostgreSQL 15,
 * which compiles by default).
 */
const withoutCompiling = { jit: 'off' }

/**
 * The same for the doctor, whose statements hold all checks and run once per range of payments. Compiling them took 37 of
 * 39 seconds for 250 payments (measured on busy cores).
 */
export const noCompiling = 'SET jit = off'

/**
 * For statements that join a handful of rows to big tables by primary key: commits, deliveries and gathered look-ups.
 * They keep one plan, because to plan a look-up anew takes two to three times as long as to run it (docs/bench.md). A plan made while a table is empty would
 * read the whole table ever after, so these connections make every access path except an index too expensive.
 * `cpu_operator_cost: 0` removes the cost of an index's levels: while a table is small, the planner would otherwise
 * prefer the shallower of two indexes to the one that leads to the row.
 */
export const batchSettings = asOptions({
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
 * Every read uses an index. The planner does not know how few rows a page needs, and would read the whole table for its
 * last few rows (measured: 20 ms for a page of customers instead of one).
 */
export const readerSettings = asOptions({ ...withoutCompiling, enable_seqscan: 'off' })

/**
 * For the doctor, which reads whole tables in ranges. The planner estimates that a range between two keys has one row,
 * and would search all operations of the range for each of its payments: minutes instead of a second (measured with
 * 50,000). Grouping millions of rows by sorting takes two thirds of the time of hashing, whose table does not fit into
 * memory (measured).
 */
export const wholeTableSettings = 'SET enable_nestloop = off; SET enable_hashagg = off'

/** The column as an expression that no index serves, so that the planner uses the index of another condition. */
export const byOtherIndex = (column: string): string => `${column} || ''`

/**
 * A subquery that runs once per row of the outer side: the planner neither merges nor hashes a subquery with an OFFSET.
 */
export const lookUp = (select: string): string => `(${select} OFFSET 0)`

/**
 * For updates from the rows of a batch, `i`. The planner assumes that `IS NULL` and the like are rare, and would begin
 * with all rows of the table that meet the condition. A condition that depends on the batch can only be checked after
 * the join.
 */
export const checkedLast = (condition: string): string => `CASE WHEN i.c IS NOT NULL THEN ${condition} END`

/**
 * Holds for every payment, and is the predicate of the indexes for lists, so that only statements with this condition
 * can use them. While a table is empty, all its indexes cost the same and the planner takes the newest: each look-up of
 * a payment then walked through all payments of its merchant (measured on a new installation under load: five times the
 * CPU time).
 */
export const inLists = (payment: string): string => `${payment}.amount >= 0`

/** The same for settlement lines: holds for every line, and is the predicate of the index by settlement. */
export const inLineLists = (line: string): string => `${line}.settlement_id <> ''`
