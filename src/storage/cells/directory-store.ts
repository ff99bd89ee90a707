/** The directory in cell 0: the list of cells, and the cell of each merchant. */
import type { Database } from '#storage/database.ts'

/**
 * The merchant cannot be served at this moment, because its cell is unavailable or it is being moved. This is
 * temporary.
 */
export class MerchantUnavailable extends Error {}

export interface Place {
  readonly merchantId: string
  readonly cell: number
  /** How much longer the lease of a move lasts; undefined if no move is under way, or its lease has expired. */
  readonly movingForMs?: number
  /** The cell to which its rows are being copied, or were when the move was interrupted. */
  readonly movingTo?: number
  /** The cell in which its old rows must still be deleted. */
  readonly movedFrom?: number
}

export interface DirectoryStore {
  /** `source`: the number of the database in TOLLGATE_CELL_URLS; 0 is that of cell 0. */
  addCell(cell: number, source: number): Promise<void>
  /** Adds merchants of cell 0 that the directory lacks. */
  placeAll(): Promise<void>
  place(merchantId: string, cell: number): Promise<void>
  find(merchantId: string): Promise<Place | undefined>
  /** All places that have changed since `moment`, which is by the database's clock. */
  changedSince(moment: string): Promise<{ readonly places: readonly Place[]; readonly moment: string }>
  count(): Promise<ReadonlyMap<number, number>>
  /**
   * The caller holds the move's lock. False: the merchant is already in that cell, or an earlier move is not finished.
   */
  beginMove(move: { merchantId: string; to: number; forMs: number }): Promise<boolean>
  /** False: the lease had expired. */
  renewMove(move: { merchantId: string; to: number; forMs: number }): Promise<boolean>
  /** Switches the merchant to the other cell. False: the lease had expired, and nothing has changed. */
  endMove(move: { merchantId: string; to: number }): Promise<boolean>
  /**
   * Ends the lease, so that the merchant cannot be switched any more. False: it was switched, or this is not its move.
   */
  stopMove(move: { merchantId: string; to: number }): Promise<boolean>
  giveUpMove(merchantId: string): Promise<void>
  /** Records that the old rows are deleted. */
  forgetOld(merchantId: string): Promise<void>
  /** Interrupted moves, and merchants whose old rows must still be deleted. */
  listUnfinished(): Promise<readonly Place[]>
}

interface PlaceRow {
  readonly merchant_id: string
  readonly cell: number
  readonly moving_to: number | null
  readonly moving_for_ms: number | null
  readonly moved_from: number | null
}

const columns = `merchant_id, cell, moving_to, moved_from,
  (extract(epoch FROM moving_until - clock_timestamp()) * 1000)::integer AS moving_for_ms`

const toPlace = (row: PlaceRow): Place => ({
  merchantId: row.merchant_id,
  cell: row.cell,
  ...(row.moving_to === null ? {} : { movingTo: row.moving_to }),
  ...(row.moving_for_ms !== null && row.moving_for_ms > 0 ? { movingForMs: row.moving_for_ms } : {}),
  ...(row.moved_from === null ? {} : { movedFrom: row.moved_from }),
})

const until = (parameter: string): string => `clock_timestamp() + ${parameter} * interval '1 millisecond'`

export function createDirectoryStore(database: Pick<Database, 'readers' | 'writers'>): DirectoryStore {
  const { readers, writers } = database
  const did = async (text: string, values: unknown[]): Promise<boolean> =>
    (await writers.query(text, values)).rowCount === 1
  return {
    ...createReads({ readers }),
    ...createMoves(did),
    async addCell(cell, source) {
      await writers.query('INSERT INTO cell (cell, source) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
        cell,
        source,
      ])
    },
    async placeAll() {
      await writers.query(`INSERT INTO merchant_cell (merchant_id, cell) SELECT m.merchant_id, 0 FROM merchant m
        WHERE NOT EXISTS (SELECT 1 FROM merchant_cell c WHERE c.merchant_id = m.merchant_id) ON CONFLICT DO NOTHING`)
    },
    async place(merchantId, cell) {
      await writers.query('INSERT INTO merchant_cell (merchant_id, cell) VALUES ($1, $2)', [merchantId, cell])
    },
  }
}

