/** Creates the configured cells and migrates each to the newest schema. A cell is never removed. */
import { removeAllRemains } from '#cells/move.ts'
import { followRoot } from '#operations/merchants/rotate-root.ts'
import { type CellAddress, cellName, inCell } from '#storage/cells/address.ts'
import { CellFault, createCell, readSources, whilePreparing } from '#storage/cells/create-cell.ts'
import { createDirectoryStore, type DirectoryStore } from '#storage/cells/directory-store.ts'
import { isConnectionLost, openDatabase } from '#storage/database.ts'
import { createInstallation } from '#storage/installation.ts'
import { openRotationStore } from '#storage/vault/key-rotation.ts'
import { rootSecretName } from '#storage/vault/vault-store.ts'
import { openDerivedKeys } from '#vault/key-ring.ts'
import { type MasterRing, toRing } from '#vault/master-key.ts'
import { unwrapRoots } from '#vault/root-secrets.ts'

export interface CellOptions {
  /** Cell 0. */
  readonly home: Pick<CellAddress, 'url' | 'place'>
  /** The minimum number of cells, including cell 0. */
  readonly wanted: number
  /** Databases that hold one cell each; their order stays. */
  readonly urls: readonly string[]
  readonly masterKey: MasterRing
  readonly describePlace: (url: string) => string
  /** The sources of all cells but cell 0, if they were read a moment ago. */
  readonly sources?: ReadonlyMap<number, number> | undefined
  readonly onProgress: (line: string) => void
  /** Creates one cell more than there are. */
  readonly addOne?: boolean
  /** Keeps rows that an interrupted move has left behind, so that the doctor can report them. */
  readonly keepsRemains?: boolean
}

/** The configured cells, without checking them. */
export async function listCells(
  options: Pick<CellOptions, 'home' | 'urls' | 'describePlace' | 'sources'>,
): Promise<readonly CellAddress[]> {
  const first: CellAddress = { number: 0, name: cellName(0), ...options.home }
  const known = await readKnown(options)
  return [first, ...known.map(cell => toAddress(cell, options))]
}

async function readKnown({ home, sources }: Pick<CellOptions, 'home' | 'sources'>): Promise<readonly Cell[]> {
  const found = sources ?? (await readSources(home.url))
  return [...found].map(([cell, source]) => ({ cell, source })).sort((a, b) => a.cell - b.cell)
}

/** Returns all cells, cell 0 first. An unavailable cell is included: it is retried while the others serve. */
export async function prepareCells(options: CellOptions): Promise<readonly CellAddress[]> {
  const { home } = options
  const known = await readKnown(options)
  const missing = listMissing(known, options)
  const first: CellAddress = { number: 0, name: cellName(0), ...home }
  if (known.length + missing.length === 0) return [first]
  const database = openDatabase(home.url, () => undefined)
  try {
    const store = createDirectoryStore(database)
    // Every cell seals with the root secret of cell 0, so that must exist first.
    await openDerivedKeys(options.masterKey, createInstallation(database))
    await whilePreparing(home.url, async () => {
      for (const cell of known) await refreshCell(cell, options)
      for (const cell of missing) await makeCell(cell, store, options)
    })
    await store.placeAll()
    const rest = [...known, ...missing].sort((a, b) => a.cell - b.cell)
    const cells = [first, ...rest.map(cell => toAddress(cell, options))]
    if (!options.keepsRemains) await removeAllRemains(store, cells, options.onProgress)
    return cells
  } finally {
    await database.close()
  }
}

interface Cell {
  readonly cell: number
  readonly source: number
}

function listMissing(known: readonly Cell[], { wanted, urls, addOne }: CellOptions): readonly Cell[] {
  const missing: Cell[] = []
  const add = (source: number): void => {
    const cell = 1 + Math.max(0, ...known.map(each => each.cell), ...missing.map(each => each.cell))
    missing.push({ cell, source })
  }
  for (const source of urls.keys()) if (!known.some(cell => cell.source === source + 1)) add(source + 1)
  while (1 + known.length + missing.length < wanted) add(0)
  if (addOne && missing.length === 0) add(0)
  return missing
}

function toAddress(
  { cell, source }: Cell,
  { home, urls, describePlace }: Pick<CellOptions, 'home' | 'urls' | 'describePlace'>,
): CellAddress {
  const baseUrl = source === 0 ? home.url : urls[source - 1]
  const name = cellName(cell)
  if (baseUrl === undefined) {
    throw new CellFault(
      `${name} lies in a database of its own: TOLLGATE_CELL_URLS must name it as the address number ${source}`,
    )
  }
  const place = source === 0 ? home.place : describePlace(baseUrl)
  return { number: cell, name, url: inCell(baseUrl, cell), place: `${place} (schema ${name})` }
}

const baseOf = ({ source }: Cell, { home, urls }: CellOptions): string =>
  source === 0 ? home.url : (urls[source - 1] ?? '')

const isSameRoot =
  (ring: MasterRing) =>
  async (a: string, b: string): Promise<boolean> => {
    const [one, other] = await Promise.all([unwrapRoots(a, ring), unwrapRoots(b, ring)])
    // The first root secret is last in the list and never changes.
    const [first, same] = [one.at(-1)?.secret, other.at(-1)?.secret]
    return first !== undefined && same !== undefined && first.equals(same)
  }

/**
 * Under the lock of key changes, so that the root secret of cell 0 stays what it is. If somebody else holds it, their
 * change reaches the cell.
 */
async function completeRoot(url: string, { home, masterKey }: CellOptions): Promise<void> {
  const store = await openRotationStore(url)
  if (!store) return
  const database = openDatabase(home.url, () => undefined)
  try {
    const value = await createInstallation(database).read(rootSecretName)
    if (value !== undefined) await followRoot(value, store, masterKey)
  } finally {
    await database.close()
    await store.close()
  }
}

async function refreshCell(cell: Cell, options: CellOptions): Promise<void> {
  const { name, place } = toAddress(cell, options)
  try {
    await ensureCell(cell, options)
  } catch (error) {
    if (!isConnectionLost(error)) throw error
    options.onProgress(
      `warning: ${name} in ${place} is away; its merchants are answered 503 until it is back`,
    )
  }
}

const ensureCell = (cell: Cell, options: CellOptions): Promise<void> =>
  createCell(
    options.home.url,
    {
      number: cell.cell,
      baseUrl: baseOf(cell, options),
      isSameRoot: isSameRoot(toRing(options.masterKey)),
      followRoot: url => completeRoot(url, options),
    },
    options.onProgress,
  )

async function makeCell(cell: Cell, store: DirectoryStore, options: CellOptions): Promise<void> {
  options.onProgress(`making ${cellName(cell.cell)} …`)
  await ensureCell(cell, options)
  await store.addCell(cell.cell, cell.source)
}
