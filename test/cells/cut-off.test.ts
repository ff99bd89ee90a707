/** A move that was killed leaves rows in a second cell: commands and people must never work with those. */
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { moveMerchant } from '#cells/move.ts'
import { openMerchants } from '#cells/open-merchants.ts'
import { rotateRoot } from '#operations/merchants/rotate-root.ts'
import { withClient } from '#storage/cells/create-cell.ts'
import { withOpenMove } from '#storage/cells/move-rows.ts'
import { waitUntil } from '#storage/embedded/processes.ts'
import { openRotationStore } from '#storage/vault/key-rotation.ts'
import { bankSettings, seedDebits } from '#test/support/bank/debits.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { type CellStage, createCellStage } from '#test/support/database/cells.ts'
import { basic, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

let stage: CellStage
let gateway: TestGateway
let commands: CommandsHere
beforeAll(async () => {
  stage = await createCellStage()
  gateway = await startTestGateway({ ...stage, cells: stage.cells.slice(1) })
  commands = commandsHere(stage.databaseUrl, {
    TOLLGATE_CELL_URLS: stage.otherUrl,
    TOLLGATE_MASTER_KEY: stage.keyText,
  })
})
afterAll(async () => {
  commands.remove()
  await gateway.stop()
  await stage.drop()
})

interface Shop {
  readonly merchantId: string
  readonly apiKey: string
}

/** Lives in cell 0. */
async function openShop(): Promise<Shop> {
  const shop = await gateway.gateway.merchants.create('A shop')
  await moveMerchant({ cells: stage.cells, merchantId: shop.merchantId, to: 0 })
  return shop
}

/** As a killed command leaves it: nothing is tidied up, and the time of the move is over. */
async function cutOff({ merchantId }: Shop, at: 'copied' | 'switched'): Promise<void> {
  const [from, to] = [stage.cells[0]?.url ?? '', stage.cells[2]?.url ?? '']
  if (at === 'copied') {
    await withOpenMove({ from, to, merchantId }, open => open.commitCopy())
    await endTimeOfMove(merchantId)
  } else {
    const died = new Error('killed')
    const cut = moveMerchant({
      ...{ cells: stage.cells, merchantId, to: 2 },
      testCrash: async point => {
        if (point === at) throw died
      },
    })
    await expect(cut).rejects.toBe(died)
  }
  expect(await placesOf(merchantId)).toEqual(['cell_00', 'cell_02'])
}

const endTimeOfMove = (merchantId: string): Promise<unknown> =>
  withClient(stage.databaseUrl, client =>
    client.query(
      `UPDATE merchant_cell SET moving_to = 2, moving_until = now() - interval '1 second' WHERE merchant_id = $1`,
      [merchantId],
    ),
  )

/** As a process writes it that was frozen while the others acknowledged the move. */
const addKey = (merchantId: string, key: string): Promise<unknown> =>
  withClient(stage.databaseUrl, client =>
    client.query(
      `INSERT INTO idempotency_key (merchant_id, verb, path, key, fingerprint, created_at)
       VALUES ($1, 'POST', '/api/v2/payments', $2, repeat('a', 64), now())`,
      [merchantId, key],
    ),
  )

async function placesOf(merchantId: string): Promise<readonly string[]> {
  const names: string[] = []
  for (const { name, url } of stage.cells) {
    const { rows } = await withClient(url, client =>
      client.query('SELECT 1 FROM merchant WHERE merchant_id = $1', [merchantId]),
    )
    if (rows.length > 0) names.push(name)
  }
  return names
}

test.each(['copied', 'switched'] as const)(
  'a debit is in one file for the bank although the move of its merchant was cut off after “%s”',
  async at => {
    const shop = await openShop()
    const account = ['--connector', 'bank', '--name', 'House bank', ...bankSettings]
    const { accountId } = await commands.json('provider', 'add', shop.merchantId, ...account)
    const { databaseUrl } = stage
    await seedDebits(gateway.gateway.engine, { ...shop, databaseUrl, accountId, count: 3 })
    await cutOff(shop, at)
    const { files } = await commands.json('bank', 'batch', '--account', accountId, '--out', commands.folder)
    expect(files).toMatchObject([{ payments: 3, sum: 3006 }])
    expect(await placesOf(shop.merchantId)).toEqual([at === 'copied' ? 'cell_00' : 'cell_02'])
  },
)

test('a move that took too long leaves no copy behind, so that a debit is in one file for the bank', async () => {
  const shop = await openShop()
  const account = ['--connector', 'bank', '--name', 'House bank', ...bankSettings]
  const { accountId } = await commands.json('provider', 'add', shop.merchantId, ...account)
  const { databaseUrl } = stage
  await seedDebits(gateway.gateway.engine, { ...shop, databaseUrl, accountId, count: 3 })
  const slow = moveMerchant({
    ...{ cells: stage.cells, merchantId: shop.merchantId, to: 2 },
    testCrash: async point => {
      if (point === 'copied') await endTimeOfMove(shop.merchantId)
    },
  })
  await expect(slow).rejects.toThrow('took too long')
  expect(await placesOf(shop.merchantId)).toEqual(['cell_00'])
  const { files } = await commands.json('bank', 'batch', '--account', accountId, '--out', commands.folder)
  expect(files).toMatchObject([{ payments: 3, sum: 3006 }])
})

test('a copy to which the directory is switched after all is kept when the move fails', async () => {
  const { merchantId } = await openShop()
  const late = new pg.Client({ connectionString: stage.databaseUrl })
  await late.connect()
  const lost = new Error('the answer of the switch was lost')
  const moved = moveMerchant({
    ...{ cells: stage.cells, merchantId, to: 2 },
    testCrash: async point => {
      if (point !== 'copied') return
      await late.query('BEGIN')
      await late.query(
        `UPDATE merchant_cell SET moved_from = cell, cell = 2, moving_to = NULL, moving_until = NULL WHERE merchant_id = $1`,
        [merchantId],
      )
      throw lost
    },
  })
  const failed = expect(moved).rejects.toBe(lost)
  const isAwaited = async (): Promise<boolean> => {
    const sql = 'SELECT 1 FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))'
    return (await late.query(sql)).rows.length > 0
  }
  expect(await waitUntil(isAwaited, 30_000)).toBe(true)
  await late.query('COMMIT')
  await late.end()
  await failed
  expect(await placesOf(merchantId)).toEqual(['cell_00', 'cell_02'])
  await moveMerchant({ cells: stage.cells, merchantId, to: 2 })
  expect(await placesOf(merchantId)).toEqual(['cell_02'])
})

test('a row that is added in the old cell after the copy is copied as well before the old rows are deleted', async () => {
  const { merchantId } = await openShop()
  let added = false
  await moveMerchant({
    ...{ cells: stage.cells, merchantId, to: 2 },
    testCrash: async point => {
      if (point !== 'copied' || added) return
      added = true
      await addKey(merchantId, 'late')
    },
  })
  expect(await placesOf(merchantId)).toEqual(['cell_02'])
  const { rows } = await withClient(stage.cells[2]?.url ?? '', client =>
    client.query('SELECT key FROM idempotency_key WHERE merchant_id = $1', [merchantId]),
  )
  expect(rows).toEqual([{ key: 'late' }])
})

test('a merchant stays in its cell while rows are added there again and again', async () => {
  const { merchantId } = await openShop()
  let tries = 0
  const moved = moveMerchant({
    ...{ cells: stage.cells, merchantId, to: 2 },
    testCrash: async point => {
      if (point !== 'copied') return
      tries += 1
      await addKey(merchantId, `late ${tries}`)
    },
  })
  await expect(moved).rejects.toThrow('rows were added to idempotency_key')
  expect(tries).toBe(3)
  expect(await placesOf(merchantId)).toEqual(['cell_00'])
})

test('the doctor names what is left over and removes nothing', async () => {
  const shop = await openShop()
  await cutOff(shop, 'switched')
  const { stdout } = await commands.run('doctor')
  expect(stdout).toContain(`merchant ${shop.merchantId}: has rows in cell_00, but lives in cell_02`)
  expect(await placesOf(shop.merchantId)).toEqual(['cell_00', 'cell_02'])
  await moveMerchant({ cells: stage.cells, merchantId: shop.merchantId, to: 2 })
  expect(await placesOf(shop.merchantId)).toEqual(['cell_02'])
})

test('keys, endpoints and settings are changed where the merchant lives, and not in what is left over', async () => {
  const shop = await openShop()
  const { merchants, close } = await openMerchants({ ...stage, environment: 'test' })
  const key = await merchants.createKey(shop.merchantId, { name: 'Till', scopes: ['read'], allowFrom: [] })
  const endpoint = await merchants.endpoints.add({
    merchantId: shop.merchantId,
    url: 'https://shop.example/hook',
    kind: 'ENHANCED',
  })
  await cutOff(shop, 'switched')
  await merchants.set(shop.merchantId, { name: 'A renamed shop' })
  await merchants.revokeKey(key?.keyId ?? '')
  await merchants.endpoints.remove(endpoint?.endpointId ?? '')
  const listed = await merchants.list()
  expect(listed.find(({ merchantId }) => merchantId === shop.merchantId)?.name).toBe('A renamed shop')
  expect((await merchants.listKeys(shop.merchantId))?.map(({ name }) => name)).not.toContain('Till')
  expect(await merchants.endpoints.list(shop.merchantId)).toEqual([])
  await close()
})

test('a merchant is not moved between cells with different root secrets, which hash API keys differently', async () => {
  const shop = await openShop()
  const move = () => moveMerchant({ cells: stage.cells, merchantId: shop.merchantId, to: 2 })
  const open = async (at: number) =>
    (await openRotationStore(stage.cells[at]?.url ?? '')) ?? expect.fail('the lock is held')
  const stores = [await open(0), await open(1), await open(2)] as const
  try {
    await expect(move()).rejects.toThrow('another command is changing the keys')
    const cutOff = () => Promise.reject(new Error('cut off'))
    const broken = stores.map((store, at) => (at === 0 ? store : { ...store, replaceRootWith: cutOff }))
    await expect(rotateRoot(stage.masterKey, { stores: broken })).rejects.toThrow('cut off')
  } finally {
    for (const store of stores) await store.close()
  }
  await expect(move()).rejects.toThrow('a change of the root secret was cut off')
  // Each command begins with what was cut off.
  expect(await commands.json('merchant', 'move', shop.merchantId, '--to', 'cell_02')).toMatchObject({
    to: 'cell_02',
  })
  const headers = { authorization: basic(shop.merchantId, shop.apiKey) }
  expect((await gateway.call('GET', '/payments', undefined, headers)).status).toBe(200)
})

test('two merchants are moved at the same time', async () => {
  const shops = [await openShop(), await openShop()]
  const moves = shops.map(({ merchantId }) => moveMerchant({ cells: stage.cells, merchantId, to: 2 }))
  expect(await Promise.all(moves)).toMatchObject(shops.map(() => ({ to: 'cell_02' })))
})
