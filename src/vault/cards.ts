/**
 * Stores cards sealed and hands out masked cards and pseudo numbers. A number exists in clear text only inside a Secret
 * on its way to the provider; security codes are never stored.
 */
import { detectBrand } from '#domain/cards/card-brands.ts'
import { isPseudoCardNumber, maskCard, toPseudoCardNumber } from '#domain/cards/card-numbers.ts'
import type { MerchantId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import type { CardRow } from '#storage/commit/change.ts'
import type { SealedCard, VaultStore } from '#storage/vault/vault-store.ts'
import { type Fingerprints, fingerprint, pickFingerprint, toHeldId } from '#vault/fingerprints.ts'
import type { KeyRing, KeyVersions } from '#vault/key-ring.ts'
import { seal, unseal } from '#vault/sealing.ts'

export interface AdmittedCard {
  readonly cardId: string
  readonly number: Secret<string>
  readonly first6Digits: string
  readonly last4Digits: string
  readonly brand: string
  readonly expiryDate?: string
  /** The row to store with the payment; absent if the vault is known to have the card. */
  readonly row?: CardRow
}

export interface CardVault {
  /** The id of a merchant's card, stored or not: its keyed fingerprint. */
  findCardId(merchantId: MerchantId, number: string): Promise<string>
  /** All ids that the card may have: one fingerprint per root secret, the newest first. */
  cardIdsOf(merchantId: MerchantId, number: string): readonly string[]
  /** Takes a card number, or a pseudo card number of this merchant; returns undefined for an unknown pseudo number. */
  admit(
    merchantId: MerchantId,
    number: Secret<string>,
    options: { expiryDate?: string; attempt?: number },
  ): Promise<AdmittedCard | undefined>
  /** Called after the row was committed, so that the next payment with this card need not write it again. */
  remember(card: AdmittedCard & { readonly merchantId: MerchantId }): void
  /** Called after the card's number was destroyed, so that the next payment with it writes it again. */
  forget(merchantId: MerchantId, cardId: string): void
  /** The card number of an earlier payment, for a later step; undefined once destroyed. */
  reopen(merchantId: MerchantId, cardId: string): Promise<Secret<string> | undefined>
}

/** 20,000 keyed fingerprints are about 3 MB. The newest half covers the regular customers of a busy shop. */
const rememberedCards = 20_000

/** 1 h: shorter than the shortest retention, so that no process assumes that a purged card is still stored. */
const rememberedMs = 3_600_000

export function createCardVault(deps: {
  fingerprintKeys: () => KeyVersions
  keyRing: KeyRing
  store: Pick<VaultStore, 'findCard' | 'findCardById'>
  nowMs?: () => number
}): CardVault {
  const remembered = rememberHeld(deps.nowMs ?? Date.now)

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

  const fingerprintsOf = (merchantId: MerchantId, number: string): Fingerprints =>
    fingerprint(deps.fingerprintKeys(), `${merchantId}\0${number}`)

  const pickOf = (merchantId: MerchantId, number: string): Buffer | Promise<Buffer> =>
    pickFingerprint(fingerprintsOf(merchantId, number), async id =>
      Boolean(remembered.has(merchantId, id) || (await deps.store.findCardById(merchantId, id))?.sealed),
    )

  return {
    findCardId: async (merchantId, number) => toHeldId(await pickOf(merchantId, number)),
    cardIdsOf: (merchantId, number) => fingerprintsOf(merchantId, number).map(toHeldId),
    async admit(merchantId, secret, { expiryDate, attempt = 0 }) {
      const number = secret.reveal()
      if (isPseudoCardNumber(number)) return openPseudo(merchantId, number, expiryDate)
      const digest = await pickOf(merchantId, number)
      const cardId = toHeldId(digest)
      const card = { cardId, number: secret, ...maskCard(number), brand: detectBrand(number), expiryDate }
      if (remembered.has(merchantId, cardId)) return card
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
    remember: ({ merchantId, cardId }) => remembered.add(merchantId, cardId),
    forget: (merchantId, cardId) => remembered.delete(merchantId, cardId),
    async reopen(merchantId, cardId) {
      const stored = await deps.store.findCardById(merchantId, cardId)
      const number = stored && (await unsealCard(merchantId, stored))
      return number === undefined ? undefined : new Secret(number)
    },
  }
}

/**
 * A cache of stored cards in two halves: when the newer half is full, it replaces the older one, which is dropped as a
 * whole. Evicting single cards would be slow: the first key of a map takes longer to find the more keys before it were
 * deleted.
 */
function rememberHeld(nowMs: () => number) {
  /** The time until which each card is assumed to be stored. */
  let newer = new Map<string, number>()
  let older = new Map<string, number>()
  return {
    has(merchantId: MerchantId, cardId: string): boolean {
      const name = merchantId + cardId
      return (newer.get(name) ?? older.get(name) ?? 0) > nowMs()
    },
    add(merchantId: MerchantId, cardId: string): void {
      if (newer.size >= rememberedCards / 2) {
        older = newer
        newer = new Map()
      }
      newer.set(merchantId + cardId, nowMs() + rememberedMs)
    },
    delete(merchantId: MerchantId, cardId: string): void {
      newer.delete(merchantId + cardId)
      older.delete(merchantId + cardId)
    },
  }
}

/** The place that a sealed number is bound to, so that a row copied elsewhere cannot be decrypted. */
export const cardPlace = (merchantId: MerchantId, cardId: string, keyVersion: number): string =>
  `card ${merchantId} ${cardId} ${keyVersion}`
