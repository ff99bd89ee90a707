/** A backup of several cells is restored whole or not at all. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { moveMerchant } from '#cells/move.ts'
import { inCell } from '#storage/cells/address.ts'
import { countCell, withClient } from '#storage/cells/create-cell.ts'
import { commandsHere } from '#test/support/command-here.ts'
import { tollgate } from '#test/support/command-line.ts'
import { createCellStage } from '#test/support/database/cells.ts'
import { createEmptyDatabase } from '#test/support/database/database.ts'

test('a restore that lacks the database of a cell keeps nothing, and can be repeated', async () => {
  const stage = await createCellStage()
  const commands = commandsHere(stage.databaseUrl, {
    TOLLGATE_CELL_URLS: stage.otherUrl,
    TOLLGATE_MASTER_KEY: stage.keyText,
  })
  const shops = [
    await commands.json('merchant', 'create', '--name', 'One'),
    await commands.json('merchant', 'create', '--name', 'Other'),
  ]
  expect((await countCell(stage.cells[1]?.url ?? '')).merchants).toBe(1)
  const file = join(commands.folder, 'all.gz')
  await commands.json('backup', '--out', file)
  const [home, other] = [await createEmptyDatabase(), await createEmptyDatabase()]
  const settings = { TOLLGATE_MASTER_KEY: stage.keyText }
  const without = commandsHere(home.url, settings)
  const refused = await without.run('restore', file)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('name it in TOLLGATE_CELL_URLS') })
  const complete = commandsHere(home.url, { ...settings, TOLLGATE_CELL_URLS: other.url })
  await complete.json('restore', file)
  const ids = (await complete.json('merchant', 'list')).map(
    ({ merchantId }: { merchantId: string }) => merchantId,
  )
  expect(ids).toEqual(expect.arrayContaining(shops.map(({ merchantId }) => merchantId)))
  for (const opened of [commands, without, complete]) opened.remove()
  for (const database of [home, other, stage]) await database.drop()
})

test('a backup during which a merchant moves is refused, since the merchant may be in no part; one that cannot be written is named', async () => {
  const stage = await createCellStage()
  const settings = { TOLLGATE_MASTER_KEY: stage.keyText }
  const commands = commandsHere(stage.databaseUrl, { ...settings, TOLLGATE_CELL_URLS: stage.otherUrl })
  await commands.json('merchant', 'create', '--name', 'One')
  const { merchantId } = await commands.json('merchant', 'create', '--name', 'Other')
  const file = join(commands.folder, 'all.gz')
  await commands.json('cells', 'add')
  const cells = [...stage.cells, { number: 2, name: 'cell_02', url: inCell(stage.databaseUrl, 2), place: '' }]
  await moveMerchant({ cells, merchantId, to: 2 })
  await withClient(stage.cells[1]?.url ?? '', async client => {
    // The backup has begun to read cell 1, which does not have the merchant yet, and waits there for this lock.
    await client.query('BEGIN; LOCK TABLE audit IN ACCESS EXCLUSIVE MODE')
    const backup = tollgate(['backup', '--out', file], {
      ...settings,
      DATABASE_URL: stage.databaseUrl,
      TOLLGATE_CELL_URLS: stage.otherUrl,
      TOLLGATE_DATA: commands.folder,
    })
    await vi.waitFor(async () => {
      const waiting = await client.query(
        "SELECT 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessShareLock'",
      )
      expect(waiting.rowCount).toBeGreaterThan(0)
    }, 30_000)
    await moveMerchant({ cells, merchantId, to: 1 })
    await client.query('COMMIT')
    expect(await backup).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${merchantId} was moved to another cell while the backup was written`),
    })
  })
  expect(existsSync(file)).toBe(false)
  expect(await commands.run('backup', '--out', file)).toMatchObject({ code: 0 })
  // The folder can be listed, but the draft beside the file cannot be made: its name is too long.
  const unwritable = await commands.run('backup', '--out', join(commands.folder, 'x'.repeat(230)))
  expect(unwritable).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('cannot be written (ENAMETOOLONG); no backup was made'),
  })
  commands.remove()
  await stage.drop()
})
