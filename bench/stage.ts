/**
 * The setup of a measurement: one embedded PostgreSQL in a fresh folder with the settings of `npm start`, one database
 * for the gateway and one for the bare clients, both migrated, and a merchant whose rate is not limited.
 */
import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { openMerchants } from '#cells/open-merchants.ts'
import { openEmbeddedPostgres } from '#storage/embedded/index.ts'
import { migrate } from '#storage/migrate.ts'
import { toMasterKey } from '#vault/master-key.ts'

/** A migrated database with one merchant, for a gateway. */
export interface Installation {
  readonly merchantId: string
  /** The merchant's header. */
  readonly authorization: string
  /** Variables for the gateway's process. */
  readonly environment: Readonly<Record<string, string>>
}

export interface Stage extends Installation {
  readonly gatewayUrl: string
  readonly bareUrl: string
  readonly cluster: string
  /** Creates another installation with empty books. */
  makeInstallation(name: string): Promise<Installation>
  /** A new folder that is gone after the bench. */
  makeFolder(name: string): Promise<string>
  close(): Promise<void>
}

/** 100 instead of 50: pgbench comes with 64 clients, beside the gateway's own connections. All else as `npm start`. */
const settings = { max_connections: '100' }

/** The highest allowed limit, which is more than any current machine can serve. */
const requestsPerSecond = 1_000_000

export async function openStage(): Promise<Stage> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-bench-'))
  // Under root the database runs as the user nobody, who must be able to enter the folder.
  await chmod(directory, 0o711)
  const postgres = await openEmbeddedPostgres({
    directory,
    purpose: 'serve',
    settings,
    mayMakeDatabases: true,
  })
  const close = async () => {
    await postgres.stop()
    await rm(directory, { recursive: true, force: true })
  }
  try {
    const makeInstallation = async (name: string): Promise<Installation> => {
      const url = await makeDatabase(postgres.url, name)
      const masterKey = randomBytes(32).toString('base64')
      const environment = { DATABASE_URL: url, TOLLGATE_MASTER_KEY: masterKey }
      return { ...(await makeMerchant(url, masterKey)), environment }
    }
    const installation = await makeInstallation('gateway')
    return {
      ...installation,
      gatewayUrl: installation.environment.DATABASE_URL ?? '',
      bareUrl: await makeDatabase(postgres.url, 'bare'),
      cluster: join(directory, 'postgres'),
      makeInstallation,
      async makeFolder(name) {
        const folder = join(directory, name)
        await mkdir(folder, { mode: 0o711 })
        return folder
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function makeDatabase(url: string, name: string): Promise<string> {
  await withClient(url, client => client.query(`CREATE DATABASE ${name}`))
  const named = new URL(url)
  named.pathname = `/${name}`
  await migrate(named.href)
  return named.href
}

async function makeMerchant(databaseUrl: string, masterKey: string) {
  const key = toMasterKey(masterKey, 'the key of this bench')
  const opened = await openMerchants({
    environment: 'test',
    cells: [{ number: 0, url: databaseUrl }],
    masterKey: key,
  })
  try {
    const { merchantId, apiKey } = await opened.merchants.create('Bench')
    await opened.merchants.set(merchantId, { requestsPerSecond })
    return { merchantId, authorization: `Basic ${Buffer.from(`${merchantId}:${apiKey}`).toString('base64')}` }
  } finally {
    await opened.close()
  }
}

/** Creates another merchant like the stage's own, with empty books. */
export const makeBenchMerchant = ({ gatewayUrl, environment }: Stage) =>
  makeMerchant(gatewayUrl, environment.TOLLGATE_MASTER_KEY ?? '')

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
