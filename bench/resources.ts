/**
 * Memory and processor time of processes, as the system counts them; undefined where a platform does not report a
 * value.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

export interface Memory {
  readonly residentMb: number
  /** The highest value ever. Only Linux records it. */
  readonly peakMb: number | undefined
}

const hasProc = existsSync('/proc/self/status')

export function readMemory(pid: number): Memory {
  if (hasProc) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const megabytes = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) / 1024
    return { residentMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM') }
  }
  const { stdout } = spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })
  return { residentMb: Number(stdout) / 1024, peakMb: undefined }
}

/** Cores busy on average while it was measured. */
export interface Cores {
  /** Undefined where the system keeps no /proc. */
  readonly gateway: number | undefined
  readonly postgres: number | undefined
  /** Children of the bench that have ended, such as pgbench. */
  readonly ended: number | undefined
  readonly machine: number
  /** Time that the host of a virtual machine gave to others although this machine needed it. */
  readonly stolen: number | undefined
  readonly elapsedMs: number
}

export interface Watched {
  readonly gatewayPid: number
  /** The folder of the database, where its postmaster.pid lies. */
  readonly cluster: string
}

/** 50 ms: a process that has just ended is counted by its parent only when that has noticed. */
const noticeMs = 50

export function meterCores({ gatewayPid, cluster }: Watched): () => Promise<Cores> {
  const postmaster = Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0])
  const lookAround = () => ({
    // With its workers, if it has any.
    gateway: readFamilyMs(gatewayPid),
    postgres: readFamilyMs(postmaster),
    ended: readTimes(process.pid)?.children,
  })
  const lookUp = () => ({
    atMs: performance.now(),
    machine: cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0),
    stolen: readStolenMs(),
  })
  const before = { ...lookUp(), ...lookAround() }
  return async () => {
    const now = lookUp()
    await delay(noticeMs)
    const after = { ...now, ...lookAround() }
    const elapsedMs = after.atMs - before.atMs
    const cores = (to: number | undefined, from: number | undefined) =>
      to === undefined || from === undefined ? undefined : (to - from) / elapsedMs
    return {
      gateway: cores(after.gateway, before.gateway),
      postgres: cores(after.postgres, before.postgres),
      ended: cores(after.ended, before.ended),
      machine: (after.machine - before.machine) / elapsedMs,
      stolen: cores(after.stolen, before.stolen),
      elapsedMs,
    }
  }
}

/** 10 ms: the unit of /proc/<pid>/stat on every Linux that Node runs on. */
const tickMs = 10

/** The eighth figure of the first line, summed over all cores. */
function readStolenMs(): number | undefined {
  if (!hasProc) return undefined
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
  const stolen = Number(line.split(/ +/)[8])
  return Number.isNaN(stolen) ? undefined : stolen * tickMs
}

interface Times {
  readonly parent: number
  readonly own: number
  /** Time of ended children. */
  readonly children: number
}

/** Undefined when there is no such process, or no /proc. */
function readTimes(pid: number): Times | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return undefined
    throw error
  }
  // The name of the program stands in brackets and may hold anything; the numbers come after it.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const at = (index: number): number => fields[index] ?? Number.NaN
  return { parent: at(1), own: (at(11) + at(12)) * tickMs, children: (at(13) + at(14)) * tickMs }
}

/** A process and its children, those that have ended included. */
function readFamilyMs(parent: number): number | undefined {
  const own = readTimes(parent)
  if (!own) return undefined
  const alive = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(name => readTimes(Number(name)))
    .filter(times => times?.parent === parent)
  return own.own + own.children + alive.reduce((sum, times) => sum + (times?.own ?? 0), 0)
}
