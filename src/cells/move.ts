/**
 * Moves a merchant to another cell. Every process stops serving it first; then its rows are copied, the directory is
 * switched, and the old rows are deleted. If it is interrupted before the switch, nothing has changed; after it, only
 * the deletion is missing. Either way, running the same command again finishes the move.
 */
import type { CellAddress } from '#storage/cells/address.ts'
import { createDirectoryStore, type DirectoryStore, type Place } from '#storage/cells/directory-store.ts'
import { deleteMerchantRows, MovedMeanwhile, withMoveLock, withOpenMove } from '#storage/cells/move-rows.ts'
import { isConnectionLost, openDatabase } from '#storage/database.ts'
import { type Ask, announce, waitUntilAcknowledged } from '#storage/processes/announcements.ts'
import { holdKeys, type KeyHold } from '#storage/vault/key-rotation.ts'

/** The merchant stays where it is; the message is a sentence for the operator. */
export class MoveFault extends Error {}

export interface Moved {
  readonly merchantId: string
  readonly from: string
  readonly to: string
  readonly rows: number
}

/** 20 s: if the mover dies, its merchant is served again after this time. A live mover renews the lease. */
const holdMs = 20_000

/** 5 s: well before the lease expires. */
const renewMs = 5_000

/** 3 tries: rows added during a move come from a process that missed the announcement. */
const maximumTries = 3

/** Named gaps, where tests let the mover die. */
export type MoveCrash = (point: 'held' | 'copied' | 'switched') => Promise<void>

export interface MoveOptions {
  readonly cells: readonly CellAddress[]
  readonly merchantId: string
  readonly to: number
  readonly testCrash?: MoveCrash
}

export async function moveMerchant(options: MoveOptions): Promise<Moved> {
  const { cells, merchantId, to } = options
  const [home] = cells
  const target = cells.find(({ number }) => number === to)
  if (!home || !target)
    throw new MoveFault(
      `there is no cell number ${to}; there are ${cells.map(({ name }) => name).join(', ')}`,
    )
  const database = openDatabase(home.url, () => undefined)
  try {
    const store = createDirectoryStore(database)
    await store.placeAll()
    const moved = await withMoveLock(home.url, merchantId, ask => move(options, { store, ask, target }))
    if (!moved) throw new MoveFault(`${merchantId} is being moved by another command; wait for it`)
    return moved
  } finally {
    await database.close()
  }
}

interface Tools {
  readonly store: DirectoryStore
  readonly ask: Ask
  readonly target: CellAddress
}

async function move(options: MoveOptions, tools: Tools): Promise<Moved> {
  const { cells, merchantId, to } = options
  const { store, target } = tools
  const place = await store.find(merchantId)
  if (!place) throw new MoveFault(`there is no merchant "${merchantId}"; "tollgate merchant list" shows all`)
  const at = (number: number): CellAddress => findCell(cells, number)
  const source = at(place.cell)
  await removeLeftovers(place, at, store)
  const rows =
    place.cell === to ? 0 : await withKeysAtRest([source, target], () => hold(options, tools, source))
  return { merchantId, from: source.name, to: target.name, rows }
}

/** Removes rows that an earlier move has left behind, whatever its target was. The caller holds the move's lock. */
async function removeLeftovers(
  { merchantId, movedFrom, movingTo }: Place,
  at: (cell: number) => CellAddress,
  store: DirectoryStore,
): Promise<void> {
  if (movedFrom !== undefined) {
    await deleteMerchantRows(at(movedFrom).url, merchantId)
    await store.forgetOld(merchantId)
  }
  if (movingTo !== undefined) await removeCopy(merchantId, at(movingTo), store)
}

/**
 * Ends the lease of the move first: a switch whose answer was lost may still be committed, and would make the copy the
 * only data. The directory names the target until the copy is deleted, because without that entry it would never be
 * found.
 */
async function removeCopy(merchantId: string, target: CellAddress, store: DirectoryStore): Promise<void> {
  if (!(await store.stopMove({ merchantId, to: target.number }))) return
  await deleteMerchantRows(target.url, merchantId)
  await store.giveUpMove(merchantId)
}

/**
 * Removes rows left behind by interrupted moves. They are not served, but work that runs in every cell would find them
 * a second time: a file for the bank would hold their debits twice.
 */
