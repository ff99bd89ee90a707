/**
 * Creates new data keys and seals everything again with them. Old data keys stay: other processes may seal with one for
 * a minute more, and backups need them. Every row names the version that sealed it, so an interrupted renewal leaves
 * everything readable.
 */
import { type KeyObject, randomBytes } from 'node:crypto'
import type { MerchantId } from '#domain/ids.ts'
import type { Holding, KeptNumber, Position, RotationStore } from '#storage/vault/key-rotation.ts'
import { accountPlace } from '#vault/accounts.ts'
import { cardPlace } from '#vault/cards.ts'
import { unwrapKey, wrapKey } from '#vault/key-ring.ts'
import type { MasterRing } from '#vault/master-key.ts'
import { recordPlace } from '#vault/sealed-records.ts'
import { seal, unseal } from '#vault/sealing.ts'

export interface RenewalDeps {
  readonly store: RotationStore
  readonly onProgress?: (line: string) => void
  /** 500: a statement of some milliseconds, short enough that its row locks do not delay payments. */
  readonly batch?: number
}

export interface Renewed {
  readonly dataKeys: number
  readonly cards: number
  readonly accounts: number
  /** Credentials and notices of providers, evidence in disputes, codes of operators; absent where there are none. */
  readonly records?: number
}

const keyBytes = 32

export async function renewDataKeys(ring: MasterRing, deps: RenewalDeps): Promise<Renewed> {
  const dataKeys = await makeKeys(ring, deps)
  const cards = await resealAll('cards', ring, deps)
  const accounts = await resealAll('accounts', ring, deps)
  // A record may have megabytes, so only a few are in memory at a time.
  const few = { ...deps, batch: recordBatch }
  let records = 0
  for (const holding of recordHoldings) records += await resealAll(holding, ring, few)
  return { dataKeys, cards, accounts, ...(records > 0 ? { records } : {}) }
}

const recordHoldings = [
  'secrets',
  'notices',
  'evidence',
  'bankFiles',
  'bankEntries',
  'bankSurplus',
  'codes',
] as const

/** 10: ten records of 5 MB use 100 MB, including their resealed form. */
const recordBatch = 10

/** The store holds the lock that prevents a change of the master key at the same time. */
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

async function resealAll(holding: Holding, ring: MasterRing, deps: RenewalDeps): Promise<number> {
  const { store, onProgress, batch = 500 } = deps
  let resealed = 0
  for (let after: Position | undefined; ; ) {
    const kept = await store.findOlder(holding, after, batch)
    if (kept.length === 0) return resealed
    const keys = await openKeys([...new Set(kept.map(({ merchantId }) => merchantId))], ring, store)
    const changes = kept.map(from => ({ from, to: reseal(from, places[holding], keys) }))
    resealed += await store.reseal(holding, changes)
    onProgress?.(`${resealed} ${holding} sealed anew`)
    after = kept.at(-1)
  }
}

/** The data keys of each merchant, the oldest first. */
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

/** The place that a sealed value is bound to, for each kind of row. */
export const places: Readonly<Record<Holding, typeof cardPlace>> = {
  cards: cardPlace,
  accounts: accountPlace,
  secrets: recordPlace('provider secret'),
  notices: recordPlace('provider notice'),
  evidence: recordPlace('dispute file'),
  bankFiles: recordPlace('bank file'),
  bankEntries: recordPlace('bank entry'),
  bankSurplus: recordPlace('bank surplus'),
  codes: recordPlace('operator totp'),
}

function reseal(kept: KeptNumber, placeOf: typeof cardPlace, keys: OpenKeys): KeptNumber {
  const { merchantId, heldId, keyVersion, sealed } = kept
  const known = keys.get(merchantId) ?? []
  const [old, newest] = [known.find(({ version }) => version === keyVersion), known.at(-1)]
  if (!old || !newest) throw new Error(`merchant ${merchantId} has no data key of version ${keyVersion}`)
  const number = unseal(old.key, sealed, placeOf(merchantId, heldId, keyVersion))
  const place = placeOf(merchantId, heldId, newest.version)
  return { ...kept, keyVersion: newest.version, sealed: seal(newest.key, number, place) }
}
