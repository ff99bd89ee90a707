/**
 * Encodes the rows of a batch as parameters of its statement: one array per column, in PostgreSQL's binary format. As
 * JSON, PostgreSQL parsed the rows three times (to check them, to split them, and each JSON column once more), which
 * took a third of the CPU time of a commit (measured).
 */
import type { RowOf, ValueOf } from '#storage/recordset.ts'

/** An array cannot be an element of an array of another length, so a batch has no such columns. */
type ElementType = Exclude<keyof ValueOf, 'text[]'>

export type BatchColumns = readonly (readonly [name: string, type: ElementType])[]

/** The OIDs of PostgreSQL's built-in types, which never change. */
const typeIds: Readonly<Record<ElementType, number>> = {
  boolean: 16,
  bytea: 17,
  bigint: 20,
  smallint: 21,
  integer: 23,
  text: 25,
  json: 114,
  date: 1082,
  timestamptz: 1184,
  uuid: 2950,
}

/**
 * Selects the rows of a batch from its parameters. The first parameter holds the row numbers, from 1: the planner
 * expects ten rows of `unnest` of an array, which is about right, and a thousand of every other function.
 */
export function selectColumns(firstParameter: number, columns: BatchColumns, computed?: string): string {
  const values = columns.map(([name, type], at) => `($${firstParameter + 1 + at}::${type}[])[n] AS ${name}`)
  const all = computed === undefined ? values : [...values, computed]
  return `SELECT ${all.join(', ')} FROM unnest($${firstParameter}::integer[]) AS n`
}

/** The number of parameters that `selectColumns` reads. */
export const parameterCount = (columns: BatchColumns): number => columns.length + 1

/**
 * Encodes these parameters; called within `encodeBatch`. The array of a column without any value is NULL, and so are
 * all arrays without rows.
 */
export function encodeColumns<C extends BatchColumns>(columns: C, rows: readonly RowOf<C>[]): void {
  if (rows.length === 0) {
    for (let column = 0; column < parameterCount(columns); column += 1) putNull()
    return
  }
  encodeArray(rowNumbers, rows)
  for (const column of columns) encodeArray(column, rows)
}

/**
 * A value does not fit its column. It has PostgreSQL's error code for that: nothing was sent, so nothing was written.
 */
class NotEncodable extends Error {
  readonly code = '22P03'
}

function check(holds: boolean, what: string): asserts holds {
  if (!holds) throw new NotEncodable(`a value of a batch is ${what}`)
}

/** The buffer of the batch that is being encoded; it is replaced by a larger one when it is full. */
let memory = Buffer.alloc(0)
let end = 0
let parameters = 0

/** 256 KiB: more than a batch of the usual size needs. */
const memorySize = 256 * 1024

/** Buffers for reuse. A new buffer for every batch would cost a garbage collection per second (measured). */
const free: (typeof memory)[] = []

/** 8: more batches are rarely under way at the same time. */
const freeMax = 8

export interface EncodedBatch {
  /** PostgreSQL's messages Bind, Execute and Sync, ready to be sent. */
  readonly messages: Buffer
  /**
   * Returns the buffer for reuse after the statement has succeeded. After an error it is left to the garbage collector,
   * because the driver may still hold it.
   */
  release(): void
}

/** Encodes the call of a prepared statement; `encode` writes its parameters with `encodeColumns`. */
export function encodeBatch(statement: string, encode: () => void): EncodedBatch {
  memory = free.pop() ?? Buffer.allocUnsafeSlow(memorySize)
  end = 0
  parameters = 0
  putBytes([...'B'].map(toCode))
  end += 4
  // The unnamed portal, the statement, and one format code: all parameters are binary.
  putBytes([0, ...[...statement].map(toCode), 0, 0, 1, 0, 1])
  const countAt = end
  end += 2
  encode()
  memory[countAt] = parameters >> 8
  memory[countAt + 1] = parameters
  reserve(afterParameters.length)
  const bindEnd = end + 2
  putBytes(afterParameters)
  const messagesEnd = end
  end = 1
  putInteger(bindEnd - 1)
  const used = memory
  return {
    messages: used.subarray(0, messagesEnd),
    release() {
      if (used.length === memorySize && free.length < freeMax) free.push(used)
    },
  }
}

const toCode = (letter: string): number => letter.charCodeAt(0)

/** The end of Bind (all results as text), Execute (the unnamed portal, all rows), and Sync. */
const afterParameters = [0, 0, toCode('E'), 0, 0, 0, 9, 0, 0, 0, 0, 0, toCode('S'), 0, 0, 0, 4]

function putBytes(bytes: readonly number[]): void {
  for (const byte of bytes) {
    memory[end] = byte
    end += 1
  }
}

