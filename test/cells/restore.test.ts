/** A backup of several cells is restored whole or not at all. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { countCell } from '#storage/cells/create-cell.ts'
import { commandsHere } from '#test/support/command-here.ts'
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
