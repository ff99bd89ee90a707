/**
 * Keeps block-range indexes narrow. PostgreSQL summarises new ranges only with a vacuum, and until then every search by
 * such an index reads all rows that came since: with three million of them 3.4 s instead of 32 ms (measured).
 */
import type { Pool } from 'pg'

/**
 * 200 ms: below PostgreSQL's deadlock_timeout (1 s), after which whoever waits for a table that is being vacuumed ends
 * the vacuum.
 */
const lockTimeoutMs = 200

/** lock_not_available, query_canceled: somebody else is at work, or it takes longer. Ranges done so far stay done. */
const isNotNow = (error: unknown): boolean =>
  ['55P03', '57014'].includes(String((error as { code?: unknown }).code))

/** Summarises what is new. Where that cannot be done now, searches are slower and just as right. */
export async function summarizeNewRanges(pool: Pool, index: string): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query(`SET LOCAL lock_timeout = ${lockTimeoutMs}`)
    try {
      await client.query('SELECT brin_summarize_new_values($1::regclass)', [index])
    } catch (error) {
      if (!isNotNow(error)) throw error
    }
    await client.query('COMMIT')
    client.release()
  } catch (error) {
    client.release(error as Error)
    throw error
  }
}
