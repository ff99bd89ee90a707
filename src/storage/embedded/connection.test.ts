/** The launcher's checks against a server that does not answer at once. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { accepts } from '#storage/embedded/connection.ts'

/** PostgreSQL's message "no such database", by which a login ends. */
const noDatabase = Buffer.from('E\0\0\0\x20SFATAL\0C3D000\0Mno database\0\0', 'latin1')

test('a server that is too busy for one connection is asked again, and one that stays silent is an error', async () => {
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    if (sockets.length === 2) socket.end(noDatabase)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = `postgresql://tollgate@127.0.0.1:${typeof address === 'object' ? address?.port : ''}/tollgate`
  expect(await accepts(url, [20, 10_000])).toBe(true)
  await expect(accepts(url, [20, 20])).rejects.toThrow('timeout expired')
  await expect.poll(() => sockets.length).toBe(4)
  for (const socket of sockets) socket.destroy()
  server.close()
})
