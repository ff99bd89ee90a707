/**
 * Where the embedded database answers: a unix socket in a private folder, without any password; on Windows,
 * which has none that PostgreSQL could guard, the loopback interface with a generated password.
 */
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Account, handOver } from '#storage/embedded/account.ts'
import { EmbeddedPostgresError } from '#storage/embedded/error.ts'

export interface Address {
  readonly url: string
  /** The same server, but the database that exists from the beginning. */
  readonly maintenanceUrl: string
  /** Settings that make the server answer there. */
  readonly settings: Readonly<Record<string, string>>
  /** Options of initdb that fit. */
  readonly initdbOptions: readonly string[]
}

export const databaseName = 'tollgate'
export const roleName = 'tollgate'

/**
 * Only part of a file name here: a unix socket has no port, but PostgreSQL and its clients insist on the
 * number.
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
}

export async function chooseAddress(place: Place): Promise<Address> {
  return process.platform === 'win32' ? chooseLoopback(place.directory) : chooseSocket(place)
}

function chooseSocket(place: Place): Address {
  const folder = fits(place.cluster) ? place.cluster : openSocketFolder(place)
  // Port and sslmode are stated, so that PGPORT or PGSSLMODE in somebody's environment cannot lead a client
  // astray.
  const query = `host=${encodeURIComponent(folder)}&port=${socketPort}&user=${roleName}&sslmode=disable`
  return {
    url: `postgresql:///${databaseName}?${query}`,
    maintenanceUrl: `postgresql:///postgres?${query}`,
    settings: {
      listen_addresses: '',
      port: String(socketPort),
      // The setting is a list, and a quoted element may hold commas.
      unix_socket_directories: `"${folder.replaceAll('"', '""')}"`,
      unix_socket_permissions: '0700',
    },
    // The folder's mode decides who may connect, so a password would guard nothing.
    initdbOptions: ['--auth-local=trust', '--auth-host=reject'],
  }
}

const fits = (folder: string): boolean =>
  Buffer.byteLength(join(folder, `.s.PGSQL.${socketPort}`)) <= socketPathMax

/**
 * For data folders whose path is too long: a private folder with a short name that follows from the long one.
 */
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
  // Anybody may write to the temporary folder: a stranger who made ours first would sit between us and the
  // database.
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

async function chooseLoopback(directory: string): Promise<Address> {
  const passwordFile = join(directory, 'postgres.password')
  if (!existsSync(passwordFile)) {
    writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' })
  }
  const password = readFileSync(passwordFile, 'utf8')
  const port = await findFreePort()
  const server = `postgresql://${roleName}:${password}@127.0.0.1:${port}`
  return {
    url: `${server}/${databaseName}?sslmode=disable`,
    maintenanceUrl: `${server}/postgres?sslmode=disable`,
    settings: { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '' },
    initdbOptions: ['--auth=scram-sha-256', `--pwfile=${passwordFile}`],
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
