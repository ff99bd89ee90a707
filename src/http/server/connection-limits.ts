/**
 * Limits the connections per address, and the pipelined requests per connection. Without these limits one client could
 * use up all connections of the server and lock out all others. Trusted proxies are exempt, because the connections of
 * all clients come from their address.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { networkOf, plainAddress } from '#domain/network-address.ts'
import type { ClientAddresses } from '#http/server/client-address.ts'
import type { Timers } from '#http/server/timers.ts'

export type DropReason =
  | 'address_open'
  | 'address_idle'
  | 'idle_time'
  | 'pipelined'
  | 'stalled'
  | 'server_full'

export interface ConnectionLimits {
  /** By the API contract 1,000 connections per address, 100 of them without a request. */
  readonly openPerAddress: number
  readonly idlePerAddress: number
  /** A connection without a request for longer than this is closed. */
  readonly idleMs: number
  /** Requests on one connection that wait for their answers. */
  readonly pipelined: number
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void

interface Ports {
  readonly server: {
    on(event: 'connection' | 'secureConnection', listener: (socket: Socket) => void): unknown
    on(event: 'request', listener: Listener): unknown
    on(event: 'drop', listener: () => void): unknown
    on(event: 'timeout', listener: (socket: Socket) => void): unknown
    listeners(event: 'request'): readonly unknown[]
    removeAllListeners(event: 'request'): unknown
  }
  readonly addresses: ClientAddresses
  readonly limits: ConnectionLimits
  readonly timers: Timers
  readonly onDrop: (reason: DropReason) => void
}

interface Connection {
  readonly socket: Socket
  readonly network: string
  running: number
  /** Whether it has had a request. */
  served: boolean
  /** In how many sweeps in a row it was without a request. */
  idleSweeps: number
}

/** 500 ms between two sweeps: ten thousand entries take less than a millisecond. */
const sweepMs = 500

/**
 * 2: between two sweeps the server reads everything that has arrived, so that even in a busy process a connection whose
 * first request is on its way is not taken for an idle one.
 */
const idleSweepsMin = 2

/**
 * 8 sweeps, which is 4 s: clients reuse a connection for their next request, and closing it as soon as it is idle would
 * cut off requests that are on their way. After a burst of requests a shop has time to close its connections.
 */
const servedSweepsMin = 8

/** Must be created before the server listens, so that it sees every connection. */
export function limitConnections({ server, addresses, limits, timers, onDrop }: Ports): void {
  const connections = new Set<Connection>()
  const bySocket = new WeakMap<Socket, Connection>()
  const byPort = new Map<string, Connection>()
  const openOf = new Map<string, number>()
  let cancelSweep: (() => void) | undefined

  const drop = (connection: Connection, reason: DropReason): void => {
    onDrop(reason)
    connection.socket.destroy()
  }

  function sweep(): void {
    cancelSweep = undefined
    const idleOf = new Map<string, number>()
    // Newest first, so that the oldest are closed if there are too many.
    for (const connection of [...connections].reverse()) {
      if (connection.running > 0) continue
      connection.idleSweeps += 1
      if (connection.idleSweeps < (connection.served ? servedSweepsMin : idleSweepsMin)) continue
      const idle = (idleOf.get(connection.network) ?? 0) + 1
      idleOf.set(connection.network, idle)
      if (idle > limits.idlePerAddress) drop(connection, 'address_idle')
      else if (connection.idleSweeps * sweepMs > limits.idleMs) drop(connection, 'idle_time')
    }
    plan()
  }

  function plan(): void {
    if (cancelSweep === undefined && connections.size > 0) cancelSweep = timers.after(sweepMs, sweep)
  }

  function admit(socket: Socket): void {
    const peer = socket.remoteAddress
    // The socket is already closed, or it is a trusted proxy.
    if (peer === undefined || addresses.isProxy(peer)) return
    const network = networkOf(plainAddress(peer) ?? peer)
    const open = openOf.get(network) ?? 0
    if (open >= limits.openPerAddress) {
      onDrop('address_open')
      socket.destroy()
      return
    }
    openOf.set(network, open + 1)
    const connection: Connection = { socket, network, running: 0, served: false, idleSweeps: 0 }
    const port = `${peer} ${socket.remotePort}`
    connections.add(connection)
    bySocket.set(socket, connection)
    byPort.set(port, connection)
    socket.once('close', () => {
      connections.delete(connection)
      if (connections.size === 0) {
        cancelSweep?.()
        cancelSweep = undefined
      }
      if (byPort.get(port) === connection) byPort.delete(port)
      const left = (openOf.get(network) ?? 1) - 1
      if (left > 0) openOf.set(network, left)
      else openOf.delete(network)
    })
    plan()
  }

  server.on('connection', admit)
  server.on('drop', () => onDrop('server_full'))
  watchStalls(server, bySocket, onDrop)
  const onTooMany = (connection: Connection): void => drop(connection, 'pipelined')
  watchRequests(server, { bySocket, byPort, most: limits.pipelined, onTooMany })
}

/** Node reports idle connections here too, a moment after Keep-Alive has ended: those are no fault of the client. */
function watchStalls(
  server: Ports['server'],
  bySocket: WeakMap<Socket, Connection>,
  onDrop: Ports['onDrop'],
): void {
  server.on('timeout', socket => {
    if ((bySocket.get(socket)?.running ?? 0) > 0) onDrop('stalled')
    socket.destroy()
  })
}

interface Watch {
  readonly bySocket: WeakMap<Socket, Connection>
  readonly byPort: ReadonlyMap<string, Connection>
  readonly most: number
  readonly onTooMany: (connection: Connection) => void
}

function watchRequests(server: Ports['server'], { bySocket, byPort, most, onTooMany }: Watch): void {
  // Requests over TLS have the inner socket. The outer one, which we counted, has the same remote port.
  server.on('secureConnection', socket => {
    const connection = byPort.get(`${socket.remoteAddress} ${socket.remotePort}`)
    if (connection) bySocket.set(socket, connection)
  })
  // Node handles all requests of one packet, some two thousand, before any other event, so they are counted before the
  // handlers. Node's types say only that listeners are functions; those of this event take request and response.
  const handlers = server.listeners('request') as readonly Listener[]
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    const connection = bySocket.get(request.socket)
    if (connection === undefined) {
      for (const handle of handlers) handle(request, response)
      return
    }
    if (connection.socket.destroyed) return
    if (connection.running >= most) {
      onTooMany(connection)
      return
    }
    connection.running += 1
    connection.served = true
    response.once('close', () => {
      connection.running -= 1
      connection.idleSweeps = 0
    })
    for (const handle of handlers) handle(request, response)
  })
}
