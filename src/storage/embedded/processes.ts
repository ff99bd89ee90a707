/**
 * Checks whether another process on this machine is still alive, and whether it is the database of a folder. A process
 * id alone proves nothing, because ids are reused.
 */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { textAt } from '#domain/json.ts'

/**
 * A name that distinguishes a process from all others with the same process id; undefined if the process has ended. On
 * Linux it includes the boot id, because after a reboot a process with the same id may start at the same tick.
 */
export function identifyProcess(pid: number): string | undefined {
  if (process.platform === 'linux') return identifyOnLinux(pid)
  if (process.platform === 'win32') return isSignalable(pid) ? 'alive' : undefined
  return askPs(pid, 'lstart=')
}

function identifyOnLinux(pid: number): string | undefined {
  const stat = readIfPresent(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  // The second field is the program's name in parentheses, which may contain spaces, so fields are counted from its
  // end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state] = fields
  // A zombie has ended; its parent has not reaped it yet.
  if (state === 'Z' || state === 'X') return undefined
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`
}

/** Only the postmaster keeps the command line with which we started it; its children rename themselves. */
export function isPostmasterOf(pid: number, cluster: string): boolean {
  if (process.platform === 'linux') {
    const words = readIfPresent(`/proc/${pid}/cmdline`)?.split('\0') ?? []
    return (
      identifyProcess(pid) !== undefined && words.some((word, i) => word === '-D' && words[i + 1] === cluster)
    )
  }
  if (process.platform === 'win32') return isSignalable(pid)
  return askPs(pid, 'args=')?.includes(`-D ${cluster}`) ?? false
}

/** Polls the condition every few milliseconds; returns false on timeout. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  while (!(await condition())) {
    if (performance.now() >= deadline) return false
    await delay(pollMs)
  }
  return true
}

/**
 * The environment of every program we start: PGDATA and similar variables cannot affect it, times have the same format
 * everywhere, and none of our secrets is in its /proc entry.
 */
export const plainEnvironment: NodeJS.ProcessEnv =
  process.platform === 'win32'
    ? { SystemRoot: 'C:\\Windows', TZ: 'UTC' }
    : { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' }

/** 10 ms: a tenth of a warm start, so that the wait is not noticeable. */
export const pollMs = 10

function askPs(pid: number, column: string): string | undefined {
  const { status, stdout } = spawnSync('ps', ['-ww', '-o', column, '-p', String(pid)], {
    encoding: 'utf8',
    env: plainEnvironment,
  })
  return status === 0 && stdout.trim() !== '' ? stdout.trim() : undefined
}

function isSignalable(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return textAt(error, 'code') === 'EPERM'
  }
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = textAt(error, 'code')
    // ESRCH: the process ended between opening and reading its file.
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    throw error
  }
}

/**
 * The only error of this folder that users see. Its message says what is wrong and what to do, so no stack is shown.
 */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
}

/** A file of the data folder could not be written. */
export function asWriteFault(directory: string, cause: unknown): EmbeddedPostgresError {
  const code = textAt(cause, 'code')
  const advice =
    code === 'ENOSPC' || code === 'EDQUOT' ? 'Make room on its disk' : 'Make it writable for this user'
  return new EmbeddedPostgresError(
    `The data folder ${directory} cannot be written to (${code}). ${advice}, or choose another with TOLLGATE_DATA.`,
    { cause },
  )
}
