/** Folders, servers and processes for the tests of the embedded PostgreSQL; each test puts its own away. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { inject } from 'vitest'
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  openEmbeddedPostgres,
} from '#storage/embedded/index.ts'
import { copyDataFolder } from '#test/support/database/copy-folder.ts'

const cleanUps: (() => unknown)[] = []

export const afterwards = (cleanUp: () => unknown): void => void cleanUps.push(cleanUp)

/** In reverse order: a server before its folder. */
export async function cleanUpAll(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
}

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-embedded-'))
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o711)
  return folder
}

/** With a database that an earlier start has migrated: initdb takes ten times as long. */
export function makePreparedFolder(): string {
  const folder = makeFolder()
  copyDataFolder(inject('preparedFolder'), folder)
  return folder
}

export async function open(
  directory: string,
  options: Partial<EmbeddedPostgresOptions> = {},
): Promise<EmbeddedPostgres> {
  const database = await openEmbeddedPostgres({ directory, purpose: 'serve', ...options })
  afterwards(() => database.stop())
  return database
}

export async function query(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  // Some tests kill the server below us; the awaited calls report that.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

export interface Owner {
  readonly child: ChildProcess
  readonly pid: number
  /** The next JSON line that the process prints. */
  readonly listen: () => Promise<{ url: string; started: boolean; error?: string; interrupted?: boolean }>
  readonly finish: () => Promise<void>
}

export function startOwner(directory: string, purpose: string): Owner {
  const script = fileURLToPath(import.meta.resolve('#test/support/database/embedded-owner.ts'))
  const child = spawn(process.execPath, [script, directory, purpose], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const finish = async () => {
    child.stdin.end()
    await exited
  }
  afterwards(finish)
  const listen = async () => JSON.parse((await lines.next()).value ?? '{"error":"ended without a word"}')
  return { child, pid: child.pid ?? 0, listen, finish }
}

export const clusterOf = (directory: string): string => join(directory, 'postgres')

export const readPostmasterPid = (directory: string): number =>
  Number(readFileSync(join(clusterOf(directory), 'postmaster.pid'), 'utf8').split('\n')[0])

/** The process id of a process that has certainly ended. */
export const deadPid = (): number => spawnSync('true').pid
