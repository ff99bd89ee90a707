/** Closes the server after the requests under way are answered, but not later than the deadline. */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Timers } from '#http/server/timers.ts'

/** To be made before the server listens: it has to see every connection come. */
export function createDrain(app: FastifyInstance, timers: Timers): (deadlineMs: number) => Promise<void> {
  const open = new Set<Socket>()
  const note = (socket: Socket): void => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  }
  // With TLS the first bytes belong to the handshake, so there the connection counts from its end.
  app.server.on('setSecureContext' in app.server ? 'secureConnection' : 'connection', note)

  return async deadlineMs => {
    const cancel = timers.after(deadlineMs, () => app.server.closeAllConnections())
    try {
      // Stops listening, closes idle connections and waits for the others; each of their answers says `close`.
      const closed = app.close()
      // One that never sent a byte is not idle in Node's eyes: it would hold us up to the deadline.
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
      await closed
    } finally {
      cancel()
    }
  }
}
