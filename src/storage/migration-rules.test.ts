/** The statements that a migration may contain while the previous release serves. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { findUnsafe, findWaits, readStatements } from '#storage/migration-rules.ts'

const directory = new URL('../../migrations/', import.meta.url)

/** Files up to this one are older than the first release. */
const lastBeforeRules = '0012'

describe('the files', () => {
  const names = readdirSync(directory).filter(
    name => name.endsWith('.sql') && name.slice(0, 4) > lastBeforeRules,
  )
  test.each(names)('the migration %s only adds', name => {
    expect(findUnsafe(readFileSync(new URL(name, directory), 'utf8'))).toEqual([])
  })
})

test.each([
  ['ALTER TABLE payment DROP COLUMN details', 'drops a column'],
  ['ALTER TABLE payment RENAME COLUMN a TO b', 'renames'],
  ['ALTER TABLE payment ALTER COLUMN a TYPE bigint', 'rewrites the table'],
  ['ALTER TABLE payment ALTER a SET NOT NULL', 'forbids rows'],
  ['ALTER TABLE payment ADD COLUMN a text NOT NULL', 'needs a value'],
  ['ALTER TABLE payment ADD COLUMN a text, ADD COLUMN b text', 'several subcommands'],
  ["ALTER TABLE payment ADD COLUMN a text CHECK (a <> '')", 'without a name'],
  ['CREATE TABLE t (a text PRIMARY KEY)', 'without a name'],
  ['CREATE TABLE t (a text, FOREIGN KEY (a) REFERENCES s (a))', 'without a name'],
  ['DROP TABLE payment', 'takes a table away'],
])('a migration with %s is refused', (sql, reason) => {
  expect(findUnsafe(`${sql};`).join()).toContain(reason)
})

test.each([
  'ALTER TABLE payment ADD COLUMN a text',
  "ALTER TABLE payment ADD COLUMN a text NOT NULL DEFAULT 'x' CONSTRAINT a_known CHECK (a IN ('x', 'y'))",
  'ALTER TABLE payment ADD CONSTRAINT a CHECK (b > 0) NOT VALID',
  'ALTER TABLE payment DROP CONSTRAINT a',
  'CREATE TABLE t (a text, CONSTRAINT t_pkey PRIMARY KEY (a), CONSTRAINT t_of_s FOREIGN KEY (a) REFERENCES s (a))',
  'CREATE UNIQUE INDEX i ON t (a)',
])('a migration with %s is allowed', sql => {
  expect(findUnsafe(`${sql};`)).toEqual([])
})

test('an index on an existing table blocks writes, and is reported with its table', () => {
  const sql = `CREATE TABLE young (a text, b text); CREATE INDEX young_by_a ON young (a);
    CREATE UNIQUE INDEX IF NOT EXISTS old_by_b ON old (b) WHERE b IS NOT NULL;
    CREATE INDEX CONCURRENTLY old_by_c ON old (c);`
  expect(findWaits(sql)).toEqual([
    'writes to old wait while the index old_by_b is built; with many rows, choose a quiet hour',
  ])
})

test('statements are not split inside strings, comments and function bodies', () => {
  const sql = "-- a; b\nSELECT ';' ; CREATE FUNCTION f() AS $$ BEGIN; -- one\nEND $$; /* ; */ SELECT 2"
  const body = 'CREATE FUNCTION f() AS $$ BEGIN; -- one\nEND $$'
  expect(readStatements(sql)).toEqual(["SELECT ';'", body, 'SELECT 2'])
})
