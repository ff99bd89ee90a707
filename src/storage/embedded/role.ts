/**
 * The gateway's database role: it owns its database and nothing else, and logs in with a password. The role is created,
 * and given the objects of older versions, while no server runs, because PostgreSQL's single-user mode needs no login.
 */
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chownSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Account } from '#storage/embedded/account.ts'
import type { Binaries } from '#storage/embedded/binaries.ts'
import { excuseStalePid } from '#storage/embedded/postmaster.ts'
import { asWriteFault, EmbeddedPostgresError } from '#storage/embedded/processes.ts'

export const databaseName = 'tollgate'
export const roleName = 'tollgate_gateway'

/** The superuser that initdb creates. It cannot log in. */
export const superuserName = 'tollgate'

/**
 * The password is stored beside the cluster, so that a copy of the cluster alone gives no access. An empty file, which
 * a full disk or a power failure can leave behind, is replaced.
 */
export function readOrMakePassword(directory: string): string {
  const file = join(directory, 'postgres.password')
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : ''
  if (found !== '') return found
  const made = randomBytes(24).toString('base64url')
  const draft = `${file}.new`
  try {
    writeFileSync(draft, made, { mode: 0o600, flush: true })
    renameSync(draft, file)
  } catch (cause) {
    rmSync(draft, { force: true })
    throw asWriteFault(directory, cause)
  }
  return made
}

export interface RoleOptions {
  readonly cluster: string
  readonly binaries: Binaries
  readonly account: Account
  readonly password: string
  /** Allows CREATE DATABASE, for tests and benchmarks. */
  readonly mayMakeDatabases?: boolean | undefined
}

/** Raise it when the statements below change, so that they run again on every cluster. */
const version = 1

/** Does nothing if the cluster's role is up to date and has this password. */
export function ensureRole(options: RoleOptions): void {
  const { cluster, account, password } = options
  const mark = `${version} ${createHash('sha256').update(password).digest('hex')}\n`
  const markFile = join(cluster, 'tollgate.role')
  if (existsSync(markFile) && readFileSync(markFile, 'utf8') === mark) return
  // Until the role exists nobody can log in, so a crash in between is harmless.
  writeOwned(join(cluster, 'pg_hba.conf'), hostRules, account)
  run(options, 'postgres', roleStatements(options))
  run(options, databaseName, [takeOverStatement])
  writeOwned(markFile, mark, account)
}

const hostRules = `# Written by Tollgate: its own role with its password, and nobody else.
local all ${roleName} scram-sha-256
host all ${roleName} 127.0.0.1/32 scram-sha-256
local all all reject
host all all all reject
`

const roleStatements = ({ password, mayMakeDatabases }: RoleOptions): readonly string[] => [
  `DO $$ BEGIN
     IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${roleName}') THEN CREATE ROLE ${roleName}; END IF;
   END $$`,
  `ALTER ROLE ${roleName} LOGIN NOSUPERUSER ${mayMakeDatabases ? 'CREATEDB' : 'NOCREATEDB'} NOCREATEROLE NOREPLICATION
     NOBYPASSRLS PASSWORD '${password}'`,
  ...(mayMakeDatabases ? [`GRANT pg_checkpoint TO ${roleName}`] : []),
  `ALTER ROLE ${superuserName} NOLOGIN`,
  // Makes the WAL smaller for little CPU time. A build without lz4 reports an error and continues.
  `ALTER SYSTEM SET wal_compression = 'lz4'`,
  // If the database exists, this reports an error and continues.
  `CREATE DATABASE ${databaseName} OWNER ${roleName}`,
  `ALTER DATABASE ${databaseName} OWNER TO ${roleName}`,
]

/**
 * Transfers the objects of older versions, which worked as the superuser, to the role. Sequences of columns follow
 * their tables.
 */
const takeOverStatement = `DO $$
  DECLARE statement text;
  BEGIN
    FOR statement IN
      SELECT format('ALTER SCHEMA %I OWNER TO ${roleName}', nspname) FROM pg_namespace
      WHERE nspowner = 10 AND nspname !~ '^pg_' AND nspname <> 'information_schema'
      UNION ALL
      SELECT format('ALTER %s %s OWNER TO ${roleName}',
        CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
        c.oid::regclass)
      FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
      WHERE relowner = 10 AND relkind IN ('r', 'p', 'v', 'm', 'S') AND nspname !~ '^pg_' AND nspname <> 'information_schema'
        AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i') AND relkind = 'S')
      UNION ALL
      SELECT format('ALTER ROUTINE %s OWNER TO ${roleName}', p.oid::regprocedure)
      FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace
      WHERE proowner = 10 AND nspname !~ '^pg_' AND nspname <> 'information_schema'
    LOOP
      EXECUTE statement;
    END LOOP;
  END $$`

/** Error messages of the single-user mode that are expected. */
const expected = /database "tollgate" already exists|wal_compression/

function run(
  { cluster, binaries, account }: RoleOptions,
  database: string,
  statements: readonly string[],
): void {
  const [command = '', ...words] = [
    ...account.prefix,
    binaries.postgres,
    '--single',
    // -j: statements end at an empty line, so that they may have several lines.
    '-j',
    ...['-D', cluster, '-c', 'log_min_messages=error', '-c', 'log_min_error_statement=panic', database],
  ]
  const ran = spawnSync(command, words, {
    ...account.spawnAs,
    cwd: '/',
    env: excuseStalePid(cluster),
    input: statements.map(statement => `${statement};\n\n`).join(''),
    encoding: 'utf8',
  })
  const faults = (ran.stderr ?? '').split('\n').filter(line => / (ERROR|FATAL|PANIC): /.test(line))
  const fault = ran.error?.message ?? faults.find(line => !expected.test(line))
  if (fault === undefined && ran.status === 0) return
  throw new EmbeddedPostgresError(
    `The gateway's role in the embedded PostgreSQL could not be made (${fault ?? `exit code ${ran.status}`}).`,
    { cause: ran.error },
  )
}

function writeOwned(file: string, content: string, { owner }: Account): void {
  writeFileSync(file, content, { mode: 0o600 })
  if (owner) chownSync(file, owner.uid, owner.gid)
}
