/** Looking at the stored rows behind the gateway's back: the rules of the books, and single questions. */
import pg from 'pg'
import { bookRules } from '#test/support/book-rules.ts'

/** The rules that are broken, with the first few rows that break them; empty when all is well. */
export async function findBrokenRules(databaseUrl: string): Promise<Record<string, unknown[]>> {
  const broken: Record<string, unknown[]> = {}
  await withClient(databaseUrl, async client => {
    for (const [rule, query] of Object.entries(bookRules)) {
      const { rows } = await client.query(`${query} LIMIT 3`)
      if (rows.length > 0) broken[rule] = rows
    }
  })
  return broken
}

export async function queryRows<T extends object = Record<string, unknown>>(
  databaseUrl: string,
  text: string,
  values: unknown[] = [],
): Promise<T[]> {
  return withClient(databaseUrl, async client => (await client.query(text, values)).rows as T[])
}

/** How often the merchant was or will be told about this operation. */
export async function countEvents(databaseUrl: string, xId: string): Promise<number> {
  const rows = await queryRows<{ count: string }>(databaseUrl, 'SELECT count(*) FROM event WHERE x_id = $1', [
    xId,
  ])
  return Number(rows[0]?.count)
}

async function withClient<T>(databaseUrl: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
