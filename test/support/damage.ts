/** What the doctor finds on a database that was damaged on purpose. A rollback takes the damage away again. */
import pg from 'pg'
import { type CheckResult, examineWith } from '#storage/doctor/doctor.ts'

/** The checks that find something after these statements, in the doctor's order. */
export async function examineDamaged(
  databaseUrl: string,
  statements: readonly string[],
  examineMore: (client: pg.Client) => Promise<readonly CheckResult[]> = async () => [],
): Promise<readonly CheckResult[]> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query('BEGIN')
    for (const statement of statements) await client.query(statement)
    const results = [...(await examineWith([client])), ...(await examineMore(client))]
    await client.query('ROLLBACK')
    return results.filter(({ found }) => found > 0)
  } finally {
    await client.end()
  }
}

export async function nameDamage(
  databaseUrl: string,
  ...statements: readonly string[]
): Promise<readonly string[]> {
  return (await examineDamaged(databaseUrl, statements)).map(({ name }) => name)
}
