/**
 * New data keys below the master key, and every card sealed anew. Old data keys stay: a process may seal with one for a
 * minute more, and backups need them. Every card names the version that sealed it, so whoever is stopped anywhere leaves
 * everything readable.
 */
import { type KeyObject, randomBytes } from 'node:crypto'
import type { MerchantId } from '#domain/ids.ts'
import type { CardPosition, KeptCard, RotationStore } from '#storage/key-rotation.ts'
import { cardPlace } from '#vault/cards.ts'
import { unwrapKey, wrapKey } from '#vault/key-ring.ts'
import type { MasterRing } from '#vault/master-key.ts'
import { seal, unseal } from '#vault/sealing.ts'

export interface RenewalDeps {
  readonly store: RotationStore
  readonly onProgress?: (line: string) => void
  /** 500: a statement of some milliseconds, whose row locks nobody notices. */
  readonly batch?: number
}

export interface Renewed {
  readonly dataKeys: number
  readonly cards: number
}

const keyBytes = 32

export async function renewDataKeys(ring: MasterRing, deps: RenewalDeps): Promise<Renewed> {
  return { dataKeys: await makeKeys(ring, deps), cards: await resealCards(ring, deps) }
}

/** The lock that the store holds keeps the master key from being changed meanwhile. */
async function makeKeys(ring: MasterRing, { store, onProgress, batch = 500 }: RenewalDeps): Promise<number> {
  const [masterKeyId = ''] = (await store.readRoot()).split(':')
  const master = await ring.find(masterKeyId)
  let made = 0
  for (let after = ''; ; ) {
    const merchants = await store.findNewest(after, batch)
    const last = merchants.at(-1)
    if (!last) return made
    for (const { merchantId, keyVersion } of merchants) {
      const key = wrapKey(merchantId, { version: keyVersion + 1, bytes: randomBytes(keyBytes) }, master)
      await store.insertKey({ ...key, merchantId })
    }
    made += merchants.length
    onProgress?.(`${made} data keys made`)
    after = last.merchantId
  }
}

async function resealCards(ring: MasterRing, deps: RenewalDeps): Promise<number> {
  const { store, onProgress, batch = 500 } = deps
  let resealed = 0
  for (let after: CardPosition | undefined; ; ) {
    const cards = await store.findOlderCards(after, batch)
    if (cards.length === 0) return resealed
    const keys = await openKeys([...new Set(cards.map(({ merchantId }) => merchantId))], ring, store)
    resealed += await store.reseal(cards.map(from => ({ from, to: resealCard(from, keys) })))
    onProgress?.(`${resealed} cards sealed anew`)
    after = cards.at(-1)
  }
}

/** By merchant, the oldest first. */
type OpenKeys = ReadonlyMap<MerchantId, readonly { readonly version: number; readonly key: KeyObject }[]>

async function openKeys(
  merchantIds: readonly MerchantId[],
  ring: MasterRing,
  store: RotationStore,
): Promise<OpenKeys> {
  const opened = await Promise.all(
    (await store.findKeys(merchantIds)).map(async row => ({
      merchantId: row.merchantId,
      version: row.keyVersion,
      key: await unwrapKey(row.merchantId, row, ring),
    })),
  )
  return Map.groupBy(opened, ({ merchantId }) => merchantId)
}

function resealCard(card: KeptCard, keys: OpenKeys): KeptCard {
  const { merchantId, cardId, keyVersion, sealed } = card
  const known = keys.get(merchantId) ?? []
  const [old, newest] = [known.find(({ version }) => version === keyVersion), known.at(-1)]
  if (!old || !newest) throw new Error(`merchant ${merchantId} has no data key of version ${keyVersion}`)
  const number = unseal(old.key, sealed, cardPlace(merchantId, cardId, keyVersion))
  const place = cardPlace(merchantId, cardId, newest.version)
  return { ...card, keyVersion: newest.version, sealed: seal(newest.key, number, place) }
}
