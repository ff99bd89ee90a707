/**
 * Creates the database cluster in `<data>/postgres` by initdb, atomically, owned by the account that runs PostgreSQL.
 * Starts no server.
 */

import { spawnSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { textAt } from '#domain/json.ts'
import { type Account, handOver } from '#storage/embedded/account.ts'
import type { Binaries } from '#storage/embedded/binaries.ts'
import { EmbeddedPostgresError, plainEnvironment } from '#storage/embedded/processes.ts'
import { superuserName } from '#storage/embedded/role.ts'

interface Ingredients {
  readonly directory: string
  readonly cluster: string
  readonly binaries: Binaries
  readonly account: Account
  readonly onProgress: (line: string) => void
}

export function ensureCluster(ingredients: Ingredients): void {
  const { directory, cluster, binaries, account } = ingredients
  removeDrafts(directory, cluster)
  if (!existsSync(cluster)) createCluster(ingredients)
  handOver(cluster, account)
  const major = readFileSync(join(cluster, 'PG_VERSION'), 'utf8').trim()
  if (major !== binaries.major) {
    throw new EmbeddedPostgresError(
      `${cluster} was made by PostgreSQL ${major}, but this version of Tollgate brings PostgreSQL ` +
        `${binaries.major}. ` +
        'Move the data with pg_dump and pg_restore, or choose another folder with TOLLGATE_DATA.',
    )
  }
}

const draftPrefix = (cluster: string): string => `${cluster}.new-`

/** Drafts of starts that were killed, also of earlier releases, which named them all alike. */
function removeDrafts(directory: string, cluster: string): void {
  const start = basename(cluster)
  for (const name of readdirSync(directory)) {
    if (name !== `${start}.new` && !name.startsWith(basename(draftPrefix(cluster)))) continue
    try {
      rmSync(join(directory, name), { recursive: true, force: true })
    } catch {
      // Its initdb still writes there: the next start removes it.
    }
  }
}

/**
 * initdb works under another name, and the finished cluster is renamed, so that a crash leaves no incomplete cluster.
 */
function createCluster({ directory, cluster, binaries, account, onProgress }: Ingredients): void {
  onProgress(`Creating the database in ${cluster} …`)
  // A name of its own: an initdb whose start was killed still writes to its draft, and deletes it when it fails.
  const draft = mkdtempSync(draftPrefix(cluster))
  handOver(draft, account)
  const [command = '', ...words] = [
    ...account.prefix,
    binaries.initdb,
    `--pgdata=${draft}`,
    `--username=${superuserName}`,
    // Refuse all logins until role.ts has written its rules.
    '--auth=reject',
    '--encoding=UTF8',
    // Bytewise order and UTF-8 character classes from PostgreSQL itself, so that no index depends on the system's C
    // library.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--data-checksums',
    // 4 MB instead of 16: all commits wait while a new WAL segment is filled with zeros.
    '--wal-segsize=4',
    '--no-instructions',
  ]
  const made = spawnSync(command, words, {
    ...account.spawnAs,
    cwd: '/',
    env: plainEnvironment,
    encoding: 'utf8',
  })
  if (made.error !== undefined || made.status !== 0) {
    rmSync(draft, { recursive: true, force: true })
    const full = describeFullDisk(directory, newDatabaseNeeds)
    throw new EmbeddedPostgresError(full ?? explainFailure(binaries, made), { cause: made.error })
  }
  renameSync(draft, cluster)
  syncFolder(directory)
}

/** 60 MB: what a new database takes, with something to spare. */
const newDatabaseNeeds = 60_000_000

/** The sentence for a disk with less room than the database needs; undefined if it has enough. */
export function describeFullDisk(directory: string, needed: number): string | undefined {
  const { bavail, bsize } = statfsSync(directory)
  const free = bavail * bsize
  if (free >= needed) return undefined
  const [has, needs] = [free, needed].map(bytes => Math.floor(bytes / 1_000_000))
  return (
    `The disk of ${directory} is full: it has ${has} MB free, and the database needs ${needs} MB. ` +
    'Make room, or choose another folder with TOLLGATE_DATA.'
  )
}

function explainFailure(
  binaries: Binaries,
  made: { error?: Error; status: number | null; stderr: string | null },
): string {
  const code = textAt(made.error, 'code')
  // The file exists, so ENOENT means that the dynamic loader it needs is missing.
  if (code === 'ENOENT' && existsSync(binaries.initdb)) {
    return (
      `${binaries.initdb} does not run here: it needs the GNU C library, which this system lacks ` +
      '(Alpine, for example). ' +
      'Set DATABASE_URL to a PostgreSQL of your own.'
    )
  }
  const output = (made.stderr ?? '').trim().split('\n').slice(-5).join(' | ')
  return `The database could not be created (initdb: ${code ?? `exit code ${made.status}`}). ${output}`.trim()
}

/** Makes the rename durable: it must not be lost while payments in the cluster are kept. */
function syncFolder(directory: string): void {
  if (process.platform === 'win32') return
  const folder = openSync(directory, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
