/**
 * Changes the master key while payments continue. The new key is on disk before anything is sealed with it, and the old
 * key is removed when nothing is sealed with it any more. In between, every row names its master key, so an interrupted
 * rotation leaves everything readable, and the next run completes it.
 */
import { strict as assert } from 'node:assert'
import type { MerchantKey, RotationStore } from '#storage/vault/key-rotation.ts'
import { unwrapKey, wrapKey } from '#vault/key-ring.ts'
import {
  addMasterKey,
  createMasterRing,
  keepMasterKey,
  type MasterKey,
  type MasterRing,
  readMasterKeys,
} from '#vault/master-key.ts'
import { unwrapRoots, wrapRoots } from '#vault/root-secrets.ts'

/** Named gaps between two writes, where tests let the process die. */
export type RotationPoint = 'afterKey' | 'afterRoot' | 'afterBatch' | 'beforeRetire'

export interface RotationDeps {
  readonly store: RotationStore
  /** Brings the other cells to the stored root secrets of cell 0, each from its own. */
  readonly follow?: (stored: string, ring: MasterRing) => Promise<void>
  readonly onProgress?: (line: string) => void
  readonly testCrash?: (point: RotationPoint) => void | Promise<void>
  /** 500: a statement of some milliseconds, short enough that its row locks do not delay payments. */
  readonly batch?: number
}

export interface Rotated {
  readonly masterKeyId: string
  readonly retired: readonly string[]
  readonly rewrapped: number
  /** Whether this run completed an earlier or manually prepared change, and created no new key. */
  readonly finished: boolean
}

/** For a key file that we may write: adds a new key, and removes the old one at the end. */
export async function rotateKeyFile(file: string, deps: RotationDeps): Promise<Rotated> {
  const before = await readMasterKeys(file)
  const ring = createMasterRing(() => readMasterKeys(file))
  // Fails if this is the wrong file, before anything is written to it.
  await unwrapRoots(await deps.store.readRoot(), ring)
  const finished = before.length > 1
  const target = finished ? before[0] : await addMasterKey(file)
  if (!finished) deps.onProgress?.(`a new master key ${target.id} is in ${file}`)
  await deps.testCrash?.('afterKey')
  const rewrapped = await rewrapAll(target, ring, deps)
  await deps.testCrash?.('beforeRetire')
  await keepMasterKey(file, target)
  const retired = before.filter(({ id }) => id !== target.id).map(({ id }) => id)
  return { masterKeyId: target.id, retired, rewrapped, finished }
}

/**
 * For keys from a source that we cannot write, the new one first: wraps everything with it, and leaves it to the
 * operator to remove the others.
 */
export async function rotateTo(
  keys: readonly [MasterKey, ...MasterKey[]],
  deps: RotationDeps,
): Promise<Rotated> {
  const [target, ...others] = keys
  const rewrapped = await rewrapAll(
    target,
    createMasterRing(async () => keys),
    deps,
  )
  return { masterKeyId: target.id, retired: others.map(({ id }) => id), rewrapped, finished: true }
}

async function rewrapAll(target: MasterKey, ring: MasterRing, deps: RotationDeps): Promise<number> {
  const { store, follow, onProgress, testCrash, batch = 500 } = deps
  // The root secret first: from then on the store accepts no new data key under the old master key.
  const stored = await store.readRoot()
  const roots = await unwrapRoots(stored, ring)
  const isWrapped = stored.startsWith(`${target.id}:`)
  const value = isWrapped ? stored : wrapRoots(target, roots)
  if (!isWrapped) {
    const replaced = await store.replaceRoot(stored, value)
    assert(replaced, 'the root secret was changed by somebody who did not hold the lock')
  }
  await testCrash?.('afterRoot')
  // Also in a run that finishes another one: that may have reached cell 0 alone.
  await follow?.(value, ring)
  let rewrapped = 0
  for (;;) {
    const others = await store.findOthers(target.id, batch)
    if (others.length === 0) break
    await store.rewrap(await Promise.all(others.map(from => rewrap(from, target, ring))))
    rewrapped += others.length
    onProgress?.(`${rewrapped} data keys wrapped`)
    await testCrash?.('afterBatch')
  }
  return rewrapped
}

async function rewrap(
  from: MerchantKey,
  target: MasterKey,
  ring: MasterRing,
): Promise<{ from: MerchantKey; to: MerchantKey }> {
  const { merchantId, keyVersion } = from
  const bytes = (await unwrapKey(merchantId, from, ring)).export()
  const wrapped = wrapKey(merchantId, { version: keyVersion, bytes }, target)
  return { from, to: { ...wrapped, merchantId } }
}
