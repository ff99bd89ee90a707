/** Blocks of this process beside those that it reads from the database. */
import { expect, test } from 'vitest'
import type { MerchantId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { createVelocity } from '#operations/payments/velocity.ts'
import type { Block, VelocityStore } from '#storage/velocity.ts'

const merchantId = 'mer_1' as MerchantId
const merchant = { merchantId, declinesPerCard: { count: 1, window: 'PT1H' } } as unknown as Merchant
const now = new Date('2026-11-19T12:00:00Z')
const blockedUntil = new Date('2026-11-19T13:00:00Z')
const blockOf = (subject: string, until: Date | undefined = blockedUntil): Block => ({
  ...{ merchantId, kind: 'CARD' as const, subject },
  blockedUntil: until,
})

function open(readChanges: () => Promise<readonly Block[]>) {
  const store = {
    countDecline: async () => blockedUntil,
    readChanges: async () => ({ blocks: await readChanges(), until: now }),
  } as unknown as VelocityStore
  return createVelocity({
    store,
    environment: 'live',
    publishedCardIds: () => new Set(),
    countProcesses: () => 1,
  })
}

const isBlocked = (velocity: ReturnType<typeof open>, cardId: string): boolean =>
  velocity.blocks(merchant, { cardId }, now)

test('a block that is set while older rows are being read stays', async () => {
  const older = Promise.withResolvers<readonly Block[]>()
  const velocity = open(() => older.promise)
  const refreshed = velocity.refresh()
  await velocity.countDecline(merchant, { cardId: 'card' }, now)
  older.resolve([{ ...blockOf('card'), blockedUntil: undefined }, blockOf('other')])
  await refreshed
  expect([isBlocked(velocity, 'card'), isBlocked(velocity, 'other')]).toEqual([true, true])
})

test('a block that ended in the database ends here', async () => {
  const reads: (readonly Block[])[] = [[blockOf('card')], [{ ...blockOf('card'), blockedUntil: undefined }]]
  const velocity = open(async () => reads.shift() ?? [])
  await velocity.refresh()
  expect(isBlocked(velocity, 'card')).toBe(true)
  await velocity.refresh()
  expect(isBlocked(velocity, 'card')).toBe(false)
})

test('a block of this process stays while more blocks of others are read than there is room for', async () => {
  const others = Array.from({ length: 100_001 }, (_, at) => blockOf(`card ${at}`))
  const velocity = open(async () => others)
  await velocity.refresh()
  await velocity.countDecline(merchant, { cardId: 'own' }, now)
  await velocity.refresh()
  expect(isBlocked(velocity, 'own')).toBe(true)
})
