/**
 * Opens the database for every command but help: embedded or configured, migrated to the newest schema, with the master
 * key that decrypts its sealed data.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { listCells, prepareCells } from '#cells/prepare.ts'
import { commandActor, type Noted, withNote } from '#commands/audit-trail.ts'
import { CommandFault, describeReason } from '#commands/faults.ts'
import { refuseMoved } from '#commands/moved-data.ts'
import type { Config } from '#config.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'
import type { CellAddress } from '#storage/cells/address.ts'
import { CellFault, readSourcesBy } from '#storage/cells/create-cell.ts'
import { readConnectionsMax } from '#storage/database.ts'
import { openEmbeddedPostgres } from '#storage/embedded/index.ts'
import { holdsSealedRows } from '#storage/installation.ts'
import { MigrationError, migrateAndRead } from '#storage/migrate.ts'
import { createMasterRing, type MasterRing, readMasterKeys, readOrMakeMasterKeys } from '#vault/master-key.ts'

export interface OpenDatabase {
  readonly url: string
  /** For people: where the rows are. Holds no password. */
  readonly place: string
  readonly masterKey: MasterRing
  /** All cells; the first is cell 0, the database itself. */
  readonly cells: readonly CellAddress[]
  /** The current cells. */
  listCells(): Promise<readonly CellAddress[]>
  /** The file of the master key, if it is in a file. */
  readonly masterKeyFile?: string
  /** The message for a missing master key, with the place where to put it. `masterKey` then opens nothing. */
  readonly missingKey?: string
  close(): Promise<void>
}

export interface OpenOptions {
  /** 'serve' owns the data folder; 'command' borrows the database of a running server where there is one. */
  readonly purpose: 'serve' | 'command'
  readonly onProgress: (line: string) => void
  /** True: the schema is left as it is. */
  readonly asIs?: boolean
  /** True: rows that were sealed elsewhere are about to be loaded, so their master key must already be there. */
  readonly restores?: boolean
  readonly onUnexpectedExit?: (error: Error) => void
  /** True: another process has already prepared the cells. */
  readonly cellsReady?: boolean
  /** True: one more cell is made. */
  readonly addsCell?: boolean
  /** True: rows left over by an interrupted move of a merchant stay; other commands delete them first. */
  readonly keepsRemains?: boolean
  /** True: works without the master key that sealed the data, as far as it can. */
  readonly mayLackKey?: boolean
  /** True: may be the first command of an installation. Other commands find nothing in an empty folder. */
  readonly begins?: boolean
}

export async function openDatabase(config: Config, options: OpenOptions): Promise<OpenDatabase> {
  const { databaseUrl } = config
  const database = databaseUrl
    ? { url: databaseUrl.reveal(), place: describePlace(databaseUrl.reveal()), close: async () => {} }
    : await openEmbedded(config, options)
  try {
    if (options.asIs) {
      const cells = await openCells(config, { ...options, home: database })
      return { ...database, cells, listCells: async () => cells, ...(await openMasterKey(config, options)) }
    }
    if (databaseUrl) options.onProgress(`Connecting to the database ${database.place} …`)
    const { isSealed, sources, connectionsMax } = databaseUrl
      ? await migrateForeign(database, options)
      : await migrateAndRead(database.url, options, readContents)
    if (options.purpose === 'serve') warnOfFewConnections(config, connectionsMax, options.onProgress)
    const keys = await openMasterKey(config, { isSealed, mayLackKey: options.mayLackKey })
    const masterKey = options.cellsReady || keys.missingKey ? undefined : keys.masterKey
    const cells = await openCells(config, { ...options, home: database, masterKey, sources })
    return { ...database, ...keys, cells, listCells: () => openCells(config, { ...options, home: database }) }
  } catch (error) {
    await database.close()
    throw error
  }
}

type Home = Pick<OpenDatabase, 'url' | 'place'>

async function openCells(
  { cells, cellUrls }: Config,
  {
    home: { url, place },
    masterKey,
    sources,
    onProgress,
    addsCell,
    keepsRemains,
  }: OpenOptions &
    Partial<Pick<Contents, 'sources'>> & { readonly home: Home; readonly masterKey?: MasterRing },
): Promise<readonly CellAddress[]> {
  try {
    const known = { home: { url, place }, urls: cellUrls.map(each => each.reveal()), describePlace, sources }
    if (!masterKey) return await listCells(known)
    const how = { addOne: addsCell, keepsRemains }
    return await prepareCells({ ...known, masterKey, onProgress, wanted: cells, ...how })
  } catch (error) {
    throw error instanceof CellFault ? new CommandFault(error.message, { cause: error }) : error
  }
}

/** 14: the pools of a cell in one process, its heartbeat, and a command beside. */
const connectionsPerCell = 14

/** 200: cells may be made while we serve; an unused connection slot costs next to nothing. */
const connectionsMin = 200

/** Enough for every worker in every cell of the database. */
const connectionsFor = ({ cells, workers }: Config): string =>
  String(Math.max(connectionsMin, 20 + connectionsPerCell * cells * workers))

