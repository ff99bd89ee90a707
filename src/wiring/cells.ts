/**
 * Wires the cells of one process: cell 0 always, the others as far as they can be reached. One that is away is looked for
 * again while the others serve; until then its merchants are answered 503.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Directory, openDirectory } from '#cells/directory.ts'
import { chooseEmptiest } from '#cells/open-merchants.ts'
import { type CellFinder, type CellStores, routeStores } from '#cells/stores.ts'
import type { CellAddress } from '#storage/cells/address.ts'
import { createDirectoryStore } from '#storage/cells/directory-store.ts'
import { MerchantUnavailable } from '#storage/cells/unavailable.ts'
import { isConnectionLost } from '#storage/database.ts'
import { type Cell, openCell, type Shared } from '#wiring/cell.ts'

export interface Cells {
  /** Cell 0: the directory, operators, the audit trail, and merchants of its own. */
  readonly home: Cell
  /** Those that can be reached, cell 0 first. */
  all(): readonly Cell[]
  /** The names of those that cannot. */
  away(): readonly string[]
  /** Works in the cell of a merchant. Throws MerchantUnavailable when that is not possible at this moment. */
  visit<T>(merchantId: string, work: (cell: Cell) => Promise<T>): Promise<T>
  /** Merchants, keys and endpoints of all cells. */
  readonly stores: CellStores
  /** False: there is cell 0 only, and nobody needs to be found. */
  readonly several: boolean
  claim(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
}

/** 2 s: a database that is back is found soon, and one that is not costs next to nothing. */
const lookAgainMs = 2_000

export async function openCells(shared: Shared): Promise<Cells> {
  const { options } = shared
  const others = options.cells ?? []
  let directory: Directory | undefined
  let cells: Cells | undefined
  const home = await openCell({
    ...shared,
    address: { number: 0, url: options.databaseUrl },
    gate: others.length === 0 ? undefined : merchantId => directory?.enter(merchantId, 0),
    onAnnouncement: async () => {
      // A merchant that comes to a cell brings its faults along, and is served there after the refresh.
      await loadFaults(cells?.all() ?? [], shared)
      await directory?.refresh()
    },
  })
  if (others.length === 0) return createSingle(home)
  try {
    directory = await openDirectory(createDirectoryStore(home.database))
  } catch (error) {
    await home.stop()
    throw error
  }
  cells = await openOthers({ shared, home, directory, others })
  return cells
}

/** A cell that is away keeps nobody waiting; it looks again when it is back. */
async function loadFaults(cells: readonly Cell[], { logger }: Shared): Promise<void> {
  for (const { faults, number } of cells)
    await faults.load().catch((err: unknown) => {
      if (!isConnectionLost(err)) throw err
      logger.warn({ err, component: `cell ${number}` }, 'ordered faults were not read')
    })
}

const createSingle = (home: Cell): Cells => ({
  home,
  several: false,
  all: () => [home],
  away: () => [],
  visit: (_, work) => work(home),
  stores: home,
  claim: home.claim,
  start: home.start,
  stop: home.stop,
})

interface Group {
  readonly shared: Shared
  readonly home: Cell
  readonly directory: Directory
  readonly others: readonly CellAddress[]
}

async function openOthers(group: Group): Promise<Cells> {
  const { home, directory, others } = group
  const opener = createOpener(group)
  for (const address of others) await opener.open(address)
  const { opened } = opener
  const all = (): readonly Cell[] => [...opened.values()].sort((a, b) => a.number - b.number)
  const visit: Cells['visit'] = (merchantId, work) =>
    directory.visit(merchantId, number => {
      const cell = opened.get(number)
      if (!cell) throw new MerchantUnavailable('the cell of the merchant is away')
      return work(cell)
    })
  const away = (): readonly string[] =>
    others.filter(({ number }) => opened.get(number)?.presence.isAlive() !== true).map(({ name }) => name)
  const finder: CellFinder = {
    ...{ visit, all, away, locate: directory.locate },
    placeNew: merchantId => placeNew(merchantId, home, all()),
  }
  return {
    ...{ home, all, away, visit, several: true, stores: routeStores(finder) },
    claim: home.claim,
    async start() {
      const found = all()
      opener.startThoseToCome()
      for (const cell of found) await startPatiently(cell, group.shared)
    },
    async stop() {
      await opener.stop()
      // Cell 0 last: the others write their audit trail there.
      for (const cell of all().toReversed()) await cell.stop()
    },
  }
}

/** 5: a busy machine that starts many connections at once may let some of them time out. */
const maximumTries = 5

/** Nothing has begun when a start fails, so it can be tried again. */
async function startPatiently(cell: Cell, { logger }: Shared): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await cell.start()
    } catch (err) {
      if (!isConnectionLost(err) || tries === maximumTries) throw err
      logger.warn({ err, component: `cell ${cell.number}` }, 'the workers could not be started; once more')
      await delay(lookAgainMs)
    }
  }
}

/** Opens cells, and goes on looking for those that are away. Once open, a cell's pools find its database by themselves. */
function createOpener({ shared, home, directory }: Group) {
  const opened = new Map<number, Cell>([[0, home]])
  const stopped = new AbortController()
  const looking: Promise<void>[] = []
  let started = false

  async function openNow(address: CellAddress): Promise<void> {
    const cell = await openCell({
      ...shared,
      address,
      home: home.database,
      gate: merchantId => directory.enter(merchantId, address.number),
    })
    await cell.claim()
    opened.set(address.number, cell)
    if (started) await startPatiently(cell, shared)
  }

  async function keepLooking(address: CellAddress): Promise<void> {
    while (!stopped.signal.aborted && !opened.has(address.number)) {
      await delay(lookAgainMs, undefined, { signal: stopped.signal }).catch(() => undefined)
      if (stopped.signal.aborted) return
      await openNow(address).catch(err =>
        shared.logger.warn({ err, component: address.name }, 'the cell cannot be opened yet'),
      )
    }
  }

  return {
    opened,
    startThoseToCome: () => {
      started = true
    },
    async open(address: CellAddress): Promise<void> {
      try {
        await openNow(address)
      } catch (error) {
        if (!isConnectionLost(error)) {
          for (const cell of opened.values()) await cell.stop()
          throw error
        }
        shared.logger.error({ err: error, component: address.name }, 'the cell is away; the others serve')
        looking.push(keepLooking(address))
      }
    },
    async stop(): Promise<void> {
      stopped.abort()
      await Promise.all(looking)
    },
  }
}

/** The emptiest of those that can be reached. */
async function placeNew(merchantId: string, home: Cell, cells: readonly Cell[]): Promise<Cell> {
  const store = createDirectoryStore(home.database)
  const emptiest = await chooseEmptiest(store, cells)
  await store.place(merchantId, emptiest.number)
  return emptiest
}
