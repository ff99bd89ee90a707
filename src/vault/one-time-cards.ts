/**
 * One-time cards: a card that a customer typed into our fields inside a shop's page, sealed into a token that the shop
 * sends with `POST /payments`. The token holds the sealed card; the database holds the key to it for fifteen minutes or
 * until the token is used, whichever is sooner. So we never store the security code, not even encrypted, and a used or
 * expired token in a shop's log can never be decrypted.
 */
import { createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { isOneTimeToken, readOneTimeToken, writeOneTimeToken } from '#domain/cards/card-numbers.ts'
import type { MerchantId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import type { OneTimeKeyStore } from '#storage/vault/one-time-keys.ts'
import type { RecordVault } from '#vault/sealed-records.ts'
import { seal, unseal } from '#vault/sealing.ts'

export interface OneTimeCard {
  readonly number: Secret<string>
  /** YYYYMM. */
  readonly expiryDate: string
  readonly cardholderName: string
  readonly securityCode: Secret<string>
}

/** A card whose token is claimed by one request, until that has used it up or given it back. */
export interface ClaimedCard extends OneTimeCard {
  readonly useUp: () => Promise<void>
  readonly giveBack: () => Promise<void>
}

export interface OneTimeCards {
  /** `now` is the merchant's time. */
  issue(merchantId: MerchantId, card: OneTimeCard, now: Date): Promise<string>
  /**
   * Opens the token for one claim. Returns undefined if another claim has it, if it was used, has expired, belongs to
   * another merchant or is not ours.
   */
  claim(merchantId: MerchantId, token: string, claim: string, now: Date): Promise<ClaimedCard | undefined>
  /** Deletes the keys of expired tokens. Returns how many. */
  reap(): Promise<number>
}

/** 15 minutes, as the contract says. */
const livesForMs = 15 * 60 * 1000
const keyBytes = 32
const idBytes = 16

type Contents = [number: string, expiryDate: string, cardholderName: string, securityCode: string]

export function createOneTimeCards(store: OneTimeKeyStore, records: RecordVault): OneTimeCards {
  return {
    reap: store.reap,

    async issue(merchantId, card, now) {
      const tokenId = randomUUID().replaceAll('-', '')
      const bytes = randomBytes(keyBytes)
      const contents: Contents = [
        card.number.reveal(),
        card.expiryDate,
        card.cardholderName,
        card.securityCode.reveal(),
      ]
      const sealed = seal(
        createSecretKey(bytes),
        Buffer.from(JSON.stringify(contents)),
        place(merchantId, tokenId),
      )
      const key = await records.seal('one-time key', merchantId, tokenId, bytes)
      await store.insert(merchantId, { ...key, tokenId, expiresAt: new Date(now.getTime() + livesForMs) })
      return writeOneTimeToken(Buffer.concat([Buffer.from(tokenId, 'hex'), sealed]))
    },

    async claim(merchantId, token, claim, now) {
      if (!isOneTimeToken(token)) return undefined
      const bytes = readOneTimeToken(token)
      const tokenId = bytes.toString('hex', 0, idBytes)
      const claimed = { tokenId, claim }
      const kept = await store.claim(merchantId, claimed, now)
      if (!kept) return undefined
      const key = await records.open('one-time key', merchantId, { ...kept, recordId: tokenId })
      const opened = open(key, bytes.subarray(idBytes), place(merchantId, tokenId))
      if (!opened) {
        // A shop that has truncated or changed the token may still send it whole.
        await store.giveBack(merchantId, claimed)
        return undefined
      }
      // The cast holds, because the seal proves that this file wrote the contents.
      const [number, expiryDate, cardholderName, securityCode] = JSON.parse(opened.toString()) as Contents
      return {
        number: new Secret(number),
        expiryDate,
        cardholderName,
        securityCode: new Secret(securityCode),
        useUp: () => store.useUp(merchantId, tokenId),
        giveBack: () => store.giveBack(merchantId, claimed),
      }
    },
  }
}

/** The place that a token is bound to. */
const place = (merchantId: MerchantId, tokenId: string): string => `one-time card ${merchantId} ${tokenId}`

function open(key: Buffer, sealed: Buffer, bound: string): Buffer | undefined {
  try {
    return unseal(createSecretKey(key), sealed, bound)
  } catch {
    // The token was changed in transit.
    return undefined
  }
}
