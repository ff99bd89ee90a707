/** Finds a free port of this machine, for servers that must know their port before they start. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * 20,000 to 32,000: below the ports that systems hand out by themselves, so that neither a server nor a connection of
 * another test takes it before it is used.
 */
const [first, beyond] = [20_000, 32_000]

export async function findFreePort(): Promise<number> {
  const port = randomInt(first, beyond)
  const probe = createServer().listen(port, '127.0.0.1')
  try {
    await once(probe, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    return findFreePort()
  }
  probe.close()
  await once(probe, 'close')
  return port
}
