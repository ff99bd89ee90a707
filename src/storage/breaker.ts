/**
 * A circuit breaker for a database that does not answer. The first query that times out opens it; from then on every
 * query of the pools fails at once instead of waiting its own six seconds, until a probe on a fresh connection is
 * answered.
 */
import pg from 'pg'

/** The statement was not sent, because the database has not answered since an earlier statement timed out. */
export class DatabaseSilent extends Error {
  constructor() {
    super('the database does not answer')
  }
}

export interface Breaker {
  /** Makes the pool fail fast while the breaker is open, and lets its timeouts open it. */
  guard(pool: pg.Pool): void
  close(): void
}

/** 500 ms: a recovered database is noticed before clients retry. */
const probePauseMs = 500

/** 2 s: a probe runs `SELECT 1`; a server that needs longer is not back yet. */
const probeTimeoutMs = 2_000

/** The messages of pg for a statement and for a connection of its own, and that of a pool for a connection. */
const silences = /^(Query read timeout|timeout expired|Connection terminated due to connection timeout)$/

const isSilence = (error: unknown): boolean => error instanceof Error && silences.test(error.message)

export function createBreaker(url: string): Breaker {
  let silent = false
  let closed = false
  let timer: NodeJS.Timeout | undefined

  async function probe(): Promise<void> {
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: probeTimeoutMs,
      query_timeout: probeTimeoutMs,
    })
    // connect or query throws the error; without a listener the error event would also crash the process.
    client.on('error', () => {})
    try {
      await client.connect()
      await client.query('SELECT 1')
      silent = false
    } catch {
      schedule()
    } finally {
      void client.end().catch(() => {})
    }
  }

  function schedule(): void {
    if (closed) return
    timer = setTimeout(() => void probe(), probePauseMs).unref()
  }

  function trip(error: unknown): void {
    if (silent || closed || !isSilence(error)) return
    silent = true
    schedule()
  }

  return {
    guard(pool) {
      // `query` has many overloads; the arguments are passed on unchanged, and all our callers await a promise.
      const query = pool.query.bind(pool) as (...words: unknown[]) => Promise<unknown>
      const guarded = async (...words: unknown[]): Promise<unknown> => {
        if (silent) throw new DatabaseSilent()
        try {
          return await query(...words)
        } catch (error) {
          trip(error)
          throw error
        }
      }
      pool.query = guarded as typeof pool.query
    },
    close() {
      closed = true
      clearTimeout(timer)
    },
  }
}
