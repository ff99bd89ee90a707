/**
 * Starting leaves behind more memory than running needs: sources, stripped types, compiled schemas. Node gives it back
 * only when it has to, which on a large machine is never; so it is asked once, when the start is over.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** 3 s: by then every schema has been compiled in the background. */
const afterMs = 3_000

type GarbageCollector = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

export function releaseStartMemory(): void {
  setTimeout(() => {
    // The collector is not offered to programs unless asked for; asked for here, it is seen by nobody else.
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as GarbageCollector
    setFlagsFromString('--no-expose-gc')
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }, afterMs).unref()
}
