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
  const before = await store.readRoot()
  if (before === value) return
  const [held, roots] = [await unwrapRoots(before, ring), await unwrapRoots(value, ring)]
  // Only the master key has changed, and nothing in the cell depends on that.
  if (held.length === roots.length && isBefore(held, roots)) {
    assert(await store.replaceRoot(before, value), changedByOthers)
    return
  }
  await bringTo({ roots, value }, store, ring)
}

const changedByOthers = 'the root secret was changed by somebody who did not hold the lock'

/** Root secrets are only added, in front. */
const isBefore = (held: RootSecrets, roots: RootSecrets): boolean =>
  held.length <= roots.length &&
  held.every(({ secret }, index) => roots[roots.length - held.length + index]?.secret.equals(secret))

async function bringTo(
  { roots, value }: { readonly roots: RootSecrets; readonly value: string },
  store: RotationStore,
  ring: MasterRing,
): Promise<void> {
  const before = await store.readRoot()
  const held = await unwrapRoots(before, ring)
  // What was hashed and sealed with a root secret that only this cell holds would be lost with it.
  if (!isBefore(held, roots))
    throw new Error(
      'a cell holds a root secret that cell 0 does not hold; restore both from backups of the same time',
    )
  const known = deriveAll(held).peppers.length
  const { peppers, webhookSecrets } = deriveAll(roots)
  const replaced = await store.replaceRootWith(before, value, {
    // A key that was made before the cell was reached may have a pepper of cell 0 that the cell does not know yet.
    rehash: (keyHash, madeWith) =>
      peppers.slice(Math.max(known, madeWith)).reduce((hash, pepper) => rehash(pepper, hash), keyHash),
    reseal: (owner, sealed) =>
      sealWebhookSecret(webhookSecrets, owner, openWebhookSecret(webhookSecrets, owner, sealed)),
  })
  assert(replaced, changedByOthers)
}
