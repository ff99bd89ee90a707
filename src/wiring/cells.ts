/**
 * Wires the cells of one process: cell 0, which is required, and the others if they can be reached. An unavailable cell
 * is retried while the others serve; until then requests of its merchants are answered with 503.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Directory, openDirectory } from '#cells/directory.ts'
import { chooseEmptiest } from '#cells/open-merchants.ts'
import { type CellFinder, type CellStores, routeStores } from '#cells/stores.ts'
import { type Gate, openGate } from '#operations/merchants/gate.ts'
import { type CellAddress, cellName } from '#storage/cells/address.ts'
import { createDirectoryStore, MerchantUnavailable } from '#storage/cells/directory-store.ts'
import { isConnectionLost } from '#storage/database.ts'
import { migrate } from '#storage/migrate.ts'
import { type Cell, openCell } from '#wiring/cell.ts'
import type { Shared } from '#wiring/shared.ts'

export interface Cells {
  /** Cell 0: the directory, operators, the audit trail, and merchants of its own. */
  readonly home: Cell
  /** The cells that were opened, cell 0 first. */
  all(): readonly Cell[]
  /** The names of the unreachable cells; none while there is only cell 0. */
  away(): readonly string[]
  /**
   * Runs work in a merchant's cell. Throws MerchantUnavailable if the merchant is being moved or the cell is
   * unavailable.
   */
  visit<T>(merchantId: string, work: (cell: Cell) => Promise<T>): Promise<T>
  /** The number of the merchant's cell. Throws MerchantUnavailable while the merchant is being moved. */
  locate(merchantId: string): Promise<number>
  /** Merchants, keys and endpoints of all cells. */
  readonly stores: CellStores
  /** False while there is only cell 0, so that no merchant needs to be located. */
  readonly several: boolean
  claim(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** 2 s: a recovered database is found soon, and a retry costs next to nothing. */
const lookAgainMs = 2_000

export async function openCells(shared: Shared): Promise<Cells> {
  const { options } = shared
  const known: CellAddress[] = []
  let directory: Directory | undefined
  let opener: Opener | undefined
  const gateOf =
    (number: number): Gate =>
    merchantId =>
      directory ? directory.enter(merchantId, number) : openGate(merchantId)

  /**
   * Opens cells that were created while we serve. From the first of them on, merchants are looked up in the directory.
   */
  async function grow(addresses: readonly CellAddress[]): Promise<void> {
    const fresh = addresses.filter(({ number }) => number > 0 && !known.some(cell => cell.number === number))
    if (!opener || fresh.length === 0) return
    known.push(...fresh)
    const { database, presence } = opener.home
    directory ??= await openDirectory(createDirectoryStore(database), presence.isCurrent)
    for (const address of fresh) await opener.open(address)
  }

  const home = await openCell({
    ...shared,
    address: { number: 0, url: options.databaseUrl },
    gate: gateOf(0),
    onAnnouncement: async () => {
      if (options.findCells) await grow(await options.findCells())
      // Load the faults before the refresh: from then on a moved merchant, with its faults, is served in its new cell.
      await loadFaults(opener?.all() ?? [], shared)
      await directory?.refresh()
    },
  })
  opener = createOpener({ shared, home, gateOf })
  try {
    await grow(options.cells ?? [])
  } catch (error) {
    await opener.stop()
    throw error
  }
  return join(opener, { known, findDirectory: () => directory })
}

interface Known {
  readonly known: readonly CellAddress[]
  /** Returns undefined while there is only cell 0. */
  readonly findDirectory: () => Directory | undefined
}

function join(opener: Opener, { known, findDirectory }: Known): Cells {
  const { home, opened, all } = opener
  const visit: Cells['visit'] = (merchantId, work) => {
    const directory = findDirectory()
    if (!directory) return work(home)
    return directory.visit(merchantId, number => {
      const cell = opened.get(number)
      if (!cell) throw new MerchantUnavailable('the cell of the merchant is away')
      return work(cell)
    })
  }
  const isAway = (number: number): boolean => opened.get(number)?.presence.isAlive() !== true
  const away = (): readonly string[] =>
    known.length === 0 ? [] : [0, ...known.map(({ number }) => number)].filter(isAway).map(cellName)
  const finder: CellFinder = {
    ...{ visit, all, away, listsAll: false },
    locate: async merchantId => findDirectory()?.locate(merchantId) ?? 0,
    placeNew: async merchantId => (findDirectory() ? placeNew(merchantId, home, all()) : home),
  }
  return {
    ...{ home, all, away, visit, locate: finder.locate, stores: routeStores(finder) },
    get several() {
      return findDirectory() !== undefined
    },
    claim: home.claim,
    start: opener.start,
    stop: opener.stop,
  }
}

/** Loads the requested faults of the simulator. An unavailable cell only causes a warning. */
async function loadFaults(cells: readonly Cell[], { logger }: Shared): Promise<void> {
  for (const { faults, number } of cells)
    await faults.load().catch((err: unknown) => {
      if (!isConnectionLost(err)) throw err
      logger.warn(
        { err, component: `cell ${number}` },
        'the faults that tests have ordered from the simulator could not be read; they have no effect until the cell is back',
      )
    })
}

/** 5 tries: on a busy machine that opens many connections at once, some may time out. */
const maximumTries = 5

/** Starts the cell's workers. A failed start has begun nothing, so it can be retried. */
async function startPatiently(cell: Cell, { logger }: Shared): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await cell.start()
    } catch (err) {
      if (!isConnectionLost(err) || tries === maximumTries) throw err
      logger.warn(
        { err, component: `cell ${cell.number}` },
        'the background workers of this cell could not be started; trying again',
      )
      await delay(lookAgainMs)
    }
  }
}

