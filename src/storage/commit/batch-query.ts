/**
 * Sends a batch through the driver as an already encoded call of a prepared statement. The driver's own queries would
 * convert and copy each of the hundred parameters, and ask for a description of the result.
 */
import type { Connection, Submittable } from 'pg'
import type { EncodedBatch } from '#storage/commit/binary-columns.ts'

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
