/** The process: runs the command line and ends with its exit code. Nobody imports it but the launcher. */
import { run } from '#commands/program.ts'

// Whoever read our output may go first: `| head`, a closed terminal, a killed npm. That must not keep us from stopping
// in order.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
  })
}

process.exit(await run(process.argv.slice(2)))
