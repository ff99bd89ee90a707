import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import { createCardVault } from '#vault/cards.ts'

const merchantId = 'M1' as MerchantId
const card = new Secret('4111111111111111')

/** A vault whose database must never be queried: a cached card needs neither the database nor older keys. */
function startVault() {
  const dataKey = { version: 1, key: createSecretKey(randomBytes(32)) }
  const clock = { nowMs: 0 }
  const unused = () => Promise.reject(new Error('the database is not asked'))
  const vault = createCardVault({
    fingerprintKeys: () => [createSecretKey(Buffer.alloc(32, 1))],
    keyRing: { current: async () => dataKey, byVersion: async () => dataKey },
    store: { findCard: unused, findCardById: unused },
    nowMs: () => clock.nowMs,
  })
  const admit = async () => {
    const admitted = await vault.admit(merchantId, card, { expiryDate: '203012' })
    if (!admitted) throw new Error('the card was not admitted')
    return admitted
  }
  const remember = async () => vault.remember({ ...(await admit()), merchantId })
  const rememberOthers = async (count: number) => {
    const known = await admit()
    for (let nth = 0; nth < count; nth += 1) vault.remember({ ...known, cardId: `card ${nth}`, merchantId })
  }
  return { vault, clock, admit, remember, rememberOthers }
}

describe('a card that was stored', () => {
  test('is not written again while it is among the newest ten thousand', async () => {
    const { admit, remember, rememberOthers } = startVault()
    expect((await admit()).row).toMatchObject({ merchantId, keyVersion: 1 })
    await remember()
    expect((await admit()).row).toBeUndefined()
    await rememberOthers(9_999)
    expect((await admit()).row).toBeUndefined()
    await rememberOthers(1)
    expect((await admit()).row).toBeUndefined()
  })

  test('is written again after twenty thousand others, because the cache is bounded', async () => {
    const { admit, remember, rememberOthers } = startVault()
    await remember()
    await rememberOthers(20_001)
    expect((await admit()).row).toBeDefined()
  })

  test('is written again when an hour has passed, because it may have been purged', async () => {
    const { admit, remember, clock } = startVault()
    await remember()
    clock.nowMs = 3_599_999
    expect((await admit()).row).toBeUndefined()
    clock.nowMs = 3_600_000
    expect((await admit()).row).toBeDefined()
  })

  test.each([0, 10_000])('is written again once it was destroyed, %i others later', async others => {
    const { vault, admit, remember, rememberOthers } = startVault()
    await remember()
    await rememberOthers(others)
    const { cardId, row } = await admit()
    expect(row).toBeUndefined()
    vault.forget(merchantId, cardId)
    expect((await admit()).row).toBeDefined()
  })
})
