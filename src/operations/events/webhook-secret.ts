/** Secrets that sign webhooks: made from chance, kept sealed and bound to their merchant. */
import { type KeyObject, randomBytes } from 'node:crypto'
import type { MerchantId } from '#domain/ids.ts'
import { seal, unseal } from '#vault/sealing.ts'

/** 32 bytes: as long as the signature, and within what the specification allows. */
const secretBytes = 32

const placeOf = (merchantId: MerchantId): string => `webhook secret ${merchantId}`

export function makeWebhookSecret(
  key: KeyObject,
  merchantId: MerchantId,
): { readonly shown: string; readonly sealed: Buffer } {
  const secret = randomBytes(secretBytes)
  return { shown: `whsec_${secret.toString('base64')}`, sealed: seal(key, secret, placeOf(merchantId)) }
}

export const openWebhookSecret = (key: KeyObject, merchantId: MerchantId, sealed: Buffer): Buffer =>
  unseal(key, sealed, placeOf(merchantId))
