/** A core dump would write keys and card numbers in clear to the disk: none is made of this process, whatever happens to it. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

/** Node cannot lower its own limit, so `prlimit` does; where that is missing, what a dump holds is emptied instead. */
export function forbidCoreDumps(): void {
  if (process.platform !== 'linux') return
  try {
    // Inherited by the database that we start.
    writeFileSync('/proc/self/coredump_filter', '0')
  } catch {
    // A kernel without core dumps, or a /proc that may not be written to.
  }
  spawnSync('prlimit', [`--pid=${process.pid}`, '--core=0:0'], { stdio: 'ignore' })
}
