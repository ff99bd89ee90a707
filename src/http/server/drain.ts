/** Closes the server once the requests in flight are answered, but not later than the deadline. */
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Timers } from '#http/server/timers.ts'

/** Must be created before the server listens, so that it sees every connection. */
export function createDrain(app: FastifyInstance, timers: Timers): (deadlineMs: number) => Promise<void> {
  const open = new Set<Socket>()
  const note = (socket: Socket): void => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  }
  // With TLS the first bytes belong to the handshake, so connections are noted after it.
  app.server.on('setSecureContext' in app.server ? 'secureConnection' : 'connection', note)

  return async deadlineMs => {
    const cancel = timers.after(deadlineMs, () => app.server.closeAllConnections())
    try {
      // Stops listening, closes idle connections and waits for the others, whose answers have `Connection: close`.
      const closed = app.close()
      // Node does not regard a connection that never sent a byte as idle, so it would delay the end until the deadline.
      for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
      await closed
    } finally {
      cancel()
    }
  }
}
