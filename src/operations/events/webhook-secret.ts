/** Secrets that sign webhooks: made from chance, kept sealed and bound to their merchant. */
import { type KeyObject, randomBytes } from 'node:crypto'
import type { MerchantId } from '#domain/ids.ts'
import { seal, unseal } from '#vault/sealing.ts'

/** 32 bytes: as long as the signature, and within what the specification allows. */
const secretBytes = 32

/** The merchant, or one of its endpoints. */
export interface SecretOwner {
  readonly merchantId: MerchantId
  readonly endpointId?: string
}

const placeOf = ({ merchantId, endpointId }: SecretOwner): string =>
  `webhook secret ${endpointId === undefined ? merchantId : `${merchantId} ${endpointId}`}`

export function makeWebhookSecret(
  key: KeyObject,
  owner: SecretOwner,
): { readonly shown: string; readonly sealed: Buffer } {
  const secret = randomBytes(secretBytes)
  return { shown: `whsec_${secret.toString('base64')}`, sealed: seal(key, secret, placeOf(owner)) }
}

export const openWebhookSecret = (key: KeyObject, owner: SecretOwner, sealed: Buffer): Buffer =>
  unseal(key, sealed, placeOf(owner))
