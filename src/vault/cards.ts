/**
 * Cards in, masked cards and pseudo numbers out. A number exists in clear only inside a Secret on its way to the
 * provider; security codes never come here.
 */
import { createHmac, type KeyObject } from 'node:crypto'
import { detectBrand } from '#domain/card-brands.ts'
import { isPseudoCardNumber, maskCard, toPseudoCardNumber } from '#domain/card-numbers.ts'
import type { MerchantId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import type { CardRow } from '#storage/commit/change.ts'
import type { SealedCard, VaultStore } from '#storage/vault/vault-store.ts'
import type { KeyRing } from '#vault/key-ring.ts'
import { seal, unseal } from '#vault/sealing.ts'

export interface AdmittedCard {
  readonly cardId: string
  readonly number: Secret<string>
  readonly first6Digits: string
  readonly last4Digits: string
  readonly brand: string
  readonly expiryDate?: string
  /** To be written with the payment; absent when the vault is known to hold the card already. */
  readonly row?: CardRow
}

export interface CardVault {
  /** The keyed fingerprint under which a merchant's card is known. */
  cardIdOf(merchantId: MerchantId, number: string): string
  /** Takes a card number, or a pseudo card number of this merchant; undefined when the latter is not known. */
  admit(
    merchantId: MerchantId,
    number: Secret<string>,
    options: { expiryDate?: string; attempt?: number },
  ): Promise<AdmittedCard | undefined>
  /** Told after the row was committed, so that the next payment with this card need not write it again. */
  remember(card: AdmittedCard & { readonly merchantId: MerchantId }): void
  /** Told after the card's number was destroyed, so that the next payment with it writes it again. */
  forget(merchantId: MerchantId, cardId: string): void
  /** The number of a card that an earlier payment brought, for a step that comes later; undefined once destroyed. */
  reopen(merchantId: MerchantId, cardId: string): Promise<Secret<string> | undefined>
}

/** 20,000 keyed fingerprints are about 3 MB and cover the regular customers of a busy shop. */
const rememberedCards = 20_000

/** 1 h: shorter than the shortest retention, so that no process takes a card for held that was purged meanwhile. */
const rememberedMs = 3_600_000

export function createCardVault(deps: {
  fingerprintKey: KeyObject
  keyRing: KeyRing
  store: VaultStore
  nowMs?: () => number
}): CardVault {
  const { nowMs = Date.now } = deps
  /** Until when each is taken for held. */
  const remembered = new Map<string, number>()

  async function openPseudo(
    merchantId: MerchantId,
    pseudoNumber: string,
    expiryDate?: string,
  ): Promise<AdmittedCard | undefined> {
    const stored = await deps.store.findCard(merchantId, pseudoNumber)
    const number = stored && (await unsealCard(merchantId, stored))
    if (!stored || number === undefined) return undefined
    return {
      cardId: stored.cardId,
      number: new Secret(number),
      ...maskCard(number),
      brand: detectBrand(number),
      expiryDate: expiryDate ?? stored.expiryDate ?? undefined,
    }
  }

  async function unsealCard(
    merchantId: MerchantId,
    { cardId, keyVersion, sealed }: SealedCard,
  ): Promise<string | undefined> {
    if (!sealed) return undefined
    const { key } = await deps.keyRing.byVersion(merchantId, keyVersion)
    return unseal(key, sealed, cardPlace(merchantId, cardId, keyVersion)).toString()
  }

  const digestOf = (merchantId: MerchantId, number: string): Buffer =>
    createHmac('sha256', deps.fingerprintKey).update(`${merchantId}\0${number}`).digest()

  return {
    cardIdOf: (merchantId, number) => toCardId(digestOf(merchantId, number)),
    async admit(merchantId, secret, { expiryDate, attempt = 0 }) {
      const number = secret.reveal()
      if (isPseudoCardNumber(number)) return openPseudo(merchantId, number, expiryDate)
      const digest = digestOf(merchantId, number)
      const cardId = toCardId(digest)
      const card = { cardId, number: secret, ...maskCard(number), brand: detectBrand(number), expiryDate }
      if ((remembered.get(merchantId + cardId) ?? 0) > nowMs()) return card
      const { version, key } = await deps.keyRing.current(merchantId)
      const row: CardRow = {
        merchantId,
        cardId,
        pseudoNumber: toPseudoCardNumber(digest, attempt, number.slice(-3)),
        keyVersion: version,
        sealed: seal(key, Buffer.from(number), cardPlace(merchantId, cardId, version)),
        expiryDate,
      }
      return { ...card, row }
    },
    remember({ merchantId, cardId }) {
      if (remembered.size >= rememberedCards) {
        const [oldest] = remembered.keys()
        if (oldest !== undefined) remembered.delete(oldest)
      }
      remembered.set(merchantId + cardId, nowMs() + rememberedMs)
    },
    forget(merchantId, cardId) {
      remembered.delete(merchantId + cardId)
    },
    async reopen(merchantId, cardId) {
      const stored = await deps.store.findCardById(merchantId, cardId)
      const number = stored && (await unsealCard(merchantId, stored))
      return number === undefined ? undefined : new Secret(number)
    },
  }
}

const toCardId = (digest: Buffer): string => digest.toString('hex', 0, 16)

/** What a sealed number is bound to, so that a row copied elsewhere does not open. */
export const cardPlace = (merchantId: MerchantId, cardId: string, keyVersion: number): string =>
  `card ${merchantId} ${cardId} ${keyVersion}`