function reserve(bytes: number): void {
  if (end + bytes <= memory.length) return
  const begun = memory.subarray(0, end)
  memory = Buffer.allocUnsafeSlow(Math.max(2 * memorySize, 2 * (end + bytes)))
  begun.copy(memory)
}

/** The array's length in bytes and its header: number of dimensions, NULL flag, type, count and lower bound. */
const headerBytes = 24

/** The column of row numbers, which is not a member of the rows. */
const rowNumbers = [undefined, 'integer'] as const

/**
 * RowOf guarantees that each value has its column's type, but the compiler cannot prove it for a column given by name.
 */
function encodeArray(
  [name, type]: readonly [name: string | undefined, type: ElementType],
  rows: readonly Readonly<Record<string, unknown>>[],
): void {
  const put: (value: never) => void = writers[type]
  const count = rows.length
  const start = end
  reserve(headerBytes)
  end += headerBytes
  let missing = 0
  for (let index = 0; index < count; index += 1) {
    const value = name === undefined ? index + 1 : rows[index]?.[name]
    if (value === undefined || value === null) {
      missing += 1
      reserve(4)
      putInteger(-1)
    } else put(value as never)
  }
  const written = end
  end = start
  if (missing === count) {
    putNull()
    return
  }
  parameters += 1
  putInteger(written - start - 4)
  putInteger(1)
  putInteger(missing > 0 ? 1 : 0)
  putInteger(typeIds[type])
  putInteger(count)
  putInteger(1)
  end = written
}

function putNull(): void {
  parameters += 1
  reserve(4)
  putInteger(-1)
}

function putInteger(value: number): void {
  memory[end] = value >> 24
  memory[end + 1] = value >> 16
  memory[end + 2] = value >> 8
  memory[end + 3] = value
  end += 4
}

const twoToThe32 = 2 ** 32

function putBigint(high: number, low: number): void {
  reserve(12)
  putInteger(8)
  putInteger(high)
  putInteger(low)
}

/** 48: up to here a loop is faster than a call into Node's core (measured). */
const shortText = 48

/** A UTF-16 code unit takes at most 3 bytes in UTF-8. */
function putText(text: string): void {
  const { length } = text
  reserve(4 + 3 * length)
  const target = memory
  const from = end + 4
  let at = 0
  if (length <= shortText) {
    for (; at < length; at += 1) {
      const code = text.charCodeAt(at)
      if (code > 127) break
      target[from + at] = code
    }
  }
  const bytes = at === length ? length : target.write(text, from)
  putInteger(bytes)
  end += bytes
}

function putHex(digits: string, bytes = digits.length / 2): void {
  reserve(4 + bytes)
  putInteger(bytes)
  const written = memory.write(digits, end, 'hex')
  check(written === bytes && digits.length === 2 * bytes, 'not hexadecimal')
  end += bytes
}

/** PostgreSQL's epoch. */
const epochMs = Date.UTC(2000, 0, 1)
const dayMs = 86_400_000

const writers: { readonly [T in ElementType]: (value: ValueOf[T]) => void } = {
  boolean(value) {
    reserve(5)
    putInteger(1)
    memory[end] = value ? 1 : 0
    end += 1
  },
  smallint(value) {
    check(value >> 16 === value >> 15 && Number.isInteger(value), 'no smallint')
    reserve(6)
    putInteger(2)
    memory[end] = value >> 8
    memory[end + 1] = value
    end += 2
  },
  integer(value) {
    check((value | 0) === value, 'no integer')
    reserve(8)
    putInteger(4)
    putInteger(value)
  },
  bigint(value) {
    check(Number.isSafeInteger(value), 'no bigint')
    putBigint(Math.floor(value / twoToThe32), value % twoToThe32)
  },
  timestamptz(value) {
    const ms = value.getTime() - epochMs
    check(Number.isInteger(ms), 'no point in time')
    // Microseconds of later centuries exceed a number's precision, so the two halves are multiplied separately.
    const low = (ms - Math.floor(ms / twoToThe32) * twoToThe32) * 1000
    putBigint(Math.floor(ms / twoToThe32) * 1000 + Math.floor(low / twoToThe32), low % twoToThe32)
  },
  date(value) {
    const days = (Date.parse(value) - epochMs) / dayMs
    check(Number.isInteger(days), 'no date')
    reserve(8)
    putInteger(4)
    putInteger(days)
  },
  text: putText,
  json: value => putText(JSON.stringify(value)),
  uuid: value => putHex(value.length === 32 ? value : value.replaceAll('-', ''), 16),
  bytea: value => putHex(value.slice(2)),
}
