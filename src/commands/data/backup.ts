/** `backup`, `restore` and `move-to`: copies all data out of a running gateway's database, and into an empty one. */

import { createReadStream, createWriteStream } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { Command } from 'commander'
import { openMerchants } from '#cells/open-merchants.ts'
import { auditCommand, commandActor } from '#commands/audit-trail.ts'
import { CommandFault, describeReason, UsageFault } from '#commands/faults.ts'
import { markMoved, refuseMoved } from '#commands/moved-data.ts'
import { describePlace, type OpenDatabase, type OpenOptions, openDatabase } from '#commands/open-database.ts'
import { rememberRestoredDemo } from '#commands/serve/demo-merchant.ts'
import { showProgress } from '#commands/terminal.ts'
import { type Config, isDatabaseUrl } from '#config.ts'
import { textAt } from '#domain/json.ts'
import type { Act } from '#operations/audit/audit.ts'
import { dumpDatabase } from '#storage/backup/dump.ts'
import { type LoadOptions, loadDatabase, type UrlOf } from '#storage/backup/load.ts'
import { BackupError } from '#storage/backup/tables.ts'
import { type CellAddress, cellName } from '#storage/cells/address.ts'
import { createSchema, isServed, readPlacings, readSources } from '#storage/cells/create-cell.ts'
import { draftBeside, isFileFault, syncFolder } from '#storage/folders.ts'
import { rootSecretName } from '#storage/vault/vault-store.ts'

const say = (line: string): void => console.error(line)

export function addBackupCommands(program: Command, readConfig: () => Config): void {
  program
    .command('backup')
    .description(
      'Writes all data into one compressed file, as it was at one moment, while the gateway serves. The master key is ' +
        'not in it: keep that elsewhere, for without it no card can be read again.',
    )
    .requiredOption('--out <file>', 'the file to write')
    .option('--json', 'print one line of JSON')
    .action(async ({ out, json }: { out: string; json?: true }) => {
      await refuseOthers(out)
      const rows = await withDatabase(readConfig(), async database => {
        const written = await writeBackup(database.cells, out)
        await auditCopy(database.url, { act: 'backup', object: basename(out), after: { rows: written } })
        return written
      })
      console.log(json ? JSON.stringify({ file: out, rows }) : `${rows} rows written to ${out}`)
    })

  program
    .command('restore <file>')
    .description('Fills an empty data folder (or the empty database of DATABASE_URL) from a backup.')
    .option('--json', 'print one line of JSON')
    .action(async (file: string, { json }: { json?: true }) => {
      const config = readConfig()
      refuseMoved(config)
      await requireReadable(file)
      const rows = await withDatabase(config, database => restore(config, database, file), {
        restores: true,
        begins: true,
      })
      console.log(json ? JSON.stringify({ file, rows }) : `${rows} rows read from ${file}`)
    })

  program
    .command('move-to <databaseUrl>')
    .description('Copies all data into an empty PostgreSQL of your own. Stop the gateway first.')
    .option('--json', 'print one line of JSON')
    .action(async (target: string, { json }: { json?: true }) => {
      if (!isDatabaseUrl(target))
        throw new UsageFault('the target must be an address such as postgres://user:password@host/database')
      const config = readConfig()
      refuseMoved(config)
      const rows = await withDatabase(config, database => moveTo(config, database, target))
      if (json) console.log(JSON.stringify({ rows }))
      else console.log(`${rows} rows copied; start the gateway with DATABASE_URL set and the same master key`)
    })
}

/** The data may come from a release without an audit trail: the copy is made anyway. */
const auditCopy = (url: string, act: Act): Promise<void> =>
  auditCommand(url, act).catch(error =>
    say(`warning: this command could not be recorded in the audit trail (${describeReason(error)})`),
  )

