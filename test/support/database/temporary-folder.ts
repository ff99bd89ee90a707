/**
 * Where a run of the tests keeps its databases. Each copy of the test database is six hundred files that live for seconds,
 * and ext4 searches a long time for the place of a new file after many were deleted: three quarters of what making a copy
 * cost (measured). In memory it costs nothing. Where memory is short, as in many containers, the usual folder has to do.
 */
import { mkdirSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

const memory = '/dev/shm'
const prefix = 'tollgate-tests-'

/** 4 GiB: ten times what the tests have needed at once. */
const spareBytes = 4 * 1024 ** 3

function hasSpareMemory(): boolean {
  if (process.platform !== 'linux') return false
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize >= spareBytes && freemem() >= spareBytes
  } catch {
    return false
  }
}

/** Folders of this account's runs whose process has ended; those of other accounts cannot be removed. */
function findLeftBehind(): readonly string[] {
  return readdirSync(memory)
    .filter(name => name.startsWith(prefix) && !isRunning(Number(name.slice(prefix.length))))
    .map(name => join(memory, name))
    .filter(path => statSync(path, { throwIfNoEntry: false })?.uid === process.getuid?.())
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM: the process exists but belongs to another account.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The folder for everything that this process and those it starts put into a temporary folder; gone when it ends. */
export function makeTemporaryFolder(): string {
  if (!hasSpareMemory()) return tmpdir()
  // Files of a killed run would stay in memory.
  for (const path of findLeftBehind()) rmSync(path, { recursive: true, force: true })
  const folder = join(memory, `${prefix}${process.pid}`)
  // Under root the database runs as the user nobody, who must be able to enter the folder.
  mkdirSync(folder, { recursive: true, mode: 0o711 })
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  return folder
}
