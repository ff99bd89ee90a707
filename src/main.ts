/** The process: runs the command line and ends with its exit code. Only the launcher imports it. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const words = process.argv.slice(2)
const isServer = words.length === 0 || words[0] === 'serve'

// Errors of our output streams must not crash the process. Their reader may end first (`| head`, a closed terminal, a
// killed npm), and a server must still stop in order; nor may a full disk stop a server from taking payments. A
// command, however, must report that its output was lost: it may have been a secret that is shown once.
let unwritten: Error | undefined
type Terminal = { readonly _handle?: { setBlocking?(isBlocking: boolean): unknown } }
for (const stream of [process.stdout, process.stderr]) {
  // Node writes to a terminal synchronously: a stopped one (Ctrl-S, a hanging connection) would freeze the server.
  if (isServer && stream.isTTY) (stream as Terminal)._handle?.setBlocking?.(false)
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (!isServer && error.code !== 'EPIPE' && error.code !== 'EIO') unwritten ??= error
  })
}

// The compile cache saves a third of a second at each start but the first. It lies beside the code, not in a shared
// folder, because cached code is executed. Without write access only the time is lost. Node keeps the cache in memory
// until the process ends (8 MB, measured), so a server does without.
if (!isServer) {
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/tollgate', import.meta.url)))
}

// Imported after the cache is enabled, so that it covers this import and all it imports.
const { run } = await import('#commands/run.ts')
const code = await run(words)
// A server does not flush: it must stop in time even if its log is no longer read.
if (!isServer) {
  const { flushOutput } = await import('#commands/terminal.ts')
  await flushOutput()
  if (unwritten) console.error(`tollgate: not everything could be printed: ${unwritten.message}`)
}
process.exit(unwritten ? code || 1 : code)
