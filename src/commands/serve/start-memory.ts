/**
 * Starting leaves behind more memory than running needs: sources, compiled schemas. Node gives it back only when it has to,
 * which on a large machine is never; so a collection is requested once, in the first idle second after the start.
 *
 * Later ones are left to Node, whose own collections for idle processes are switched off (docs/operating.md, flags of Node):
 * a collection after a busy period cost more than it saved, because compiled code went too, and the payments that followed
 * took a quarter more processor time. For the same reason a process that is busy from its start on does without.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const lookMs = 1_000

/** 4 s after the port was opened: by then the schemas of frequent requests are being compiled (http/body/validation.ts). */
const afterStartMs = 4_000

/** 30 s: by then a process that is still busy has compiled its hot paths. */
const startMs = 30_000

/** A tenth of one core: with less, no caller would notice the 50 ms of a collection. */
const idleShareMax = 0.1

type GarbageCollector = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/**
 * To be called when the port is open. Counted from then on and not from the start of the process: a first start, which
 * makes the database, takes longer, and the schemas would be compiled after the collection.
 */
export function releaseStartMemory(collect = collectGarbage): void {
  const begunMs = performance.now()
  let before = process.cpuUsage()
  const looking = setInterval(() => {
    const { user, system } = process.cpuUsage(before)
    before = process.cpuUsage()
    const servingMs = performance.now() - begunMs
    if (servingMs >= startMs) return clearInterval(looking)
    if (!isIdleAfterStart({ servingMs, usedMs: (user + system) / 1000 })) return
    clearInterval(looking)
    collect()
  }, lookMs).unref()
}

function collectGarbage(): void {
  // Node exposes the garbage collector only with a flag; set here, it is visible to this file alone.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as GarbageCollector
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

/** `usedMs`: the processor time since the last look. */
export const isIdleAfterStart = ({ servingMs, usedMs }: { servingMs: number; usedMs: number }): boolean =>
  servingMs >= afterStartMs && servingMs < startMs && usedMs < lookMs * idleShareMax