export async function removeAllRemains(
  store: DirectoryStore,
  cells: readonly CellAddress[],
  onProgress: (line: string) => void,
): Promise<void> {
  const [home] = cells
  if (!home) return
  const at = (number: number): CellAddress => findCell(cells, number)
  for (const { merchantId } of await store.listUnfinished())
    await withMoveLock(home.url, merchantId, async () => {
      const place = await store.find(merchantId)
      if (place?.movingForMs === undefined && place !== undefined) await removeLeftovers(place, at, store)
    }).catch((error: unknown) => {
      if (!isConnectionLost(error)) throw error
      onProgress(
        `warning: the move of ${merchantId} was cut off, and the cell with what is left over is away`,
      )
    })
}

function findCell(cells: readonly CellAddress[], number: number): CellAddress {
  const found = cells.find(cell => cell.number === number)
  if (!found) throw new MoveFault(`the cell number ${number} does not exist any more`)
  return found
}

/**
 * The hashes of API keys are made with the root secrets of their cell. Where a change of these has reached only one of the two
 * cells, it would later hash the copied keys once too often or too seldom, and they would never work again.
 */
async function withKeysAtRest<T>(cells: readonly CellAddress[], work: () => Promise<T>): Promise<T> {
  const held: KeyHold[] = []
  try {
    for (const { url } of cells) {
      const hold = await holdKeys(url)
      if (!hold) throw new MoveFault('another command is changing the keys; try again when it has finished')
      held.push(hold)
    }
    const roots = await Promise.all(held.map(({ readRoot }) => readRoot()))
    if (new Set(roots).size > 1)
      throw new MoveFault(
        'a change of the root secret was cut off; this command, run again, finishes it first',
      )
    return await work()
  } finally {
    for (const { close } of held) await close()
  }
}

/** Copies and switches while no process serves the merchant. */
async function hold(options: MoveOptions, tools: Tools, source: CellAddress): Promise<number> {
  const { merchantId, to } = options
  const { store, ask } = tools
  if (!(await store.beginMove({ merchantId, to, forMs: holdMs })))
    throw new MoveFault(`${merchantId} cannot be moved at this moment; try again`)
  const announceMove = async (): Promise<boolean> => waitUntilAcknowledged(ask, await announce(ask))
  const renewing = startRenewing(async () => {
    await store.renewMove({ merchantId, to, forMs: holdMs })
    await announce(ask)
  })
  try {
    if (!(await announceMove()))
      throw new MoveFault(`${merchantId} was not moved: its requests under way did not end; try again`)
    await options.testCrash?.('held')
    const rows = await copyAndSwitch(options, tools, source)
    await renewing.stop()
    await announceMove()
    return rows
  } catch (error) {
    await renewing.stop()
    // If the copy cannot be deleted now, the next command deletes it, as after a crash.
    await removeCopy(merchantId, tools.target, store)
    await announceMove()
    throw error
  }
}

async function copyAndSwitch(
  { merchantId, to, testCrash }: MoveOptions,
  { store, target }: Tools,
  source: CellAddress,
): Promise<number> {
  for (let tries = 1; ; tries += 1) {
    try {
      const rows = await withOpenMove({ from: source.url, to: target.url, merchantId }, async open => {
        await open.commitCopy()
        await testCrash?.('copied')
        // Before the switch: afterwards a row that was added since the copy could not be copied any more.
        await open.deleteOld()
        if (!(await store.endMove({ merchantId, to })))
          throw new MoveFault(`${merchantId} was not moved: it took too long; try again`)
        await testCrash?.('switched')
        await open.commitDeletion()
        await store.forgetOld(merchantId)
        return open.rows
      })
      if (rows !== undefined) return rows
      throw new MoveFault(`${merchantId} is not in ${source.name}, where the directory has it`)
    } catch (error) {
      if (!(error instanceof MovedMeanwhile)) throw error
      if (tries === maximumTries)
        throw new MoveFault(`${merchantId} was not moved: ${error.message} during each try; try again`)
    }
  }
}

/** Renews the lease until stopped. If a renewal fails, the switch finds that the lease has expired. */
function startRenewing(renew: () => Promise<void>): { stop(): Promise<void> } {
  let running = Promise.resolve()
  const timer = setInterval(() => {
    running = running.then(renew).catch(() => {})
  }, renewMs)
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
