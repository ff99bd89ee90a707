/** Finds the port to suggest when the wanted one is taken. Only a suggestion: somebody may take it a moment later. */

import { once } from 'node:events'
import { createServer } from 'node:net'
import { textAt } from '#domain/json.ts'

/** 100: with that many servers in a row on one machine the operator chooses a port manually. */
const attemptsMax = 100

const portMax = 65_535

export async function findFreePort(host: string, from: number): Promise<number | undefined> {
  for (let port = from; port < from + attemptsMax && port <= portMax; port += 1) {
    if (await isFree(host, port)) return port
  }
  return undefined
}

async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen({ host, port })
    await once(server, 'listening')
  } catch (error) {
    const code = textAt(error, 'code')
    // EACCES: a privileged port, which cannot be used either.
    if (code === 'EADDRINUSE' || code === 'EACCES') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}
