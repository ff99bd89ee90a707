/**
 * The token in the address of a customer's page: the merchant and the payment, sealed so that it can be neither forged
 * nor read. Nothing is stored, so a token costs nothing and works in every process of the installation.
 */
import { createCipheriv, createDecipheriv, createHmac, type KeyObject, randomBytes } from 'node:crypto'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { PageKey } from '#vault/key-ring.ts'

/**
 * The subject of a page. With a step it is the page of a provider or issuer, valid for that try with that method only.
 */
export interface PageSubject {
  readonly merchantId: MerchantId
  readonly payId: PayId
  /**
   * The payment's first operation, whose id only the gateway and its merchant know. Addresses of earlier releases lack
   * it.
   */
  readonly first?: XId | undefined
  readonly step?: { readonly xId: XId; readonly type: string }
}

/** The content of an address. */
export interface OpenedPage extends PageSubject {
  /**
   * Sealed with the key of a replaced root secret, which may have been stolen. The caller must accept such an address
   * only if it names an operation of its payment: a thief of the old key who knows only the payId cannot forge one.
   */
  readonly isOld: boolean
}

export interface PageTokens {
  issue(subject: PageSubject): string
  /** Returns undefined for a token that we have not issued. */
  read(pageToken: string): OpenedPage | undefined
}

const nonceBytes = 12
const tagBytes = 16
/** 16 bytes: an address contains 128 random bits, so guessing it is as hopeless as guessing the key. */
const saltBytes = 16
/** 512: twice the longest token, which has the longest merchant id and the longest method name. */
const longestToken = 512

type Contents = [merchantId: MerchantId, payId: PayId, xId?: XId | null, type?: string]

/**
 * `keys`: the newest first; it seals. The others open addresses of payments made while they were the newest, or
 * earlier: a thief of an old key cannot forge an address for a later payment.
 */
export function createPageTokens(keys: () => readonly [PageKey, ...PageKey[]]): PageTokens {
  return {
    issue({ merchantId, payId, first, step }) {
      const [{ key }] = keys()
      const contents: Contents = step ? [merchantId, payId, step.xId, step.type] : [merchantId, payId, first]
      const text = JSON.stringify(contents)
      // A repeated request to a provider must contain the same address, so the nonce and salt of a try's address are
      // derived from the try.
      const chance = step
        ? createHmac('sha256', key).update(`address ${text}`).digest()
        : randomBytes(nonceBytes + saltBytes)
      const nonce = chance.subarray(0, nonceBytes)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const salted = Buffer.concat([chance.subarray(nonceBytes, nonceBytes + saltBytes), Buffer.from(text)])
      const sealed = Buffer.concat([cipher.update(salted), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
    },

    read(pageToken) {
      if (pageToken.length > longestToken || !/^[\w-]+$/.test(pageToken)) return undefined
      const sealed = Buffer.from(pageToken, 'base64url')
      // Base64 decoding ignores excess bits at the end; without this check several texts would be the same token.
      if (sealed.toString('base64url') !== pageToken) return undefined
      const opened = openWithAny(keys(), sealed)
      if (!opened) return undefined
      const [merchantId, payId, xId, type] = opened.contents
      if (opened.beforeMs !== undefined && madeAtMs(payId) >= opened.beforeMs) return undefined
      const { isOld } = opened
      const named = xId ?? undefined
      return named !== undefined && type !== undefined
        ? { merchantId, payId, step: { xId: named, type }, isOld }
        : { merchantId, payId, first: named, isOld }
    },
  }
}

function openWithAny(
  keys: readonly PageKey[],
  sealed: Buffer,
):
  | { readonly contents: Contents; readonly beforeMs: number | undefined; readonly isOld: boolean }
  | undefined {
  for (const [index, { key, beforeMs }] of keys.entries()) {
    const salted = unseal(key, sealed)
    if (!salted) continue
    // The cast holds, because the seal proves that this file wrote the contents.
    const contents = JSON.parse(salted.toString('utf8', saltBytes)) as Contents
    return { contents, beforeMs, isOld: index > 0 }
  }
  return undefined
}

/** A payId begins with the real time of its creation in milliseconds (UUID version 7). */
const madeAtMs = (payId: PayId): number => Number.parseInt(payId.slice(0, 12), 16)

function unseal(key: KeyObject, bytes: Buffer): Buffer | undefined {
  if (bytes.length < nonceBytes + tagBytes + saltBytes) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  })
  decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
  const start = decipher.update(bytes.subarray(nonceBytes + tagBytes))
  try {
    return Buffer.concat([start, decipher.final()])
  } catch {
    // Not sealed by us, or changed in transit.
    return undefined
  }
}
