/** The launcher's checks that the server is ready and accepts our login. */

import pg from 'pg'
import { textAt } from '#domain/json.ts'
import type { Address } from '#storage/embedded/address.ts'

/** 5 s: a server on this machine answers in milliseconds or is not there. */
const connectTimeoutMs = 5_000

/** Errors that a client gets while the server is down, starting, recovering or stopping. */
const notYetCodes = new Set(['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', '57P01', '57P03'])

/** No such database, no such role, wrong password, not admitted: a server with these answers is running. */
const answeringCodes = new Set(['3D000', '28000', '28P01'])

const codeOf = (error: unknown): string | undefined => textAt(error, 'code')

export async function accepts(url: string): Promise<boolean> {
  try {
    await ask(url)
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
    await ask(url)
    return true
  } catch (error) {
    if (isNotYet(error)) return false
    throw error
  }
}

// A connection that ends without an error message has no code; this is pg's text for it.
const isNotYet = (error: unknown): boolean =>
  notYetCodes.has(codeOf(error) ?? '') || textAt(error, 'message') === 'Connection terminated unexpectedly'

async function ask(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: connectTimeoutMs })
  // A connection that breaks also emits its error, which would crash the process; the awaited call throws it anyway.
  client.on('error', () => {})
  await client.connect()
  await client.end()
}
