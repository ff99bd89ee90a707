/**
 * Sealed data besides numbers: credentials of provider accounts, notices of providers, evidence in disputes. Each
 * is sealed with a data key of its merchant and bound to its row, so that a row copied elsewhere cannot be decrypted.
 */
import type { MerchantId } from '#domain/ids.ts'
import type { KeyRing } from '#vault/key-ring.ts'
import { seal, unseal } from '#vault/sealing.ts'

export type RecordKind =
  | 'provider secret'
  | 'provider notice'
  | 'dispute file'
  | 'bank file'
  | 'bank entry'
  | 'bank surplus'
  | 'operator totp'
  | 'one-time key'

export interface SealedRecord {
  readonly keyVersion: number
  readonly sealed: Buffer
}

export interface RecordVault {
  /** `recordId`: 32 hex digits, the id of the row that will hold it. */
  seal(kind: RecordKind, merchantId: MerchantId, recordId: string, plain: Uint8Array): Promise<SealedRecord>
  open(
    kind: RecordKind,
    merchantId: MerchantId,
    record: SealedRecord & { readonly recordId: string },
  ): Promise<Buffer>
}

export const createRecordVault = (keyRing: KeyRing): RecordVault => ({
  async seal(kind, merchantId, recordId, plain) {
    const { version, key } = await keyRing.current(merchantId)
    const place = recordPlace(kind)(merchantId, recordId, version)
    return { keyVersion: version, sealed: seal(key, plain, place) }
  },
  async open(kind, merchantId, { recordId, keyVersion, sealed }) {
    const { key } = await keyRing.byVersion(merchantId, keyVersion)
    return unseal(key, sealed, recordPlace(kind)(merchantId, recordId, keyVersion))
  },
})

/** The place that a sealed record is bound to. */
export const recordPlace =
  (kind: RecordKind) =>
  (merchantId: MerchantId, recordId: string, keyVersion: number): string =>
    `${kind} ${merchantId} ${recordId} ${keyVersion}`
