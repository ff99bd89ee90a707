/** Checks the stored rows by SQL: the rules of the books, and single queries. */

import { questionerOf } from '#test/support/database/database.ts'
import { bookRules } from '#test/support/simulation/book-rules.ts'

/** The rules that are broken, with the first few rows that break them; empty when all is well. */
export async function findBrokenRules(databaseUrl: string): Promise<Record<string, unknown[]>> {
  const broken: Record<string, unknown[]> = {}
  for (const [rule, query] of Object.entries(bookRules)) {
    const rows = await queryRows(databaseUrl, `${query} LIMIT 3`)
    if (rows.length > 0) broken[rule] = rows
  }
  return broken
}

export async function queryRows<T extends object = Record<string, unknown>>(
  databaseUrl: string,
  text: string,
  values: unknown[] = [],
): Promise<T[]> {
  // Without values it may be several statements, of which the last one answers.
  const result = await questionerOf(databaseUrl).query(text, values.length > 0 ? values : undefined)
  return (Array.isArray(result) ? result.at(-1) : result).rows as T[]
}

/** Due timers, including those that a worker is just running. */
export async function countDue(databaseUrl: string, nowMs: number): Promise<number> {
  const due = `SELECT 1 FROM timer WHERE run_at <= '${new Date(nowMs).toISOString()}'`
  return (await queryRows(databaseUrl, due)).length
}

/** The number of events about this operation, sent or waiting. */
export async function countEvents(databaseUrl: string, xId: string): Promise<number> {
  const rows = await queryRows<{ count: string }>(databaseUrl, 'SELECT count(*) FROM event WHERE x_id = $1', [
    xId,
  ])
  return Number(rows[0]?.count)
}
