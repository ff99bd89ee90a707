/** The process: runs the command line and ends with its exit code. Nobody imports it but the launcher. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

// The reader of our output may end first: `| head`, a closed terminal, a killed npm. That must not keep us from stopping
// in order.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
  })
}

const words = process.argv.slice(2)

// Saves a third of a second at each start but the first. Beside the code and not in a folder open to all, because
// what is read from there is run; where we may not write, nothing is lost but that time. Node keeps all of it in memory
// until the process ends (8 MB, measured), so a server does without.
if (words.length > 0 && words[0] !== 'serve') {
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/tollgate', import.meta.url)))
}

// Only now, so that the cache serves it and all that it imports.
const { run } = await import('#commands/run.ts')
process.exit(await run(words))
