/**
 * A process that opens the embedded database and keeps it until its input ends; for tests about two
 * processes. Arguments: folder, purpose. It prints one JSON line when ready or refused, and one more at each
 * SIGINT.
 */
import { openEmbeddedPostgres } from '#storage/embedded/index.ts'

const [directory = '', purpose] = process.argv.slice(2)

const say = (value: unknown) => process.stdout.write(`${JSON.stringify(value)}\n`)

process.on('SIGINT', () => say({ interrupted: true }))

try {
  const database = await openEmbeddedPostgres({
    directory,
    purpose: purpose === 'serve' ? 'serve' : 'command',
  })
  say({ url: database.url, started: database.started })
  process.stdin.resume()
  process.stdin.once('end', async () => {
    await database.stop()
    process.exit(0)
  })
} catch (error) {
  say({ error: (error as Error).message })
  process.exitCode = 1
}