interface Opener {
  readonly home: Cell
  readonly opened: ReadonlyMap<number, Cell>
  all(): readonly Cell[]
  open(address: CellAddress): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Opens cells, and keeps retrying unavailable ones. Once a cell is open, its connection pools reconnect by themselves.
 */
function createOpener({
  shared,
  home,
  gateOf,
}: {
  readonly shared: Shared
  readonly home: Cell
  readonly gateOf: (number: number) => Gate
}): Opener {
  const opened = new Map<number, Cell>([[0, home]])
  const stopped = new AbortController()
  const looking: Promise<void>[] = []
  let started = false
  const all = (): readonly Cell[] => [...opened.values()].sort((a, b) => a.number - b.number)

  async function openNow(address: CellAddress): Promise<void> {
    const cell = await openCell({ ...shared, address, home: home.database, gate: gateOf(address.number) })
    try {
      await cell.claim()
      if (started) await startPatiently(cell, shared)
    } catch (error) {
      await cell.stop()
      throw error
    }
    // Served only once its workers run: a cell that counts as opened is not opened again.
    opened.set(address.number, cell)
  }

  /** Migrates first: a cell that was unavailable at the start may still have the schema of the previous release. */
  async function openLate(address: CellAddress): Promise<void> {
    await migrate(address.url, { onProgress: line => shared.logger.info({ component: address.name }, line) })
    await openNow(address)
  }

  async function keepLooking(address: CellAddress): Promise<void> {
    while (!stopped.signal.aborted && !opened.has(address.number)) {
      await delay(lookAgainMs, undefined, { signal: stopped.signal }).catch(() => undefined)
      if (stopped.signal.aborted) return
      await openLate(address).catch(err =>
        shared.logger.warn(
          { err, component: address.name },
          'this cell still cannot be reached; trying again',
        ),
      )
    }
  }

  return {
    ...{ home, opened, all },
    async open(address) {
      try {
        await openNow(address)
      } catch (error) {
        if (!isConnectionLost(error)) throw error
        shared.logger.error(
          { err: error, component: address.name },
          'this cell cannot be reached: its merchants are answered 503 until it is back, all others are served',
        )
        looking.push(keepLooking(address))
      }
    },
    async start() {
      const found = all()
      started = true
      for (const cell of found) await startPatiently(cell, shared)
    },
    async stop() {
      stopped.abort()
      await Promise.all(looking)
      // Cell 0 last, because the others write their audit trail there.
      for (const cell of all().toReversed()) await cell.stop()
    },
  }
}

/** Places a new merchant in the emptiest cell that answers. */
async function placeNew(merchantId: string, home: Cell, cells: readonly Cell[]): Promise<Cell> {
  const store = createDirectoryStore(home.database)
  const places = cells.map(cell => ({ number: cell.number, ping: cell.database.ping, cell }))
  const { cell } = await chooseEmptiest(store, places)
  await store.place(merchantId, cell.number)
  return cell
}
