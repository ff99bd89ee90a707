/** The process: runs the command line and ends with its exit code. Only the launcher imports it. */
import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'

const words = process.argv.slice(2)
const isServer = words.length === 0 || words[0] === 'serve'

// The reader of our output may end first: `| head`, a closed terminal, a killed npm. That must not keep us from stopping
// in order, nor a full disk a server from taking payments. What a command prints may be a secret that is shown once.
let unwritten: Error | undefined
type Terminal = { readonly _handle?: { setBlocking?(isBlocking: boolean): unknown } }
for (const stream of [process.stdout, process.stderr]) {
  // Node writes to a terminal synchronously: one that was stopped (Ctrl-S, a connection that hangs) would freeze the server.
  if (isServer && stream.isTTY) (stream as Terminal)._handle?.setBlocking?.(false)
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (!isServer && error.code !== 'EPIPE' && error.code !== 'EIO') unwritten ??= error
  })
}

// Saves a third of a second at each start but the first. Beside the code and not in a shared folder, because cached
// code is executed; without write access only that time is lost. Node keeps all of it in memory until the process ends
// (8 MB, measured), so a server does without.
if (!isServer) {
  enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/tollgate', import.meta.url)))
}

// Imported only now, so that the cache is used for it and its imports.
const { run } = await import('#commands/run.ts')
const code = await run(words)
// A server has printed little, and must stop in time also when nobody reads its log any more.
if (!isServer) {
  const { flushOutput } = await import('#commands/terminal.ts')
  await flushOutput()
  if (unwritten) console.error(`tollgate: not everything could be printed: ${unwritten.message}`)
}
process.exit(unwritten ? code || 1 : code)
