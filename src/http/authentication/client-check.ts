/** Checks whether an API key is a live key of a merchant. A wrong key and an unknown merchant take the same time. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { hashApiKey, hashBoundKey, type LiveKey, type Peppers, readApiKey } from '#domain/api-key.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Credentials } from '#http/server/ports.ts'

export interface ClientCheck {
  readonly credentials: Credentials
  readonly peppers: () => Peppers
  /** Loads new peppers; returns whether there were any. */
  readonly refreshPeppers: () => Promise<boolean>
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
  return retryWithFreshPeppers(check, async () => {
    const found = isMerchantId(merchantId) ? await check.credentials.find(merchantId) : undefined
    const candidates = found ? found.keys.map(key => ({ merchant: found.merchant, key })) : []
    return pickClient(apiKey, merchantId, { candidates, peppers: check.peppers() })
  })
}

/** For requests with a bare API key. The key's text contains its id; older keys are found by their hash. */
export async function findClientByKey(apiKey: string, check: ClientCheck): Promise<Client | undefined> {
  const named = readApiKey(apiKey)
  return retryWithFreshPeppers(check, async () => {
    const peppers = check.peppers()
    const candidates = named
      ? await check.credentials.findByKeyId(named.keyId)
      : await check.credentials.findByKeyHash(hashApiKey(peppers, apiKey, firstPepper))
    for (const candidate of candidates) {
      const { merchantId } = candidate.merchant
      const client = pickClient(apiKey, merchantId, { candidates: [candidate], peppers })
      if (client) return client
    }
    return undefined
  })
}

/**
 * Another process may have just created a new pepper and hashed all keys with it, so a failed check is repeated once.
 */
async function retryWithFreshPeppers(
  { refreshPeppers }: ClientCheck,
  find: () => Promise<Client | undefined>,
): Promise<Client | undefined> {
  return (await find()) ?? ((await refreshPeppers()) ? find() : undefined)
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