async function withDatabase<T>(
  config: Config,
  work: (database: OpenDatabase) => Promise<T>,
  how: Pick<OpenOptions, 'restores' | 'begins'> = {},
): Promise<T> {
  for (const warning of config.warnings) say(`warning: ${warning}`)
  const database = await openDatabase(config, {
    purpose: 'command',
    onProgress: say,
    asIs: true,
    ...how,
  })
  try {
    return await work(database)
  } catch (error) {
    throw error instanceof BackupError ? new CommandFault(error.message, { cause: error }) : error
  } finally {
    await database.close()
  }
}

/** Refuses what is not a file. */
async function refuseOthers(out: string): Promise<void> {
  const found = await stat(out).catch(() => undefined)
  if (found?.isDirectory()) throw new CommandFault(`${out} is a folder; --out takes the name of a file in it`)
  // The backup would take the name of the device or pipe, and nobody would get it.
  if (found && !found.isFile())
    throw new CommandFault(`${out} is a device or a pipe; --out takes the name of a file`)
}

/** Checks the file before a database is created for it. */
async function requireReadable(file: string): Promise<void> {
  try {
    const opened = await open(file)
    const isFolder = (await opened.stat()).isDirectory()
    await opened.close()
    if (!isFolder) return
  } catch (error) {
    const code = textAt(error, 'code')
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`
    throw new CommandFault(`${file} ${why}`, { cause: error })
  }
  throw new CommandFault(`${file} is a folder; name the file of a backup`)
}

/** Cells are read one after the other: a merchant that is moved meanwhile may be in none of them when it is read. */
async function refuseMoves(cells: readonly CellAddress[], work: () => Promise<void>): Promise<void> {
  const [home] = cells
  if (!home || cells.length === 1) return work()
  const before = await readPlacings(home.url)
  await work()
  const after = await readPlacings(home.url)
  const moved = [...before].find(([merchantId, changed]) => after.get(merchantId) !== changed)
  if (moved)
    throw new CommandFault(
      `${moved[0]} was moved to another cell while the backup was written, so it may be missing there; no backup was made. ` +
        'Run it again when the move has ended',
    )
}

async function writeBackup(cells: readonly CellAddress[], out: string): Promise<number> {
  let total = 0
  const progress = showProgress('Writing rows')
  async function* toText(): AsyncGenerator<string> {
    const onTable = ({ table, rows }: { table: string; rows: number }) => {
      total += rows
      if (rows === 0) return
      progress.end()
      say(`${table}: ${rows} rows`)
    }
    let lines = 0
    for (const cell of cells)
      for await (const line of dumpDatabase(cell, onTable)) {
        lines += 1
        progress.advance(lines)
        yield `${line}\n`
      }
  }
  // Complete and on the disk before it gets its name, and readable by its owner only.
  let draft: string | undefined
  try {
    const begun = await draftBeside(out)
    draft = begun
    await refuseMoves(cells, () => {
      // Opened only now, because an error without the pipeline to take it ends the process.
      const drain = createWriteStream(begun, { mode: 0o600, flags: 'wx', flush: true })
      return pipeline(Readable.from(toText()), createGzip(), drain)
    })
    await rename(begun, out)
    await syncFolder(dirname(out))
  } catch (error) {
    if (draft !== undefined) await rm(draft, { force: true }).catch(() => undefined)
    if (!isFileFault(error)) throw error
    throw new CommandFault(`${out} cannot be written (${textAt(error, 'code')}); no backup was made`, {
      cause: error,
    })
  } finally {
    progress.end()
  }
  return total
}

async function restore(config: Config, database: OpenDatabase, file: string): Promise<number> {
  const cells = [...database.cells]
  const { environment, dataDirectory } = config
  const rows = await readBackup(place(database.url, config, cells), file, {
    onProgress: say,
    admit: installation => admit(installation, config, database),
  })
  const { merchants, close } = await openMerchants({
    environment,
    cells,
    masterKey: database.masterKey,
    actor: commandActor(),
  })
  try {
    if (environment === 'test') await rememberRestoredDemo(dataDirectory, merchants)
    await auditCopy(database.url, { act: 'restore', object: basename(file), after: { rows } })
  } finally {
    await close()
  }
  return rows
}

/** Refuses rows that are unusable here: of the other environment, or sealed with another master key. */
async function admit(
  installation: ReadonlyMap<string, string>,
  { environment }: Pick<Config, 'environment'>,
  { masterKey }: Pick<OpenDatabase, 'masterKey'>,
): Promise<void> {
  const owner = installation.get('environment') ?? environment
  if (owner !== environment)
    throw new CommandFault(
      `the backup is of the ${owner} environment, but TOLLGATE_ENVIRONMENT is ${environment}; nothing was restored`,
    )
  const [keyId] = installation.get(rootSecretName)?.split(':') ?? []
  if (keyId !== undefined) await masterKey.find(keyId)
}

/** The target of each cell's rows. Cell 0 comes first, and its directory names the databases of the others. */
const place =
  (
    home: string,
    { cellUrls }: Pick<Config, 'cellUrls'>,
    made: Pick<CellAddress, 'number' | 'url'>[] = [],
  ): UrlOf =>
  async (cell, sources) => {
    if (cell === 0) return home
    const source = sources.get(cell) ?? 0
    const baseUrl = source === 0 ? home : cellUrls[source - 1]?.reveal()
    if (baseUrl === undefined)
      throw new CommandFault(
        `${cellName(cell)} has a database of its own; name it in TOLLGATE_CELL_URLS first. Nothing was restored`,
      )
    const url = await createSchema(baseUrl, cell)
    made.push({ number: cell, url })
    return url
  }

async function readBackup(urlOf: UrlOf, file: string, options: LoadOptions): Promise<number> {
  const packed = createReadStream(file)
  const unpacked = packed.pipe(createGunzip())
  // `pipe` does not forward errors, and an unhandled error ends the process.
  packed.once('error', error => unpacked.destroy(error))
  const lines = createInterface({ input: unpacked, crlfDelay: Number.POSITIVE_INFINITY })
  const failed = new Promise<never>((_, reject) => unpacked.once('error', reject))
  try {
    return (await Promise.race([loadDatabase(urlOf, lines, options), failed])).rows
  } catch (error) {
    const code = textAt(error, 'code')
    if (code?.startsWith('Z_'))
      throw new CommandFault(`${file} is damaged or cut off and cannot be restored (${code})`, {
        cause: error,
      })
    throw error
  }
}

async function moveTo(config: Config, database: OpenDatabase, target: string): Promise<number> {
  // Cells with a database of their own stay there.
  const sources = await readSources(database.url)
  const moving = database.cells.filter(({ number }) => (sources.get(number) ?? 0) === 0)
  await requireUnserved(
    moving,
    'a gateway serves this database, and what it takes from now on would be missing in the copy; stop it first (after a kill, wait seven seconds)',
  )
  async function* dumpAll(): AsyncGenerator<string> {
    for (const cell of moving) yield* dumpDatabase(cell)
  }
  const { rows } = await loadDatabase(place(target, { cellUrls: [] }), dumpAll(), { onProgress: say })
  await requireUnserved(
    moving,
    'a gateway was started meanwhile, and what it took is missing in the copy; stop it, empty the target and repeat',
  )
  // Only now: while the target is incomplete, the old data are the ones to go on with.
  await markMoved(config, describePlace(target)).catch(error =>
    say(
      `warning: the data folder could not be marked as moved (${describeReason(error)}): never start the gateway on it again without DATABASE_URL`,
    ),
  )
  // In the copy, because that is the database in use from now on.
  await auditCopy(target, { act: 'move-to', object: 'database', after: { rows } })
  return rows
}

async function requireUnserved(cells: readonly CellAddress[], refusal: string): Promise<void> {
  for (const { url } of cells) if (await isServed(url)) throw new CommandFault(refusal)
}
