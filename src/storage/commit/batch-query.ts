/**
 * Sends a batch through the driver as an already encoded call of a prepared statement. The driver's own queries would
 * convert and copy each of the hundred parameters, and ask for a description of the result.
 */
import type { Connection, Pool, PoolClient, Submittable } from 'pg'
import { DatabaseSilent } from '#storage/breaker.ts'
import type { EncodedBatch } from '#storage/commit/binary-columns.ts'
import { isConnectionLost } from '#storage/database.ts'

/** An undocumented member of the driver's connection, which its own queries use. */
interface Wire extends Connection {
  readonly parsedStatements: Readonly<Record<string, string>>
}

export class BatchQuery implements Submittable {
  /** Read by the driver when the server has parsed the statement. */
  readonly name: string
  readonly text: string
  /** The columns of each row as text. */
  readonly rows: (readonly string[])[] = []
  /** Set by the driver. */
  callback: ((error: unknown, result?: BatchQuery) => void) | undefined
  readonly #batch: EncodedBatch

  constructor({ name, text, batch }: { name: string; text: string; batch: EncodedBatch }) {
    this.name = name
    this.text = text
    this.#batch = batch
  }

  submit(connection: Connection): void {
    const { name, text } = this
    const wire = connection as Wire
    // The driver reports the end of a closed connection to every query, so there is nothing to do here.
    if (!wire.stream.writable) return
    if (wire.parsedStatements[name] !== undefined) {
      wire.stream.write(this.#batch.messages)
      return
    }
    wire.stream.cork()
    wire.parse({ name, text, types: [] }, true)
    wire.stream.write(this.#batch.messages)
    wire.stream.uncork()
  }

  handleDataRow({ fields }: { readonly fields: readonly string[] }): void {
    this.rows.push(fields)
  }

  handleCommandComplete(): void {
    // Sync follows, and its answer ends the query.
  }

  /** Only called for a statement that has succeeded. */
  handleReadyForQuery(): void {
    this.#batch.release()
    this.callback?.(null, this)
  }

  handleError(error: unknown): void {
    this.callback?.(error)
  }
}

export type Send = (query: BatchQuery) => Promise<BatchQuery>

/** 100 ms: 32 changes, the most that share a batch, wait for three seconds if all of them need locks of others. */
const hastyLockMs = 100

/**
 * Runs work with one connection on which a statement that needs a lock of others gives up almost at once. If the
 * connection is lost, nothing more is sent, because each statement would wait for the database anew.
 */
export async function onHastyConnection(pool: Pool, work: (send: Send) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  let isLost = false
  const send: Send = async query => {
    if (isLost) throw new DatabaseSilent()
    try {
      return await sendOn(client, query)
    } catch (error) {
      isLost = isConnectionLost(error)
      throw error
    }
  }
  let isBroken = true
  try {
    await client.query(`SET lock_timeout = ${hastyLockMs}`)
    await work(send)
    if (!isLost) await client.query('RESET lock_timeout')
    isBroken = isLost
  } finally {
    client.release(isBroken)
  }
}

/** On a connection of its own the driver answers only a query's callback. */
const sendOn = (client: PoolClient, query: BatchQuery): Promise<BatchQuery> =>
  new Promise((resolve, reject) => {
    query.callback = error => (error ? reject(error) : resolve(query))
    client.query(query)
  })
