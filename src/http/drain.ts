/** Closes the server without cutting anybody off who is being served, but not later than the deadline. */
import type { FastifyInstance } from 'fastify'
import type { Timers } from '#http/timers.ts'

export async function drainServer(app: FastifyInstance, deadlineMs: number, timers: Timers): Promise<void> {
  const cancel = timers.after(deadlineMs, () => app.server.closeAllConnections())
  try {
    // Stops listening, closes idle connections and waits for the others; each of their answers says `close`.
    await app.close()
  } finally {
    cancel()
  }
}
