/**
 * The embedded PostgreSQL: one call starts it in the data folder, or attaches to it if a serving process already runs
 * it. Knows nothing about tables.
 */

import { accessSync, constants, existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { textAt } from '#domain/json.ts'
import { chooseAccount } from '#storage/embedded/account.ts'
import { type Address, chooseAddress } from '#storage/embedded/address.ts'
import { findBinaries } from '#storage/embedded/binaries.ts'
import { ensureCluster } from '#storage/embedded/cluster.ts'
import { accepts, isReady } from '#storage/embedded/connection.ts'
import { type Ownership, type Purpose, takeOwnership } from '#storage/embedded/lock.ts'
import { launchPostmaster, type Postmaster, stopOrphan } from '#storage/embedded/postmaster.ts'
import { EmbeddedPostgresError, pollMs } from '#storage/embedded/processes.ts'
import { ensureRole, readOrMakePassword } from '#storage/embedded/role.ts'
import { serverSettings } from '#storage/embedded/settings.ts'
import { makeFolders } from '#storage/folders.ts'

export { EmbeddedPostgresError }

export interface EmbeddedPostgres {
  /** The connection string for libpq and `pg`. */
  readonly url: string
  readonly directory: string
  /** False if attached to a server that another process owns. */
  readonly started: boolean
  stop(): Promise<void>
}

export interface EmbeddedPostgresOptions {
  /** The data folder; the database is in its subfolder `postgres`. */
  readonly directory: string
  /** 'serve' owns the folder until it ends; 'command' uses a running database or starts one for itself. */
  readonly purpose: Purpose
  readonly onProgress?: (line: string) => void
  readonly onWarning?: (line: string) => void
  /** PostgreSQL settings that override ours. */
  readonly settings?: Readonly<Record<string, string>>
  /** Allows CREATE DATABASE, for tests and benchmarks. */
  readonly mayMakeDatabases?: boolean
  /** Called when the server ends unexpectedly. */
  readonly onUnexpectedExit?: (error: EmbeddedPostgresError) => void
}

/**
 * 10 min: replaying 2 GB of WAL after a crash takes minutes on a slow disk, and interrupting it gains nothing.
 */
const startTimeoutMs = 600_000

/** 10 s: processes of a killed server may need this long to exit. */
const survivorsTimeoutMs = 10_000

/** 2 s: twenty times a warm start. After that, report what the start is waiting for. */
const patienceMs = 2_000

export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { purpose, onProgress = () => {} } = options
  const directory = openDirectory(options.directory)
  const claim = await takeOwnership({ directory, purpose, onProgress, accepts })
  if (claim.kind === 'attached') return { url: claim.url, directory, started: false, stop: async () => {} }
  try {
    const { postmaster, address } = await start({ ...options, directory, onProgress })
    claim.publish(address.url)
    return { url: address.url, directory, started: true, stop: makeStop(postmaster, claim, options) }
  } catch (error) {
    claim.release()
    throw error
  }
}

function makeStop(
  postmaster: Postmaster,
  claim: Ownership,
  options: EmbeddedPostgresOptions,
): () => Promise<void> {
  let stopped: Promise<void> | undefined
  void postmaster.exited.then(exit => {
    if (stopped !== undefined) return
    options.onUnexpectedExit?.(
      new EmbeddedPostgresError(
        `The embedded PostgreSQL ended unexpectedly (${exit}). See postgres.log in the data folder.`,
      ),
    )
  })
  const stop = async () => {
    await postmaster.stop()
    claim.release()
  }
  return () => {
    stopped ??= stop()
    return stopped
  }
}

function openDirectory(wanted: string): string {
  try {
    // As root, the database runs as `nobody`, which must traverse this folder but need not list it.
    const mode = process.getuid?.() === 0 ? 0o711 : 0o700
    makeFolders(wanted, mode)
    const directory = realpathSync(wanted)
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
    return directory
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The data folder ${wanted} cannot be used (${textAt(cause, 'code')}). Make it ` +
        'writable for this ' +
        'user, or choose another with TOLLGATE_DATA.',
      { cause },
    )
  }
}

type StartOptions = EmbeddedPostgresOptions & Required<Pick<EmbeddedPostgresOptions, 'onProgress'>>

async function start({ directory, settings, mayMakeDatabases, onProgress, onWarning }: StartOptions) {
  const binaries = findBinaries()
  const account = chooseAccount([join(binaries.folder, 'bin'), directory])
  const cluster = join(directory, 'postgres')
  await stopOrphan(cluster, onProgress)
  if (account.warning !== undefined) onWarning?.(account.warning)
  const password = readOrMakePassword(directory)
  const address = await chooseAddress({ directory, cluster, account, password })
  ensureCluster({ directory, cluster, binaries, account, onProgress })
  if (await accepts(address.url)) {
    throw new EmbeddedPostgresError(
      `A PostgreSQL that this process cannot see already answers on ${cluster}; perhaps another ` +
        'container uses the same ' +
        'folder. Stop it, or choose another folder with TOLLGATE_DATA.',
    )
  }
  ensureRole({ cluster, binaries, account, password, mayMakeDatabases })
  const logFile = join(directory, 'postgres.log')
  const launch = () =>
    launchPostmaster({
      cluster,
      logFile,
      binaries,
      account,
      settings: { ...serverSettings, ...address.settings, ...settings },
    })
  const postmaster = await launchUntilReady({ launch, logFile, address, onProgress })
  return { postmaster, address }
}

interface Starting {
  readonly launch: () => Postmaster
  readonly logFile: string
  readonly address: Address
  readonly onProgress: (line: string) => void
}

async function launchUntilReady(starting: Starting): Promise<Postmaster> {
  const { launch, logFile } = starting
  const survivorsDeadline = performance.now() + survivorsTimeoutMs
  for (;;) {
    const logStart = existsSync(logFile) ? statSync(logFile).size : 0
    const postmaster = launch()
    if (await becomesReady(postmaster, starting)) return postmaster
    const logged = readFileSync(logFile).subarray(logStart).toString().trim()
    // After a kill -9 of the server its processes may survive for a moment, and a new server rightly refuses to start.
    const survivors = logged.includes('pre-existing shared memory block')
    if (!survivors || performance.now() >= survivorsDeadline) {
      throw new EmbeddedPostgresError(
        `The embedded PostgreSQL did not start (${postmaster.exit()}). The end of ${logFile}: ` +
          logged.split('\n').slice(-5).join(' | '),
      )
    }
    await delay(pollMs)
  }
}

/** Waits until the server is ready. Returns false if it ended instead. */
async function becomesReady(postmaster: Postmaster, { address, onProgress }: Starting): Promise<boolean> {
  const begun = performance.now()
  let announced = false
  try {
    while (postmaster.exit() === undefined) {
      if (postmaster.ready() && (await isReady(address))) return true
      const waitedMs = performance.now() - begun
      if (waitedMs > patienceMs && !announced)
        onProgress('The database is recovering, this can take a while …')
      announced ||= waitedMs > patienceMs
      if (waitedMs > startTimeoutMs) {
        throw new EmbeddedPostgresError(
          `The embedded PostgreSQL was not ready within ${startTimeoutMs / 60_000} minutes. See postgres.log in the data folder.`,
        )
      }
      await delay(pollMs)
    }
    return false
  } catch (error) {
    await postmaster.stop()
    throw error
  }
}
