/** Lists the tables of a backup, ordered so that referenced tables are filled first. */
import type pg from 'pg'

/** The backup or a database cannot be used; the message is a sentence for the operator. */
export class BackupError extends Error {}

export interface Table {
  /** Quoted if necessary. */
  readonly name: string
  /** The columns that can be written, separated by commas. */
  readonly columns: string
}

/** Tables that describe only the current state of this installation and are not backed up. */
const ofThisMoment = ['schema_migration', 'gateway_process', 'limit_use', 'one_time_key']

export async function listTables(
  client: pg.Client,
  leftOut: readonly string[] = ofThisMoment,
): Promise<readonly Table[]> {
  const tables = await client.query<{ oid: number; name: string; columns: string }>(
    `SELECT c.oid::integer AS oid, quote_ident(c.relname) AS name,
       (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns
     FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> ALL($1)
     ORDER BY c.relname`,
    [leftOut],
  )
  const references = await client.query<{ child: number; parent: number }>(
    `SELECT conrelid::integer AS child, confrelid::integer AS parent FROM pg_constraint
     WHERE contype = 'f' AND conrelid <> confrelid`,
  )
  return sortByReferences(tables.rows, references.rows)
}

interface Found extends Table {
  readonly oid: number
}

function sortByReferences(
  tables: readonly Found[],
  references: readonly { readonly child: number; readonly parent: number }[],
): readonly Table[] {
  const sorted: Found[] = []
  const seen = new Set<number>()
  const visit = (table: Found): void => {
    if (seen.has(table.oid)) return
    seen.add(table.oid)
    for (const { child, parent } of references) {
      const found = child === table.oid && tables.find(({ oid }) => oid === parent)
      if (found) visit(found)
    }
    sorted.push(table)
  }
  for (const table of tables) visit(table)
  return sorted
}
