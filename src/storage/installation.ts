/**
 * Values of the installation, one per row, such as its root secret and the mark of the search for unanswered
 * operations.
 */
import type pg from 'pg'
import type { Database } from '#storage/database.ts'

export interface Installation {
  read(name: string): Promise<string | undefined>
  /** Keeps an existing value and returns the stored one. */
  readOrInsert(name: string, value: string): Promise<string>
  write(name: string, value: string): Promise<void>
}

export function createInstallation({ writers }: Database): Installation {
  async function read(name: string): Promise<string | undefined> {
    const { rows } = await writers.query<{ value: string }>(
      'SELECT value FROM installation WHERE name = $1',
      [name],
    )
    return rows[0]?.value
  }
  return {
    read,
    async readOrInsert(name, value) {
      await writers.query('INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
        name,
        value,
      ])
      return (await read(name)) ?? value
    },
    async write(name, value) {
      await writers.query(
        'INSERT INTO installation (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
        [name, value],
      )
    },
  }
}

/** Whether the database holds sealed data. For commands, before a key is read or created. */
export async function holdsSealedRows(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query("SELECT 1 FROM installation WHERE name = 'root_secret'")
  return rows.length > 0
}
