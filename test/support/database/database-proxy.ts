/**
 * A connection to PostgreSQL that can be cut at the worst moment: before a commit arrives, or after it was executed and
 * before its answer arrives. It looks at bytes only to know which message is a commit and when its answer is complete.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface DatabaseProxy {
  /** The same database, reached through the proxy. */
  readonly url: string
  /** Cuts the line at the next commit; `skip` lets that many pass first. */
  cutNextCommit(moment: 'before' | 'after', skip?: number): void
  /**
   * Cuts the line at the next message with this text: before it arrives, or with its answer, which is then held back until
   * the server has ended the connection and arrives in one piece with that end.
   */
  cutNext(text: string, moment: 'before' | 'withAnswer'): void
  /** From now on nothing passes in either direction, and no connection is closed: a network that drops packets. */
  freeze(): void
  /** The same from the next message with this text on. */
  freezeAt(text: string): void
  /**
   * The same from the next commit on, which is kept: a frozen server that has received it. `skip` lets that many pass
   * first.
   */
  freezeWithCommit(skip?: number): void
  /** Runs the held commit and forwards everything again: the server has woken up. The commit's answer is dropped. */
  wake(): void
  /** Forwards everything again; held messages are lost with their connections. */
  thaw(): void
  /** The names of all commit statements that were used since the proxy was started. */
  readonly commitNames: ReadonlySet<string>
  close(): Promise<void>
}

/** The name under which the gateway prepares its commits. */
const commitMark = Buffer.from('commit_')
/** ReadyForQuery, idle: the server has executed everything, including the commit. */
const readyMark = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** Terminate: the client says goodbye. */
const goodbye = Buffer.from([0x58, 0, 0, 0, 4])

/** The first message of a connection without the settings that it asks for, as a pooler passes it on. */
function dropSettings(startup: Buffer): Buffer {
  const words = startup.subarray(8).toString('latin1').split('\0')
  const at = words.indexOf('options')
  if (at >= 0) words.splice(at, 2)
  const passed = Buffer.concat([startup.subarray(0, 8), Buffer.from(words.join('\0'), 'latin1')])
  passed.writeInt32BE(passed.length)
  return passed
}

type Moment = 'before' | 'after' | 'withAnswer' | 'freeze' | 'keep'

/**
 * `pools`: does what a pooler in transaction mode does to us. Settings of a connection are dropped, and the server's connection
 * stays open, with its locks, when the client has gone.
 */
export async function startDatabaseProxy(
  databaseUrl: string,
  { pools = false } = {},
): Promise<DatabaseProxy> {
  const given = new URL(databaseUrl)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-proxy-'))
  chmodSync(folder, 0o700)
  const port = given.searchParams.get('port') ?? (given.port || '5432')
  const socketName = `.s.PGSQL.${port}`
  // The embedded server listens on a socket in a folder, a cluster of Citus on a port.
  const home = given.searchParams.get('host')
  const connect = (): Socket =>
    home === null ? createConnection(Number(port), given.hostname) : createConnection(join(home, socketName))
  const sockets = new Set<Socket>()
  const commitNames = new Set<string>()
  let frozen = false
  let kept: { readonly upstream: Socket; readonly sent: Buffer[] } | undefined
  let planned: { mark: Buffer; moment: Moment; skip: number } | undefined

  /** Whether this message is the one at which the line is to be cut, and when. */
  function judge(bytes: Buffer): Moment | undefined {
    if (planned === undefined || !bytes.includes(planned.mark)) return undefined
    if (planned.skip-- > 0) return undefined
    const { moment } = planned
    planned = undefined
    return moment
  }

  const server = createServer(client => {
    const upstream = connect()
    let swallowing = false
    let held: Buffer[] | undefined
    const cut = () => {
      client.destroy()
      upstream.destroy()
    }
    upstream.on('end', () => {
      if (held) client.end(Buffer.concat(held))
    })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', cut)
      socket.on('close', () => {
        sockets.delete(socket)
        if (kept?.upstream === upstream) return
        if (socket === client ? !pools : !held) cut()
      })
    }
    let isFirst = true
    client.on('data', given => {
      // The rest of a commit that came in pieces; a goodbye would reach a frozen server too, after the commit.
      if (kept?.upstream === upstream && !given.equals(goodbye)) kept.sent.push(given)
      if (frozen || (pools && given.equals(goodbye))) return
      const bytes = pools && isFirst ? dropSettings(given) : given
      isFirst = false
      for (const [name] of bytes.toString('latin1').matchAll(/commit_\w+/g)) commitNames.add(name)
      const moment = judge(bytes)
      if (moment === 'before') return cut()
      if (moment === 'freeze' || moment === 'keep') {
        frozen = true
        if (moment === 'keep') kept = { upstream, sent: [bytes] }
        return
      }
      swallowing ||= moment === 'after'
      if (moment === 'withAnswer') held = []
      return void upstream.write(bytes)
    })
    upstream.on('data', bytes => {
      if (frozen || kept?.upstream === upstream) return
      if (held) held.push(bytes)
      else if (!swallowing) client.write(bytes)
      else if (bytes.includes(readyMark)) cut()
    })
  })
  await new Promise<void>(resolve => server.listen(join(folder, socketName), resolve))

  const url = new URL(databaseUrl)
  url.searchParams.set('host', folder)
  return {
    url: url.href,
    commitNames,
    freeze() {
      frozen = true
    },
    freezeAt(text) {
      planned = { mark: Buffer.from(text), moment: 'freeze', skip: 0 }
    },
    freezeWithCommit(skip = 0) {
      planned = { mark: commitMark, moment: 'keep', skip }
    },
    wake() {
      frozen = false
      for (const socket of sockets) if (socket !== kept?.upstream) socket.destroy()
      kept?.upstream.end(Buffer.concat([...kept.sent, goodbye]))
    },
    thaw() {
      frozen = false
      // Connections that missed bytes are useless.
      for (const socket of sockets) socket.destroy()
    },
    cutNextCommit(moment, skip = 0) {
      planned = { mark: commitMark, moment, skip }
    },
    cutNext(text, moment) {
      planned = { mark: Buffer.from(text), moment, skip: 0 }
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
