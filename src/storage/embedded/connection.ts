/** The few questions the launcher asks the server itself: do you answer, and is our database there? */
import pg from 'pg'
import { type Address, databaseName } from '#storage/embedded/address.ts'

/** 5 s: a server on this machine answers in milliseconds or is not there. */
const connectTimeoutMs = 5_000

/** What a client meets while the server is not there yet, starts, recovers or goes. */
const notYetCodes = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P03'])

const databaseMissing = '3D000'

const codeOf = (error: unknown): string | undefined => (error as { code?: string }).code

export async function accepts(url: string): Promise<boolean> {
  try {
    await ask(url, async () => {})
    return true
  } catch (error) {
    if (codeOf(error) === databaseMissing) return true
    if (isNotYet(error)) return false
    throw error
  }
}

/** False while the server is not ready. The first time it also makes the database. */
export async function prepareDatabase(address: Address): Promise<boolean> {
  try {
    await ask(address.url, async () => {})
    return true
  } catch (error) {
    if (isNotYet(error)) return false
    if (codeOf(error) !== databaseMissing) throw error
  }
  await ask(address.maintenanceUrl, async client => {
    // lz4 makes the write-ahead log smaller for next to no work, but not every build of PostgreSQL has it.
    const { rows } = await client.query<{ usable: boolean }>(
      `SELECT 'lz4' = ANY (enumvals) AS usable FROM pg_settings WHERE name = 'wal_compression'`,
    )
    if (rows[0]?.usable === true) {
      await client.query(`ALTER SYSTEM SET wal_compression = 'lz4'`)
      await client.query('SELECT pg_reload_conf()')
    }
    await client.query(`CREATE DATABASE ${databaseName}`)
  })
  return true
}

// A connection that breaks off without a word has no code; pg says so in these words.
const isNotYet = (error: unknown): boolean =>
  notYetCodes.has(codeOf(error) ?? '') || (error as Error).message === 'Connection terminated unexpectedly'

async function ask(url: string, question: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs })
  // A connection that breaks also emits its error, which would end the process; the awaited call reports it
  // to us.
  client.on('error', () => {})
  await client.connect()
  try {
    await question(client)
  } finally {
    await client.end()
  }
}
