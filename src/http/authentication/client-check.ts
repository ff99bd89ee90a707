/** Is this API key a live key of this merchant? The answer takes the same work for a wrong key and an unknown merchant. */
import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { hashApiKey, hashBoundKey, type LiveKey, readApiKey } from '#domain/api-key.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Credentials } from '#http/server/ports.ts'

export interface ClientCheck {
  readonly credentials: Credentials
  readonly pepper: KeyObject
}

export interface Client {
  readonly merchant: Merchant
  readonly key: LiveKey
}

/** What a merchant id can look like; anything else is not even asked for, but costs the same. */
const merchantIdForm = /^[\x21-\x7e]{1,30}$/

export const isMerchantId = (text: string): boolean => merchantIdForm.test(text)

/** The hash of a key that nobody has: what an unknown merchant's key is compared with. */
const nobodysHash = createHmac('sha256', randomBytes(32)).update(randomBytes(32)).digest('hex')

export async function findClient(
  merchantId: string,
  apiKey: string,
  { credentials, pepper }: ClientCheck,
): Promise<Client | undefined> {
  const found = isMerchantId(merchantId) ? await credentials.find(merchantId) : undefined
  const candidates = found ? found.keys.map(key => ({ merchant: found.merchant, key })) : []
  return pickClient(apiKey, merchantId, { candidates, pepper })
}

/** For the scheme that sends a bare key: the key's text names its row. Older keys are found by their hash. */
export async function findClientByKey(
  apiKey: string,
  { credentials, pepper }: ClientCheck,
): Promise<Client | undefined> {
  const named = readApiKey(apiKey)
  const candidates = named
    ? await credentials.findByKeyId(named.keyId)
    : await credentials.findByKeyHash(hashApiKey(pepper, apiKey))
  for (const candidate of candidates) {
    const { merchantId } = candidate.merchant
    const client = pickClient(apiKey, merchantId, { candidates: [candidate], pepper })
    if (client) return client
  }
  return undefined
}

function pickClient(
  apiKey: string,
  merchantId: string,
  { candidates, pepper }: { readonly candidates: readonly Client[]; readonly pepper: KeyObject },
): Client | undefined {
  const named = readApiKey(apiKey)
  const given = named ? hashBoundKey(pepper, merchantId, apiKey) : hashApiKey(pepper, apiKey)
  let matched: Client | undefined
  // Every live key is compared to the end, so that the time tells nothing about which one was close.
  for (const candidate of candidates) {
    const { keyHash, bound, keyId } = candidate.key
    // A hash that covers the text alone must not answer for a key whose hash covers its merchant, or the other way round.
    const sameForm = bound === (named !== undefined) && (named === undefined || named.keyId === keyId)
    if (isSame(keyHash, given) && sameForm) matched = candidate
  }
  if (candidates.length === 0) isSame(nobodysHash, given)
  return matched
}

function isSame(known: string, given: string): boolean {
  const [a, b] = [Buffer.from(known, 'latin1'), Buffer.from(given, 'latin1')]
  return a.length === b.length && timingSafeEqual(a, b)
}
