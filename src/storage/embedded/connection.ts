/** The launcher's checks that the server is ready and accepts our login. */

import pg from 'pg'
import { textAt } from '#domain/json.ts'
import type { Address } from '#storage/embedded/address.ts'

/**
 * 5 s: a server on this machine answers in milliseconds or is not there. Three tries: on a machine that is busy with
 * other work, for example while it boots, this process may stand still for longer and count that as a timeout.
 */
const connectTriesMs = [5_000, 5_000, 5_000] as const

/** pg's message for a connection timeout; the error has no code. */
const silence = 'timeout expired'

/** Errors that a client gets while the server is down, starting, recovering or stopping. */
const notYetCodes = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P03'])

/** No such database, no such role, wrong password, not admitted: a server with these answers is running. */
const answeringCodes = new Set(['3D000', '28000', '28P01'])

const codeOf = (error: unknown): string | undefined => textAt(error, 'code')

export async function accepts(url: string, triesMs: readonly number[] = connectTriesMs): Promise<boolean> {
  try {
    await ask(url, triesMs)
    return true
  } catch (error) {
    if (answeringCodes.has(codeOf(error) ?? '')) return true
    if (isNotYet(error)) return false
    throw error
  }
}

/** False while the server is not ready. */
export async function isReady({ url }: Address): Promise<boolean> {
  try {
    await ask(url, connectTriesMs)
    return true
  } catch (error) {
    if (isNotYet(error)) return false
    throw error
  }
}

// A connection that ends without an error message has no code; this is pg's text for it.
const isNotYet = (error: unknown): boolean =>
  notYetCodes.has(codeOf(error) ?? '') || textAt(error, 'message') === 'Connection terminated unexpectedly'

async function ask(url: string, [timeoutMs = 0, ...others]: readonly number[]): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: timeoutMs })
  // A connection that breaks also emits its error, which would crash the process; the awaited call throws it anyway.
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    if (others.length === 0 || textAt(error, 'message') !== silence) throw error
    return ask(url, others)
  }
  await client.end()
}
