/** The process: runs the command line and ends with its exit code. Only the launcher imports it. */
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

// Saves a third of a second at each start but the first. Beside the code and not in a shared folder, because cached
// code is executed; without write access only that time is lost. Node keeps all of it in memory until the process ends
// (8 MB, measured), so a server does without.
if (words.length > 0 && words[0] !== 'serve') {
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/tollgate', import.meta.url)))
}

// Imported only now, so that the cache is used for it and its imports.
const { run } = await import('#commands/run.ts')
const code = await run(words)
// A server has printed little, and must stop in time also when nobody reads its log any more.
if (words.length > 0 && words[0] !== 'serve') {
  const { flushOutput } = await import('#commands/terminal.ts')
  await flushOutput()
}
process.exit(code)
