/** Runs the doctor on a database that was damaged on purpose. A rollback removes the damage. */
import { createHash } from 'node:crypto'
import type pg from 'pg'
import { type CheckResult, examineWith } from '#storage/doctor/doctor.ts'
import { questionerOf } from '#test/support/database/database.ts'

/**
 * A file examines its database up to a hundred times. PostgreSQL takes five times as long to read and plan the doctor's
 * statements as to run them, so they are prepared once, each with one plan for all values.
 */
const keepPlans = 'SET LOCAL plan_cache_mode = force_generic_plan'

const preparing = (client: pg.PoolClient): pg.ClientBase =>
  ({
    query: (text: string, values?: readonly unknown[]) =>
      client.query({
        name: createHash('sha256').update(text).digest('base64url'),
        text,
        values: [...(values ?? [])],
      }),
  }) as unknown as pg.ClientBase

/** The checks that find something after these statements, in the doctor's order. */
export async function examineDamaged(
  databaseUrl: string,
  statements: readonly string[],
  examineMore: (client: pg.ClientBase) => Promise<readonly CheckResult[]> = async () => [],
): Promise<readonly CheckResult[]> {
  // Always the same connection: a new one would have to learn about all tables first, which takes longer than the checks.
  const client = await questionerOf(databaseUrl).connect()
  try {
    await client.query(`BEGIN; ${keepPlans}`)
    for (const statement of statements) await client.query(statement)
    const results = [...(await examineWith([preparing(client)])), ...(await examineMore(client))]
    return results.filter(({ found }) => found > 0)
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}

export async function nameDamage(
  databaseUrl: string,
  ...statements: readonly string[]
): Promise<readonly string[]> {
  return (await examineDamaged(databaseUrl, statements)).map(({ name }) => name)
}
