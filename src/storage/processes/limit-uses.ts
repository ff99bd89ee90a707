/** Exchanges the counts of rate limits between processes through one small table. */
import type { Database } from '#storage/database.ts'
import { recordset, toRecordset } from '#storage/recordset.ts'

const useColumns = [
  ['name', 'text'],
  ['used', 'integer'],
] as const

export interface LimitUse {
  readonly name: string
  readonly used: number
}

export interface LimitUseStore {
  publish(process: number, uses: readonly LimitUse[]): Promise<void>
  /** Uses that other processes have published and this reader has not seen yet. */
  read(process: number): Promise<readonly LimitUse[]>
  reap(): Promise<void>
}

/** 5 s: reads recent rows again, to include those of slow commits; known rows are recognised by their number. */
const heardSeconds = 5

export function createLimitUseStore({ deliverers }: Pick<Database, 'deliverers'>): LimitUseStore {
  let heard = new Set<number>()
  return {
    async publish(process, uses) {
      await deliverers.query({
        name: 'announce_limit_uses',
        text: `INSERT INTO limit_use (process, name, used)
          SELECT $1, name, used FROM ${recordset('$2', useColumns)}`,
        values: [process, toRecordset(useColumns, uses)],
      })
    },
    async read(process) {
      const { rows } = await deliverers.query<LimitUse & { number: number }>({
        name: 'read_limit_uses',
        text: `SELECT number, name, used FROM limit_use
          WHERE at > now() - $2 * interval '1 second' AND process <> $1 ORDER BY number`,
        values: [process, heardSeconds],
      })
      const news = rows.filter(({ number }) => !heard.has(number))
      heard = new Set(rows.map(({ number }) => number))
      return news
    },
    async reap() {
      await deliverers.query("DELETE FROM limit_use WHERE at < now() - interval '1 minute'")
    },
  }
}
