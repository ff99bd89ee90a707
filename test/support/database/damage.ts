/** Runs the doctor on a database that was damaged on purpose. A rollback removes the damage. */
import type pg from 'pg'
import { type CheckResult, examineWith } from '#storage/doctor/doctor.ts'
import { questionerOf } from '#test/support/database/database.ts'

/** The checks that find something after these statements, in the doctor's order. */
export async function examineDamaged(
  databaseUrl: string,
  statements: readonly string[],
  examineMore: (client: pg.ClientBase) => Promise<readonly CheckResult[]> = async () => [],
): Promise<readonly CheckResult[]> {
  // Always the same connection: a new one would have to learn about all tables first, which takes longer than the checks.
  const client = await questionerOf(databaseUrl).connect()
  try {
    await client.query('BEGIN')
    for (const statement of statements) await client.query(statement)
    const results = [...(await examineWith([client])), ...(await examineMore(client))]
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
