/**
 * Stores bank accounts sealed and hands out masked accounts and pseudo numbers, like cards.ts and under the same data
 * keys. An IBAN exists in clear text only inside a Secret on its way to the provider.
 */

import { isPseudoAccountNumber, toPseudoAccountNumber } from '#domain/cards/pseudo-accounts.ts'
import { maskIban } from '#domain/iban.ts'
import type { MerchantId } from '#domain/ids.ts'
import { Secret } from '#domain/secret.ts'
import type { AccountRow } from '#storage/commit/change.ts'
import type { AccountStore, SealedAccount } from '#storage/vault/account-store.ts'
import { fingerprint, pickFingerprint, toHeldId } from '#vault/fingerprints.ts'
import type { KeyRing, KeyVersions } from '#vault/key-ring.ts'
import { seal, unseal } from '#vault/sealing.ts'

export interface AdmittedAccount {
  readonly accountId: string
  readonly number: Secret<string>
  readonly last4Digits: string
  /** The row to store with the payment; absent for a pseudo number, whose account is already in the vault. */
  readonly row?: AccountRow
}

export interface AccountVault {
  /**
   * Takes an IBAN, or a pseudo bank account number of this merchant; returns undefined for an unknown pseudo number.
   */
  admit(
    merchantId: MerchantId,
    number: Secret<string>,
    options?: { attempt?: number },
  ): Promise<AdmittedAccount | undefined>
  /** The pseudo number of a stored account, even if its IBAN was destroyed. */
  findPseudoNumber(merchantId: MerchantId, accountId: string): Promise<string | undefined>
  /** The IBAN of an earlier payment, for a later step; undefined once destroyed. */
  reopen(merchantId: MerchantId, accountId: string): Promise<Secret<string> | undefined>
  /** The IBAN of a row that the caller has already read. */
  unseal(
    merchantId: MerchantId,
    stored: Omit<SealedAccount, 'pseudoNumber'>,
  ): Promise<Secret<string> | undefined>
}

export function createAccountVault(deps: {
  fingerprintKeys: () => KeyVersions
  keyRing: KeyRing
  store: AccountStore
}): AccountVault {
  async function open(
    merchantId: MerchantId,
    stored: Omit<SealedAccount, 'pseudoNumber'> | undefined,
  ): Promise<string | undefined> {
    if (!stored?.sealed) return undefined
    const { key } = await deps.keyRing.byVersion(merchantId, stored.keyVersion)
    return unseal(
      key,
      stored.sealed,
      accountPlace(merchantId, stored.accountId, stored.keyVersion),
    ).toString()
  }

  /** The prefix `account` keeps fingerprints of accounts and of cards apart, even for equal digits. */
  const pickOf = (merchantId: MerchantId, number: string): Buffer | Promise<Buffer> =>
    pickFingerprint(fingerprint(deps.fingerprintKeys(), `account\0${merchantId}\0${number}`), async id =>
      Boolean((await deps.store.findAccountById(merchantId, id))?.sealed),
    )

  return {
    async admit(merchantId, secret, { attempt = 0 } = {}) {
      const number = secret.reveal()
      if (isPseudoAccountNumber(number)) {
        const stored = await deps.store.findAccount(merchantId, number)
        const iban = await open(merchantId, stored)
        return stored && iban !== undefined
          ? { accountId: stored.accountId, number: new Secret(iban), ...maskIban(iban) }
          : undefined
      }
      const digest = await pickOf(merchantId, number)
      const accountId = toHeldId(digest)
      const { version, key } = await deps.keyRing.current(merchantId)
      const row: AccountRow = {
        merchantId,
        accountId,
        pseudoNumber: toPseudoAccountNumber(digest, attempt, number.slice(-4)),
        keyVersion: version,
        sealed: seal(key, Buffer.from(number), accountPlace(merchantId, accountId, version)),
      }
      return { accountId, number: secret, ...maskIban(number), row }
    },
    async findPseudoNumber(merchantId, accountId) {
      return (await deps.store.findAccountById(merchantId, accountId))?.pseudoNumber
    },
    async reopen(merchantId, accountId) {
      const number = await open(merchantId, await deps.store.findAccountById(merchantId, accountId))
      return number === undefined ? undefined : new Secret(number)
    },
    async unseal(merchantId, stored) {
      const number = await open(merchantId, stored)
      return number === undefined ? undefined : new Secret(number)
    },
  }
}

/** The place that a sealed number is bound to, so that a row copied elsewhere cannot be decrypted. */
export const accountPlace = (merchantId: MerchantId, accountId: string, keyVersion: number): string =>
  `account ${merchantId} ${accountId} ${keyVersion}`
