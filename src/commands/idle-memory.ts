/**
 * Starting leaves behind more memory than running needs: sources, compiled schemas. So does a burst of requests. Node
 * gives it back only when it has to, which on a large machine is never; so a collection is requested after the start,
 * and whenever a busy period has ended.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** 4 s: by then the schemas of frequent requests have been compiled in the background (http/body/validation.ts). */
const afterStartMs = 4_000

/** 5 s with less than a tenth of one core: no caller would notice the 50 ms of a garbage collection. */
const lookMs = 5_000
const idleShareMax = 0.1

/** 12 MB more than after the last collection: less is not worth it. */
const grownBytes = 12 * 2 ** 20

type GarbageCollector = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

export function releaseMemoryWhenIdle(): void {
  let held = 0
  const release = (): void => {
    // Node exposes the garbage collector only with a flag; set here, it is visible to this file alone.
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as GarbageCollector
    setFlagsFromString('--no-expose-gc')
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    held = getHeapStatistics().total_heap_size
  }
  setTimeout(release, afterStartMs).unref()
  let before = process.cpuUsage()
  setInterval(() => {
    const { user, system } = process.cpuUsage(before)
    before = process.cpuUsage()
    const isIdle = (user + system) / 1000 < lookMs * idleShareMax
    if (isIdle && held > 0 && getHeapStatistics().total_heap_size > held + grownBytes) release()
  }, lookMs).unref()
}
