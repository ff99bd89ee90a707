/** Checks whether an API key is a live key of a merchant. A wrong key and an unknown merchant take the same time. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { hashApiKey, hashBoundKey, type LiveKey, type Peppers, readApiKey } from '#domain/api-key.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Credentials } from '#http/server/ports.ts'

/** The peppers of a cell at one moment. */
export interface HashKeys {
  readonly peppers: Peppers
  /** Loads new peppers, if there are any; those above stay. */
  refresh(): Promise<void>
}

export interface ClientCheck {
  readonly credentials: Credentials
  /** Those of the merchant's cell, because a new root secret reaches one cell after the other; else those of cell 0. */
  readonly hashKeysOf: (merchantId?: string) => Promise<HashKeys>
  /** Those of all cells. */
  readonly allHashKeys: () => readonly HashKeys[]
}

export interface Client {
  readonly merchant: Merchant
  readonly key: LiveKey
}

/** The form of a merchant id. Other text is not looked up, but takes the same time. */
const merchantIdForm = /^[\x21-\x7e]{1,30}$/

export const isMerchantId = (text: string): boolean => merchantIdForm.test(text)

/** A random hash. An unknown merchant's key is compared with it, so that the check takes the same time. */
const nobodysHash = createHmac('sha256', randomBytes(32)).update(randomBytes(32)).digest('hex')

export async function findClient(
  merchantId: string,
  apiKey: string,
  check: ClientCheck,
): Promise<Client | undefined> {
  const isKnowable = isMerchantId(merchantId)
  return retryWithFreshPeppers(
    async () => [await check.hashKeysOf(isKnowable ? merchantId : undefined)],
    async ([hashKeys]) => {
      const found = isKnowable ? await check.credentials.find(merchantId) : undefined
      const candidates = found ? found.keys.map(key => ({ merchant: found.merchant, key })) : []
      return pickClient(apiKey, merchantId, { candidates, peppers: hashKeys?.peppers ?? [] })
    },
  )
}

/** For requests with a bare API key. The key's text contains its id; older keys are found by their hash. */
export async function findClientByKey(apiKey: string, check: ClientCheck): Promise<Client | undefined> {
  const named = readApiKey(apiKey)
  const { findByKeyId } = check.credentials
  return retryWithFreshPeppers(
    async () => check.allHashKeys(),
    async known => {
      const candidates = named
        ? await findByKeyId(named.keyId)
        : await findByKeyHash(apiKey, known, check.credentials)
      for (const candidate of candidates) {
        const { merchantId } = candidate.merchant
        const { peppers } = await check.hashKeysOf(merchantId)
        const client = pickClient(apiKey, merchantId, { candidates: [candidate], peppers })
        if (client) return client
      }
      return undefined
    },
  )
}

/** The cell is not known yet, so the hash of each is looked for; while none lags behind, all of them are the same. */
async function findByKeyHash(
  apiKey: string,
  known: readonly HashKeys[],
  credentials: Credentials,
): Promise<readonly Client[]> {
  const hashes = new Set(known.map(({ peppers }) => hashApiKey(peppers, apiKey, firstPepper)))
  const found = await Promise.all([...hashes].map(keyHash => credentials.findByKeyHash(keyHash)))
  return found.flat()
}

/**
 * Another process may have just created a new pepper and hashed all keys with it, so a failed check is repeated once.
 * The peppers are taken before the rows are read: peppers that are known were used for all rows already.
 */
async function retryWithFreshPeppers(
  readKnown: () => Promise<readonly HashKeys[]>,
  find: (known: readonly HashKeys[]) => Promise<Client | undefined>,
): Promise<Client | undefined> {
  const known = await readKnown()
  const client = await find(known)
  if (client) return client
  await Promise.all(known.map(hashKeys => hashKeys.refresh()))
  const fresh = await readKnown()
  const isSameAsBefore = fresh.every(({ peppers }, at) => peppers === known[at]?.peppers)
  return isSameAsBefore ? undefined : find(fresh)
}

/** Keys whose text contains no id were made when there was only the first pepper. */
const firstPepper = 1

function pickClient(
  apiKey: string,
  merchantId: string,
  { candidates, peppers }: { readonly candidates: readonly Client[]; readonly peppers: Peppers },
): Client | undefined {
  const named = readApiKey(apiKey)
  const hashSince = (since?: number): string =>
    named ? hashBoundKey(peppers, { merchantId, apiKey, since }) : hashApiKey(peppers, apiKey, firstPepper)
  let matched: Client | undefined
  // Every live key is compared completely, so that the time does not reveal a partial match.
  for (const candidate of candidates) {
    const { keyHash, bound, keyId, pepper } = candidate.key
    // A hash of the key alone must not match a key whose hash also covers the merchant, or vice versa.
    const sameForm = bound === (named !== undefined) && (named === undefined || named.keyId === keyId)
    if (isSame(keyHash, hashSince(pepper)) && sameForm) matched = candidate
  }
  if (candidates.length === 0) isSame(nobodysHash, hashSince())
  return matched
}

function isSame(known: string, given: string): boolean {
  const [a, b] = [Buffer.from(known, 'latin1'), Buffer.from(given, 'latin1')]
  return a.length === b.length && timingSafeEqual(a, b)
}
