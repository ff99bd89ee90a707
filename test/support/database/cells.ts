/** A gateway with several cells: two in its own database, one in another. */
import { randomBytes } from 'node:crypto'
import { prepareCells } from '#cells/prepare.ts'
import type { CellAddress } from '#storage/cells/address.ts'
import { createEmptyDatabase, createTestDatabase } from '#test/support/database/database.ts'
import { createMasterRing, type MasterKey, toMasterKey } from '#vault/master-key.ts'

export interface CellStage {
  readonly databaseUrl: string
  readonly cells: readonly CellAddress[]
  readonly masterKey: ReturnType<typeof createMasterRing>
  /** The only key of the ring. */
  readonly key: MasterKey
  /** The same as commands read it. */
  readonly keyText: string
  /** Of the database that the last cell has to itself. */
  readonly otherUrl: string
  drop(): Promise<void>
}

/** cell_01 has a database of its own, cell_02 lies beside cell 0. */
export async function createCellStage(wanted = 3): Promise<CellStage> {
  const home = await createTestDatabase()
  const other = await createEmptyDatabase()
  const keyText = randomBytes(32).toString('base64')
  const key = toMasterKey(keyText, 'the test key')
  const masterKey = createMasterRing(async () => [key])
  const cells = await prepareCells({
    home: { url: home.url, place: 'home' },
    urls: [other.url],
    wanted,
    masterKey,
    describePlace: () => 'other',
    onProgress: () => undefined,
  })
  return {
    databaseUrl: home.url,
    otherUrl: other.url,
    cells,
    masterKey,
    key,
    keyText,
    async drop() {
      await home.drop()
      await other.drop()
    },
  }
}
