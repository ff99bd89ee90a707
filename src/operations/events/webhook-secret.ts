/** Secrets that sign webhooks: random, stored sealed and bound to their merchant. */
import { type KeyObject, randomBytes } from 'node:crypto'
import type { MerchantId } from '#domain/ids.ts'
import { seal, unseal } from '#vault/sealing.ts'

/** 32 bytes: as long as the signature, and within what the specification allows. */
const secretBytes = 32

type Keys = readonly [KeyObject, ...KeyObject[]]

/** The merchant, or one of its endpoints. */
export interface SecretOwner {
  readonly merchantId: MerchantId
  readonly endpointId?: string
}

const placeOf = ({ merchantId, endpointId }: SecretOwner): string =>
  `webhook secret ${endpointId === undefined ? merchantId : `${merchantId} ${endpointId}`}`

/** `keys`: the newest first; it seals. */
export function makeWebhookSecret(
  keys: Keys,
  owner: SecretOwner,
): { readonly shown: string; readonly sealed: Buffer } {
  const secret = randomBytes(secretBytes)
  return { shown: `whsec_${secret.toString('base64')}`, sealed: sealWebhookSecret(keys, owner, secret) }
}

export const sealWebhookSecret = ([newest]: Keys, owner: SecretOwner, secret: Uint8Array): Buffer =>
  seal(newest, secret, placeOf(owner))

export function openWebhookSecret([key, ...older]: Keys, owner: SecretOwner, sealed: Buffer): Buffer {
  const [next, ...rest] = older
  try {
    return unseal(key, sealed, placeOf(owner))
  } catch (error) {
    // Sealed before the newest key was made.
    if (!next) throw error
    return openWebhookSecret([next, ...rest], owner, sealed)
  }
}
