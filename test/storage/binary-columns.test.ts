/** The binary columns of a batch arrive in PostgreSQL as the same rows do as JSON. */
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { BatchQuery } from '#storage/commit/batch-query.ts'
import {
  type EncodedBatch,
  encodeBatch,
  encodeColumns,
  selectColumns,
} from '#storage/commit/binary-columns.ts'
import { type RowOf, recordset, toRecordset } from '#storage/recordset.ts'
import { createTestDatabase, type TestDatabase } from '#test/support/database/database.ts'

const columns = [
  ['c', 'integer'],
  ['word', 'text'],
  ['id', 'uuid'],
  ['flag', 'boolean'],
  ['small', 'smallint'],
  ['whole', 'integer'],
  ['sum', 'bigint'],
  ['moment', 'timestamptz'],
  ['day', 'date'],
  ['facts', 'json'],
  ['bytes', 'bytea'],
] as const

type Row = RowOf<typeof columns>

let file: TestDatabase
let client: pg.Client

beforeAll(async () => {
  file = await createTestDatabase()
  client = new pg.Client({ connectionString: file.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await file.drop()
})

// Compared as text, which shows how PostgreSQL read the value, not how the driver parses it.
const asText = columns.map(([name]) => `${name}::text`).join(', ')

const name = 'read_columns'
const sql = `SELECT ${asText} FROM (${selectColumns(1, columns)}) r`

const encode = (rows: readonly Row[]) => encodeBatch(name, () => encodeColumns(columns, rows))

const ask = (text: string, statement: string, batch: EncodedBatch): Promise<BatchQuery> =>
  new Promise((resolve, reject) => {
    const query = new BatchQuery({ name: statement, text, batch })
    query.callback = (error, answered) => (answered ? resolve(answered) : reject(error))
    client.query(query)
  })

const query = (batch: EncodedBatch) => ask(sql, name, batch)

const readBinary = async (rows: readonly Row[]) => (await query(encode(rows))).rows

async function readJson(rows: readonly Row[]) {
  const text = `SELECT ${asText} FROM ${recordset('$1', columns)}`
  return (await client.query({ text, values: [toRecordset(columns, rows)], rowMode: 'array' })).rows
}

const empty = Object.fromEntries(columns.map(([name]) => [name, undefined])) as Row

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })
const hex = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).map(bytes => Buffer.from(bytes).toString('hex'))
// PostgreSQL's text cannot hold NUL, and UTF-8 no lone surrogate.
const text = fc
  .string({ unit: 'grapheme', maxLength: 120 })
  .filter(word => word.isWellFormed() && !word.includes('\0'))
const moment = fc.date({ min: new Date('1900-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })

const anyRow: fc.Arbitrary<Row> = fc.record({
  c: fc.nat({ max: 31 }),
  word: maybe(text),
  id: maybe(fc.oneof(hex(16), fc.uuid())),
  flag: maybe(fc.boolean()),
  small: maybe(fc.integer({ min: -32_768, max: 32_767 })),
  whole: maybe(fc.integer()),
  sum: maybe(fc.maxSafeInteger()),
  moment: maybe(moment),
  day: maybe(moment.map(date => date.toISOString().slice(0, 10))),
  facts: maybe(fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean()), { noNullPrototype: true })),
  bytes: maybe(
    fc
      .nat({ max: 60 })
      .chain(hex)
      .map(digits => `\\x${digits}`),
  ),
})

test('any rows arrive as they do as JSON', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyRow, { maxLength: 40 }), async rows => {
      expect(await readBinary(rows)).toEqual(await readJson(rows))
    }),
    { numRuns: 150 },
  )
})

test('rows that exceed the first buffer arrive complete', async () => {
  const rows = [1, 2, 3].map(c => ({ ...empty, c, word: 'é'.repeat(200_000 * c), facts: { c } }))
  expect(await readBinary(rows)).toEqual(await readJson(rows))
})

test('a statement may have more than 255 parameters', async () => {
  const many = Array.from({ length: 300 }, (_, at) => [`n${at}`, 'integer'] as const)
  const row = Object.fromEntries(many.map(([column], at) => [column, at]))
  const sum = `SELECT ${many.map(([column]) => column).join(' + ')} FROM (${selectColumns(1, many)}) r`
  const { rows } = await ask(
    sum,
    'many_parameters',
    encodeBatch('many_parameters', () => encodeColumns(many, [row])),
  )
  expect(rows).toEqual([[String((299 * 300) / 2)]])
})

test('a buffer is reused after its batch has succeeded, and not before', async () => {
  const row = (word: string): Row => ({ ...empty, c: 0, word })
  const word = columns.findIndex(([column]) => column === 'word')
  const first = encode([row('first')])
  const answer = query(first)
  const second = encode([row('second')])
  expect(second.messages.buffer).not.toBe(first.messages.buffer)
  expect((await answer).rows[0]?.[word]).toBe('first')
  const third = encode([row('third')])
  expect(third.messages.buffer).toBe(first.messages.buffer)
  expect((await query(second)).rows[0]?.[word]).toBe('second')
  expect((await query(third)).rows[0]?.[word]).toBe('third')
})

test('an error of the statement is reported, its buffer is not reused, and the connection stays usable', async () => {
  const broken = () => encodeBatch('broken', () => encodeColumns([['c', 'integer']], [{ c: 0 }]))
  const read = (value: string) => `SELECT ${value} FROM (${selectColumns(1, [['c', 'integer']])}) r`
  await expect(ask(read('nothing'), 'broken', broken())).rejects.toMatchObject({ code: '42703' })
  const failing = broken()
  await expect(ask(read('1 / c'), 'broken', failing)).rejects.toMatchObject({ code: '22012' })
  const next = encode([{ ...empty, c: 7 }])
  expect(next.messages.buffer).not.toBe(failing.messages.buffer)
  expect((await query(next)).rows).toEqual(await readJson([{ ...empty, c: 7 }]))
  // The server failed to parse the first text with this name; the second one stays prepared.
  await expect(ask(read('1 / c'), 'broken', broken())).rejects.toMatchObject({ code: '22012' })
})

test.each<[string, Partial<Row>]>([
  ['no smallint', { small: 32_768 }],
  ['no smallint', { small: 0.5 }],
  ['no integer', { whole: 2 ** 31 }],
  ['no bigint', { sum: 2 ** 53 }],
  ['no bigint', { sum: Number.NaN }],
  ['no point in time', { moment: new Date(Number.NaN) }],
  ['no date', { day: '2026-02-xx' }],
  ['not hexadecimal', { id: 'ab'.repeat(15) }],
  ['not hexadecimal', { id: 'xy'.repeat(16) }],
  ['not hexadecimal', { bytes: '\\xabc' }],
])('%s: %o is refused before anything is sent, with the code of an invalid value', (what, wrong) => {
  expect(() => encode([{ ...empty, c: 0, ...wrong }])).toThrow(
    expect.objectContaining({ code: '22P03', message: `a value of a batch is ${what}` }),
  )
})
