/**
 * A batch on its way through the driver: the call of a prepared statement that is encoded already. The driver's own
 * queries make a value of each of its hundred parameters and copy them, and ask for a description of the result.
 */
import type { Connection, Submittable } from 'pg'
import type { EncodedBatch } from '#storage/commit/binary-columns.ts'

/** What the driver's connection has besides its documented members, as its own queries use it. */
interface Wire extends Connection {
  readonly parsedStatements: Readonly<Record<string, string>>
}

export class BatchQuery implements Submittable {
  /** Read by the driver when the server has understood the statement. */
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
    // Nobody gets an answer through a closed connection: the driver reports its end to every query.
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
