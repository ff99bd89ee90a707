/**
 * Keyed fingerprints recognise a card or an account without its number. Each root secret gives another fingerprint.
 * Stored numbers keep theirs; new ones get that of the newest root secret, so that a thief of an older secret cannot
 * find them by trying out numbers.
 */
import { keyedHash } from '#domain/keyed-hash.ts'
import type { KeyVersions } from '#vault/key-ring.ts'

/** The newest first. */
export type Fingerprints = readonly [Buffer, ...Buffer[]]

export function fingerprint([newest, ...older]: KeyVersions, text: string): Fingerprints {
  return [keyedHash(newest, text), ...older.map(key => keyedHash(key, text))]
}

/** The id of the row: half of the fingerprint. */
export const toHeldId = (digest: Buffer): string => digest.toString('hex', 0, 16)

/**
 * Returns the fingerprint under which the number is stored, or else the newest. `isHeld` is called for older
 * fingerprints only: there are none until the root secret has been changed.
 */
export const pickFingerprint = (
  fingerprints: Fingerprints,
  isHeld: (id: string) => Promise<boolean>,
): Buffer | Promise<Buffer> => (fingerprints.length === 1 ? fingerprints[0] : pickHeld(fingerprints, isHeld))

async function pickHeld(
  [newest, ...older]: Fingerprints,
  isHeld: (id: string) => Promise<boolean>,
): Promise<Buffer> {
  const held = await Promise.all(older.map(digest => isHeld(toHeldId(digest))))
  return older.find((_, index) => held[index]) ?? newest
}
