/**
 * A new root secret, and with it, in one transaction, what whoever had the old one could otherwise go on forging or reading: the
 * hashes of API keys are hashed once more and webhook secrets are sealed anew. Everything else derived from the root
 * secret follows by itself: new fingerprints, signatures and page addresses are made with the newest only.
 */
import { strict as assert } from 'node:assert'
import { rehash } from '#domain/api-key.ts'
import { openWebhookSecret, sealWebhookSecret } from '#operations/events/webhook-secret.ts'
import type { RotationStore } from '#storage/vault/key-rotation.ts'
import { deriveAll } from '#vault/key-ring.ts'
import type { MasterRing } from '#vault/master-key.ts'
import { addRoot, unwrapRoots, wrapRoots } from '#vault/root-secrets.ts'

/** Under the same master key; returns how many root secrets there are now. */
export async function rotateRoot(
  ring: MasterRing,
  { store, nowMs = Date.now }: { readonly store: RotationStore; readonly nowMs?: () => number },
): Promise<number> {
  const stored = await store.readRoot()
  const roots = addRoot(await unwrapRoots(stored, ring), nowMs())
  const { peppers, webhookSecrets } = deriveAll(roots)
  const newest = peppers.at(-1)
  assert(newest, 'the new root secret gives no pepper')
  const master = await ring.find(stored.split(':', 1)[0] ?? '')
  const replaced = await store.replaceRootWith(stored, wrapRoots(master, roots), {
    rehash: keyHash => rehash(newest, keyHash),
    reseal: (owner, sealed) =>
      sealWebhookSecret(webhookSecrets, owner, openWebhookSecret(webhookSecrets, owner, sealed)),
  })
  assert(replaced, 'the root secret was changed by somebody who did not hold the lock')
  return roots.length
}