type Reads = Pick<DirectoryStore, 'find' | 'changedSince' | 'count' | 'listUnfinished'>

const createReads = ({ readers }: Pick<Database, 'readers'>): Reads => ({
  async find(merchantId) {
    const { rows } = await readers.query<PlaceRow>(
      `SELECT ${columns} FROM merchant_cell WHERE merchant_id = $1`,
      [merchantId],
    )
    return rows[0] && toPlace(rows[0])
  },
  async changedSince(moment) {
    const { rows } = await readers.query<PlaceRow>(
      `SELECT ${columns} FROM merchant_cell WHERE changed_at >= $1::timestamptz - interval '1 minute'`,
      [moment],
    )
    const { rows: now } = await readers.query<{ moment: string }>('SELECT clock_timestamp()::text AS moment')
    return { places: rows.map(toPlace), moment: now[0]?.moment ?? moment }
  },
  async count() {
    const { rows } = await readers.query<{ cell: number; merchants: number }>(
      'SELECT cell, count(*)::integer AS merchants FROM merchant_cell GROUP BY cell',
    )
    return new Map(rows.map(row => [row.cell, row.merchants]))
  },
  async listUnfinished() {
    const { rows } = await readers.query<PlaceRow>(
      `SELECT ${columns} FROM merchant_cell
       WHERE moved_from IS NOT NULL OR (moving_to IS NOT NULL AND moving_until < clock_timestamp())`,
    )
    return rows.map(toPlace)
  },
})

type Moves = Pick<
  DirectoryStore,
  'beginMove' | 'renewMove' | 'endMove' | 'stopMove' | 'giveUpMove' | 'forgetOld'
>

const createMoves = (did: (text: string, values: unknown[]) => Promise<boolean>): Moves => ({
  beginMove: ({ merchantId, to, forMs }) =>
    did(
      `UPDATE merchant_cell SET moving_to = $2, moving_until = ${until('$3')}, changed_at = clock_timestamp()
       WHERE merchant_id = $1 AND cell <> $2 AND moved_from IS NULL`,
      [merchantId, to, forMs],
    ),
  renewMove: ({ merchantId, to, forMs }) =>
    did(
      `UPDATE merchant_cell SET moving_until = ${until('$3')}, changed_at = clock_timestamp()
       WHERE merchant_id = $1 AND moving_to = $2 AND moving_until > clock_timestamp()`,
      [merchantId, to, forMs],
    ),
  endMove: ({ merchantId, to }) =>
    did(
      `UPDATE merchant_cell SET moved_from = cell, cell = $2, moving_to = NULL, moving_until = NULL,
         changed_at = clock_timestamp()
       WHERE merchant_id = $1 AND moving_to = $2 AND moving_until > clock_timestamp()`,
      [merchantId, to],
    ),
  stopMove: ({ merchantId, to }) =>
    did(
      `UPDATE merchant_cell SET moving_until = clock_timestamp(), changed_at = clock_timestamp()
       WHERE merchant_id = $1 AND moving_to = $2`,
      [merchantId, to],
    ),
  async giveUpMove(merchantId) {
    await did(
      `UPDATE merchant_cell SET moving_to = NULL, moving_until = NULL, changed_at = clock_timestamp()
       WHERE merchant_id = $1`,
      [merchantId],
    )
  },
  async forgetOld(merchantId) {
    await did(
      'UPDATE merchant_cell SET moved_from = NULL, changed_at = clock_timestamp() WHERE merchant_id = $1',
      [merchantId],
    )
  },
})
