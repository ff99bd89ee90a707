/**
 * Runs and stops the PostgreSQL server of a cluster, even one that an earlier process left behind. The server stops
 * with us even if we are killed, and does not receive the terminal's Ctrl-C.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { textAt } from '#domain/json.ts'
import type { Account } from '#storage/embedded/account.ts'
import type { Binaries } from '#storage/embedded/binaries.ts'
import {
  EmbeddedPostgresError,
  isPostmasterOf,
  plainEnvironment,
  waitUntil,
} from '#storage/embedded/processes.ts'

export interface Postmaster {
  /**
   * Whether the server reports that it accepts connections. Trying to connect would fill the log during recovery.
   */
  readonly ready: () => boolean
  /** How the server ended; undefined while it runs. */
  readonly exit: () => string | undefined
  readonly exited: Promise<string>
  stop(): Promise<void>
}

interface Launch {
  readonly cluster: string
  readonly logFile: string
  readonly binaries: Binaries
  readonly account: Account
  readonly settings: Readonly<Record<string, string>>
}

/**
 * 10 s: enough to write 128 MB of buffers to a slow disk, and it leaves the gateway 5 of its 15 s to drain.
 */
const fastShutdownMs = 10_000

/**
 * 10 s: in an immediate shutdown, PostgreSQL itself kills processes that do not end within 5 s.
 */
const immediateShutdownMs = 10_000

/** 10 MB: weeks of start and stop lines. */
const logBytesMax = 10 * 1024 * 1024

/**
 * The watcher reads a pipe whose other end only we hold. When we end, in any way, the pipe closes and the watcher
 * requests a fast shutdown. The shell itself waits for the server and passes on its exit code. Core dumps are disabled,
 * because they would contain buffered data.
 */
const supervisorScript = `
ulimit -c 0
"$@" 3<&- </dev/null &
server=$!
{ read -r word; kill -INT "$server"; } <&3 3<&- >/dev/null 2>&1 &
watcher=$!
exec 3<&-
wait "$server"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"
`

export function launchPostmaster({ cluster, logFile, binaries, account, settings }: Launch): Postmaster {
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = [binaries.postgres, '-D', cluster, ...options]
  const supervised =
    process.platform === 'win32' ? server : ['/bin/sh', '-c', supervisorScript, 'tollgate', ...server]
  const [command = '', ...words] = [...account.prefix, ...supervised]
  const log = openLog(logFile)
  const child = spawn(command, words, {
    ...account.spawnAs,
    cwd: '/',
    // A session of its own, because the terminal sends Ctrl-C to its foreground group, and we need the database while
    // we drain.
    detached: true,
    stdio: ['ignore', log, log, 'pipe'],
    env: excuseStalePid(cluster),
  })
  closeSync(log)
  const exit = watchExit(child)
  const lifeline = child.stdio[3]
  // Neither may keep our process alive, because its exit stops the database.
  child.unref()
  if (lifeline && 'unref' in lifeline && typeof lifeline.unref === 'function') lifeline.unref()
  const askToStop = () => {
    if (process.platform === 'win32') spawnSync(binaries.pgCtl, ['stop', '-D', cluster, '-m', 'fast', '-W'])
    else lifeline?.destroy()
  }
  return {
    ...exit,
    ready: () => readPostmasterFile(cluster)[7]?.trim() === 'ready',
    stop: () => stopLaunched({ cluster, askToStop, ...exit }),
  }
}

function watchExit(child: ChildProcess): Pick<Postmaster, 'exit' | 'exited'> {
  let result: string | undefined
  const { promise, resolve } = Promise.withResolvers<string>()
  const settle = (text: string) => {
    result ??= text
    resolve(result)
  }
  child.once('error', error => settle(error.message))
  child.once('exit', (code, signal) => settle(signal ?? `exit code ${code}`))
  return { exit: () => result, exited: promise }
}

interface Stopping extends Pick<Postmaster, 'exit'> {
  readonly cluster: string
  readonly askToStop: () => void
}

async function stopLaunched({ cluster, askToStop, exit }: Stopping): Promise<void> {
  if (exit() !== undefined) return
  const pid = readPostmasterPid(cluster)
  askToStop()
  if (await waitUntil(() => exit() !== undefined, fastShutdownMs)) return
  // Needed if a backend has just crashed and PostgreSQL is restarting: it may lose the request (seen).
  if (pid !== undefined && isPostmasterOf(pid, cluster)) process.kill(pid, 'SIGQUIT')
  if (await waitUntil(() => exit() !== undefined, immediateShutdownMs)) return
  throw new EmbeddedPostgresError(`The embedded PostgreSQL (process ${pid}) does not stop. End it by hand.`)
}

/** Stops an orphaned server of this cluster, or waits for one that is stopping already. */
export async function stopOrphan(cluster: string, onProgress: (line: string) => void): Promise<void> {
  const pid = readPostmasterPid(cluster)
  if (pid === undefined || !isPostmasterOf(pid, cluster)) return
  onProgress(`Stopping the database that an earlier process left behind (process ${pid}) …`)
  for (const [signal, timeoutMs] of [
    ['SIGINT', fastShutdownMs],
    ['SIGQUIT', immediateShutdownMs],
  ] as const) {
    if (isPostmasterOf(pid, cluster)) process.kill(pid, signal)
    if (await waitUntil(() => !isPostmasterOf(pid, cluster), timeoutMs)) return
  }
  throw new EmbeddedPostgresError(
    `A PostgreSQL left behind by an earlier process (${pid}) does not stop. End it by hand and start again.`,
  )
}

/**
 * The lines of postmaster.pid: process, folder, start, port, socket folder, address, shared memory, status. Empty if
 * there is no such file.
 */
function readPostmasterFile(cluster: string): string[] {
  try {
    return readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
  } catch (error) {
    if (textAt(error, 'code') === 'ENOENT') return []
    throw error
  }
}

function readPostmasterPid(cluster: string): number | undefined {
  const pid = Number(readPostmasterFile(cluster)[0])
  return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
}

/**
 * A crashed server leaves its process id in postmaster.pid. If another program has that id now, PostgreSQL would refuse
 * to start. Deleting the file would also disable the check for surviving processes of the old server. This variable
 * makes PostgreSQL ignore exactly that id and keep the check.
 */
export function excuseStalePid(cluster: string): NodeJS.ProcessEnv {
  const pid = readPostmasterPid(cluster)
  return pid === undefined ? plainEnvironment : { ...plainEnvironment, PG_GRANDPARENT_PID: String(pid) }
}

function openLog(logFile: string): number {
  if (existsSync(logFile) && statSync(logFile).size > logBytesMax) renameSync(logFile, `${logFile}.1`)
  return openSync(logFile, 'a', 0o600)
}
