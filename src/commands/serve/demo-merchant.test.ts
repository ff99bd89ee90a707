/** The credentials of the demo merchant in the data folder, and what happens where they cannot be stored. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readDemoMerchant, readOrCreateDemoMerchant } from '#commands/serve/demo-merchant.ts'
import { MerchantUnavailable } from '#storage/cells/directory-store.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-demo-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function countingMerchants() {
  const created: string[] = []
  return {
    created,
    list: async () => [],
    async create(name: string) {
      created.push(name)
      return { merchantId: 'mer_1', apiKey: 'a key', webhookSecret: 'a secret' }
    },
  }
}

test('the credentials of a new demo merchant are stored, and nothing else is left in the folder', async () => {
  const directory = join(folder, 'new')
  const made = await readOrCreateDemoMerchant(directory, countingMerchants())
  expect(made.apiKey).toBe('a key')
  expect(await readDemoMerchant(directory)).toEqual(made)
  expect(readdirSync(directory)).toEqual(['demo.json'])
})

test('where its credentials cannot be stored no demo merchant is made, and one sentence says what to do', async () => {
  writeFileSync(join(folder, 'file'), '')
  const merchants = countingMerchants()
  const directory = join(folder, 'file', 'data')
  await expect(readOrCreateDemoMerchant(directory, merchants)).rejects.toThrow(
    /^the demo merchant cannot be kept in the data folder .* \(ENOTDIR\): make it writable/,
  )
  expect(merchants.created).toEqual([])
})

test('the demo merchant of a cell that is away keeps its credentials, and no second one is made', async () => {
  const directory = join(folder, 'away')
  const made = await readOrCreateDemoMerchant(directory, countingMerchants())
  const asked: string[] = []
  const merchants = {
    ...countingMerchants(),
    async list(merchantId: string) {
      asked.push(merchantId)
      throw new MerchantUnavailable('its cell is away')
    },
  }
  expect(await readOrCreateDemoMerchant(directory, merchants)).toEqual(made)
  expect([asked, merchants.created]).toEqual([['mer_1'], []])
})

test('a folder in the place of the credentials is named', async () => {
  const directory = join(folder, 'mounted')
  mkdirSync(join(directory, 'demo.json'), { recursive: true })
  await expect(readOrCreateDemoMerchant(directory, countingMerchants())).rejects.toThrow(
    `${join(directory, 'demo.json')}, which holds the demo merchant's credentials, cannot be read (it is a folder: remove it)`,
  )
})
