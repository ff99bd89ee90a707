/** Size, connection and time limits of the server. */
import { readFileSync } from 'node:fs'

export interface HttpLimits {
  readonly bodyBytes: number
  readonly headerBytes: number
  readonly connections: number
  readonly headersTimeoutMs: number
  readonly requestTimeoutMs: number
  readonly keepAliveHintMs: number
  readonly keepAliveTimeoutMs: number
  readonly proxyKeepAliveTimeoutMs: number
  /** A connection on which nothing has moved for this long is closed, whatever it waits for. */
  readonly stalledMs: number
  readonly openPerAddress: number
  readonly idlePerAddress: number
  /** Requests on one connection that wait for their answers. */
  readonly pipelinedPerConnection: number
}

export const defaultLimits: HttpLimits = {
  /** The contract: 1 MiB. */
  bodyBytes: 1_048_576,
  /** 16 KiB: four times the longest credential, and the limit of common proxies. */
  headerBytes: 16_384,
  /** 10,000 open connections at about 10 kB each: a tenth of a gigabyte at worst. */
  connections: 10_000,
  /** 10 s for the headers: a client that needs longer holds the connection on purpose. */
  headersTimeoutMs: 10_000,
  /** 30 s for a whole request: 1 MiB over a slow line (35 kB/s) still arrives. */
  requestTimeoutMs: 30_000,
  /** 5 s, announced in `Keep-Alive`. Clients that read it close an idle connection long before we do. */
  keepAliveHintMs: 5_000,
  /** 10 s: by the API contract idle connections end within 12 s. */
  keepAliveTimeoutMs: 10_000,
  /** 75 s: longer than the 60 s of common load balancers, so that they close idle connections first. */
  proxyKeepAliveTimeoutMs: 75_000,
  /**
   * 5 min: a large step of a test clock may take minutes, and clients such as fetch of Node give up after this time too. A
   * client that does not read its answer is noticed once the same bytes have waited for that long, so after twice the time
   * at most.
   */
  stalledMs: 300_000,
  /** By the API contract, for each address that is not a trusted proxy. */
  openPerAddress: 1_000,
  idlePerAddress: 100,
  // 20: hardly any client sends a second request before it has the answer to the first.
  pipelinedPerConnection: 20,
}

/**
 * The limits per address apply to the port; each process behind it has an equal share. The processes get connections in
 * turn, but a busy one gets fewer, so an address may reach its limit a little earlier.
 */
export function limitsOfOne(processes: number): Pick<HttpLimits, 'openPerAddress' | 'idlePerAddress'> {
  const partOf = (limit: number): number => Math.max(1, Math.floor(limit / processes))
  return {
    openPerAddress: partOf(defaultLimits.openPerAddress),
    idlePerAddress: partOf(defaultLimits.idlePerAddress),
  }
}

/**
 * A connection is an open file, and the number of files per process is limited. Half of them are for callers, because
 * each caller's request may need another connection, to the database or to a provider, without which its payment would
 * fail.
 */
export const connectionsWithin = (openFiles: number): number =>
  Math.min(defaultLimits.connections, Math.floor(openFiles / 2))

/** The limit of open files, which Node has raised to the allowed maximum. Infinite on systems without /proc. */
export function readOpenFilesMax(file = '/proc/self/limits'): number {
  try {
    const [, max] = /^Max open files +(\d+)/m.exec(readFileSync(file, 'utf8')) ?? []
    return max === undefined ? Number.POSITIVE_INFINITY : Number(max)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
