/** Is this API key a live key of this merchant? The answer takes the same work for a wrong key and an unknown merchant. */
import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { hashApiKey } from '#domain/api-key.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Credentials } from '#http/server/ports.ts'

export interface ClientCheck {
  readonly credentials: Credentials
  readonly pepper: KeyObject
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
): Promise<Merchant | undefined> {
  const given = Buffer.from(hashApiKey(pepper, apiKey), 'latin1')
  const found = isMerchantId(merchantId) ? await credentials.find(merchantId) : undefined
  let matched = false
  // Every live key is compared to the end, so that the time tells nothing about which one was close.
  for (const hash of found?.keyHashes ?? [nobodysHash]) {
    const known = Buffer.from(hash, 'latin1')
    if (known.length === given.length && timingSafeEqual(known, given)) matched = true
  }
  return matched ? found?.merchant : undefined
}
