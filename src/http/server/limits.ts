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
  readonly openPerAddress: number
  readonly idlePerAddress: number
  /** Requests on one connection that wait for their answers. */
  readonly pipelinedPerConnection: number
}

export const defaultLimits: HttpLimits = {
  /** The contract: 1 MiB. */
  bodyBytes: 1_048_576,
  /** 16 KiB: four times the longest credential, and what common proxies let through. */
  headerBytes: 16_384,
  /** 10,000 open connections at about 10 kB each: a tenth of a gigabyte at worst. */
  connections: 10_000,
  /** 10 s for the headers: a client that needs longer for them holds a connection on purpose. */
  headersTimeoutMs: 10_000,
  /** 30 s for all of a request: 1 MiB over a slow line (35 kB/s) still arrives. */
  requestTimeoutMs: 30_000,
  /** 5 s: what `Keep-Alive` announces. Clients that read it close an idle connection long before we do. */
  keepAliveHintMs: 5_000,
  /** 10 s: the contract ends idle connections within 12 s. */
  keepAliveTimeoutMs: 10_000,
  /** 75 s: longer than the 60 s after which common balancers give up an idle connection, so that they close first. */
  proxyKeepAliveTimeoutMs: 75_000,
  /** The contract, for each address that is not a trusted proxy. */
  openPerAddress: 1_000,
  idlePerAddress: 100,
  // 20: hardly any client sends a second request before it has the answer to the first.
  pipelinedPerConnection: 20,
}

/**
 * The limits per address are those of the port, however many processes are behind it: each has an equal part of them. The
 * processes get connections in turn, but a busy one gets fewer, so an address may reach its limit a little earlier.
 */
export function limitsOfOne(processes: number): Pick<HttpLimits, 'openPerAddress' | 'idlePerAddress'> {
  const partOf = (limit: number): number => Math.max(1, Math.floor(limit / processes))
  return {
    openPerAddress: partOf(defaultLimits.openPerAddress),
    idlePerAddress: partOf(defaultLimits.idlePerAddress),
  }
}

/**
 * A connection is an open file, and a process may have only so many. Half of them are for callers: the request of each may
 * need another one, to the database or to a provider, and without it the payments of those who are connected would fail.
 */
export const connectionsWithin = (openFiles: number): number =>
  Math.min(defaultLimits.connections, Math.floor(openFiles / 2))

/** How many files this process may have open. Node has raised that to the most it is allowed. Infinite where the system has no /proc. */
export function readOpenFilesMax(file = '/proc/self/limits'): number {
  try {
    const [, max] = /^Max open files +(\d+)/m.exec(readFileSync(file, 'utf8')) ?? []
    return max === undefined ? Number.POSITIVE_INFINITY : Number(max)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
