/**
 * The address of the embedded database: a Unix socket in a private folder; on Windows, where PostgreSQL cannot protect
 * a socket, the loopback interface. Both require the generated password.
 */
import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Account, handOver } from '#storage/embedded/account.ts'
import { EmbeddedPostgresError } from '#storage/embedded/processes.ts'
import { databaseName, roleName } from '#storage/embedded/role.ts'

export interface Address {
  readonly url: string
  /** Settings that make the server listen there. */
  readonly settings: Readonly<Record<string, string>>
}

/**
 * Only a part of the socket's file name: a unix socket has no port, but PostgreSQL and its clients require the number.
 */
const socketPort = 5432

/**
 * The kernel's limit for the path of a socket, without the closing zero: 107 on Linux, 103 on the BSDs and
 * macOS.
 */
const socketPathMax = process.platform === 'linux' ? 107 : 103

interface Place {
  readonly directory: string
  readonly cluster: string
  readonly account: Account
  readonly password: string
}

export async function chooseAddress(place: Place): Promise<Address> {
  return process.platform === 'win32' ? chooseLoopback(place.password) : chooseSocket(place)
}

function chooseSocket(place: Place): Address {
  const folder = fits(place.cluster) ? place.cluster : openSocketFolder(place)
  // Port and sslmode are explicit, so that PGPORT or PGSSLMODE in the environment cannot redirect a client.
  const server = `host=${encodeURIComponent(folder)}&port=${socketPort}&sslmode=disable`
  return {
    url: `postgresql:///${databaseName}?${server}&user=${roleName}&password=${place.password}`,
    settings: {
      listen_addresses: '',
      port: String(socketPort),
      // The setting is a list, and a quoted element may hold commas.
      unix_socket_directories: `"${folder.replaceAll('"', '""')}"`,
      unix_socket_permissions: '0700',
    },
  }
}

const fits = (folder: string): boolean =>
  Buffer.byteLength(join(folder, `.s.PGSQL.${socketPort}`)) <= socketPathMax

/** For data folders whose path is too long: a private folder with a short name derived from the long one. */
function openSocketFolder({ directory, cluster, account }: Place): string {
  const name = `tollgate-${createHash('sha256').update(cluster).digest('hex').slice(0, 16)}`
  const folder = [tmpdir(), '/tmp'].map(parent => join(parent, name)).find(fits)
  if (folder === undefined) {
    throw new EmbeddedPostgresError(
      `The path ${directory} is too long for a socket. Set TOLLGATE_DATA to a shorter one.`,
    )
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const found = lstatSync(folder)
  // Every user may write to the temporary folder: one who created our folder first could intercept the connection to
  // the database.
  const trusted = [process.getuid?.(), account.owner?.uid]
  if (!found.isDirectory() || !trusted.includes(found.uid)) {
    throw new EmbeddedPostgresError(
      `${folder} should hold the database's socket but belongs to somebody else (id ${found.uid}). ` +
        'Remove it, or set ' +
        'TOLLGATE_DATA to a shorter path.',
    )
  }
  chmodSync(folder, 0o700)
  handOver(folder, account)
  return folder
}

async function chooseLoopback(password: string): Promise<Address> {
  const port = await findFreePort()
  return {
    url: `postgresql://${roleName}:${password}@127.0.0.1:${port}/${databaseName}?sslmode=disable`,
    settings: { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '' },
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  server.once('error', reject)
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    server.close(() => resolve(port))
  })
  return promise
}