/** Where others took the connections, reads are answered 503 until somebody looks at the log. */
function warnOfFewConnections(
  { cellUrls, cells, workers }: Config,
  connectionsMax: number,
  say: OpenOptions['onProgress'],
): void {
  // Cells with databases of their own take their connections there.
  const needed = connectionsPerCell * workers * (cellUrls.length > 0 ? 1 : cells)
  if (connectionsMax >= needed) return
  say(
    `warning: the database accepts ${connectionsMax} connections, and this gateway may need ${needed}: raise max_connections, ` +
      'or requests are answered 503 under load',
  )
}

async function openEmbedded(
  config: Config,
  options: OpenOptions,
): Promise<Pick<OpenDatabase, 'url' | 'place' | 'close'>> {
  const directory = config.dataDirectory
  if (!options.asIs) refuseMoved(config)
  if (options.purpose === 'serve') options.onProgress(`Starting the database in ${directory} …`)
  else if (!options.begins) requireData(directory)
  const onWarning = options.purpose === 'serve' ? options.onProgress : () => undefined
  const embedded = await openEmbeddedPostgres({
    directory,
    onWarning,
    settings: { max_connections: connectionsFor(config) },
    ...options,
  })
  return { url: embedded.url, place: embedded.directory, close: () => embedded.stop() }
}

/** A doctor or an audit of an empty folder would report success, although the data is in another folder. */
function requireData(directory: string): void {
  // owner.json exists first: its process may be about to create the database.
  if (existsSync(join(directory, 'postgres')) || existsSync(join(directory, 'owner.json'))) return
  throw new CommandFault(
    `there is no data in ${directory}: TOLLGATE_DATA must name the data folder of the gateway, or DATABASE_URL its database; ` +
      '"tollgate serve" begins a new one',
  )
}

interface Contents {
  readonly isSealed: boolean
  /** The source of each cell but cell 0. */
  readonly sources: ReadonlyMap<number, number>
  readonly connectionsMax: number
}

const readContents = async (client: pg.Client): Promise<Contents> => ({
  isSealed: await holdsSealedRows(client),
  sources: await readSourcesBy(client),
  connectionsMax: await readConnectionsMax(client),
})

async function migrateForeign(
  { url, place }: { url: string; place: string },
  options: OpenOptions,
): Promise<Contents> {
  try {
    return await migrateAndRead(url, options, readContents)
  } catch (error) {
    if (error instanceof MigrationError) throw error
    throw new CommandFault(`the database ${place} of DATABASE_URL cannot be used: ${describeReason(error)}`, {
      cause: error,
    })
  }
}

/** Without a configured key one is created in the data folder; never in live, where the configuration requires one. */
async function openMasterKey(
  { dataDirectory, masterKeys, masterKeyFile }: Config,
  {
    restores = false,
    isSealed = false,
    mayLackKey = false,
    asIs = false,
  }: Pick<OpenOptions, 'restores' | 'mayLackKey' | 'asIs'> & { readonly isSealed?: boolean },
): Promise<Pick<OpenDatabase, 'masterKey' | 'masterKeyFile' | 'missingKey'>> {
  if (masterKeys && masterKeyFile === undefined)
    return { masterKey: createMasterRing(async () => masterKeys) }
  const file = masterKeyFile ?? join(dataDirectory, 'master.key')
  const ring = createMasterRing(() => readMasterKeys(file))
  if (masterKeyFile === undefined) {
    // A new key cannot decrypt what another one has sealed.
    if ((restores || isSealed) && !existsSync(file)) {
      if (mayLackKey) return { masterKey: ring, missingKey: missingKey(file) }
      throw new CommandFault(missingKey(file))
    }
    // A command that copies rows unchanged seals nothing, and a key created here would be mistaken for the lost one.
    if (!asIs) await readOrMakeMasterKeys(file)
  }
  return { masterKey: ring, masterKeyFile: file }
}

const missingKey = (file: string): string =>
  `the master key that sealed this data is missing: put it into ${file}, or set TOLLGATE_MASTER_KEY or TOLLGATE_MASTER_KEY_FILE`

/** host:port/database, or folder/database for a unix socket. */
export function describePlace(databaseUrl: string): string {
  const url = new URL(databaseUrl.replace('@/', '@localhost/'))
  const host = url.searchParams.get('host') ?? (url.host || 'localhost')
  return `${host}${url.pathname}`
}

/** Opens the merchants for one piece of work and closes everything again. */
export async function withMerchants<T>(
  config: Config,
  work: (merchants: MerchantAdministration) => Promise<T>,
  { note, ...how }: Pick<OpenOptions, 'begins'> & { readonly note?: Noted } = {},
): Promise<T> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const onProgress = (line: string): void => console.error(line)
  const database = await openDatabase(config, { purpose: 'command', onProgress, ...how })
  try {
    // Loaded only when needed, so that help and errors appear at once.
    const { openMerchants } = await import('#cells/open-merchants.ts')
    const { environment } = config
    const { masterKey, cells } = database
    const actor = commandActor()
    const opened = await openMerchants({ environment, cells, masterKey, actor })
    try {
      return await withNote(database.url, note, () => work(opened.merchants))
    } finally {
      await opened.close()
    }
  } finally {
    await database.close()
  }
}
