/**
 * Creates a new root secret. The same transaction renews the data that a thief of the old one could otherwise forge or
 * read: the hashes of API keys are hashed again and webhook secrets are sealed again. Other derived values need no
 * renewal: new fingerprints, signatures and page addresses use the newest root secret only.
 */
import { strict as assert } from 'node:assert'
import { rehash } from '#domain/api-key.ts'
import { openWebhookSecret, sealWebhookSecret } from '#operations/events/webhook-secret.ts'
import type { RotationStore } from '#storage/vault/key-rotation.ts'
import { deriveAll } from '#vault/key-ring.ts'
import type { MasterRing } from '#vault/master-key.ts'
import { addRoot, type RootSecrets, unwrapRoots, wrapRoots } from '#vault/root-secrets.ts'

/**
 * Keeps the master key; returns the number of root secrets. `stores`: one per cell, cell 0 first. After a crash between
 * two cells, the next command or start completes the change, because it brings every cell from its own state to that of
 * cell 0: see `followRoot`.
 */
export async function rotateRoot(
  ring: MasterRing,
  { stores, nowMs = Date.now }: { readonly stores: readonly RotationStore[]; readonly nowMs?: () => number },
): Promise<number> {
  const [home] = stores
  assert(home, 'there is no cell 0')
  const stored = await home.readRoot()
  const roots = addRoot(await unwrapRoots(stored, ring), nowMs())
  const master = await ring.find(stored.split(':', 1)[0] ?? '')
  const value = wrapRoots(master, roots)
  for (const store of stores) await bringTo({ roots, value }, store, ring)
  return roots.length
}

/** Brings a cell that an interrupted change has not reached to the root secrets of cell 0. */
export async function followRoot(value: string, store: RotationStore, ring: MasterRing): Promise<void> {
  await bringTo({ roots: await unwrapRoots(value, ring), value }, store, ring)
}

async function bringTo(
  { roots, value }: { readonly roots: RootSecrets; readonly value: string },
  store: RotationStore,
  ring: MasterRing,
): Promise<void> {
  const before = await store.readRoot()
  const known = deriveAll(await unwrapRoots(before, ring)).peppers.length
  const { peppers, webhookSecrets } = deriveAll(roots)
  const replaced = await store.replaceRootWith(before, value, {
    // A key that was made before the cell was reached may have a pepper of cell 0 that the cell does not know yet.
    rehash: (keyHash, madeWith) =>
      peppers.slice(Math.max(known, madeWith)).reduce((hash, pepper) => rehash(pepper, hash), keyHash),
    reseal: (owner, sealed) =>
      sealWebhookSecret(webhookSecrets, owner, openWebhookSecret(webhookSecrets, owner, sealed)),
  })
  assert(replaced, 'the root secret was changed by somebody who did not hold the lock')
}
