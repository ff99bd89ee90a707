/**
 * The root secrets of an installation, the newest first, stored as one text that the master key wraps. A change adds
 * one: keys derived from older secrets still read existing values, new values use the newest only.
 */
import { randomBytes } from 'node:crypto'
import { rootSecretName } from '#storage/vault/vault-store.ts'
import type { MasterKey, MasterRing } from '#vault/master-key.ts'
import { seal, unseal } from '#vault/sealing.ts'

export interface RootSecret {
  readonly secret: Buffer
  /** The time of its creation; undefined for secrets of earlier releases. */
  readonly madeAtMs?: number
  /** Whether the hashes of API keys were hashed again with its key. Always true for the first secret. */
  readonly hashesKeys: boolean
}

/** The newest first. */
export type RootSecrets = readonly [RootSecret, ...RootSecret[]]

const secretBytes = 32

/**
 * The prefix of the format with dates. Earlier releases concatenated the bare secrets, without a prefix.
 */
const dated = 'v2.'
const datedPlace = `${rootSecretName} v2`

/** 100: a change every month for eight years. Each secret makes the first look-up of a card a little slower. */
const rootsMax = 100

/** Its message is a sentence for the person who asked for another one. */
export class TooManyRoots extends Error {}

export const makeFirstRoot = (): RootSecrets => [{ secret: randomBytes(secretBytes), hashesKeys: true }]

/** A new root secret in front of the others. */
export function addRoot(roots: RootSecrets, nowMs: number): RootSecrets {
  if (roots.length >= rootsMax)
    throw new TooManyRoots(`there are ${rootsMax} root secrets already, the most that an installation keeps`)
  return [{ secret: randomBytes(secretBytes), madeAtMs: nowMs, hashesKeys: true }, ...roots]
}

/** The stored form: the id of the master key, a colon, and the wrapped secrets. */
export function wrapRoots(master: MasterKey, roots: RootSecrets): string {
  const listed = roots.map(({ secret, ...rest }) => ({ secret: secret.toString('base64'), ...rest }))
  return `${master.id}:${dated}${seal(master.key, Buffer.from(JSON.stringify(listed)), datedPlace).toString('base64')}`
}

export async function unwrapRoots(stored: string, ring: MasterRing): Promise<RootSecrets> {
  const [masterKeyId = '', wrapped = ''] = stored.split(':')
  const { key } = await ring.find(masterKeyId)
  const roots = wrapped.startsWith(dated)
    ? readDated(unseal(key, Buffer.from(wrapped.slice(dated.length), 'base64'), datedPlace))
    : readBare(unseal(key, Buffer.from(wrapped, 'base64'), rootSecretName))
  const [newest, ...older] = roots
  if (!newest)
    throw new Error('the sealed list of root secrets is empty; restore the table installation from a backup')
  return [newest, ...older]
}

function readDated(plain: Buffer): readonly RootSecret[] {
  // The cast holds, because the seal proves that this file wrote the contents.
  const listed = JSON.parse(plain.toString()) as readonly (Omit<RootSecret, 'secret'> & { secret: string })[]
  return listed.map(({ secret, ...rest }) => ({ secret: Buffer.from(secret, 'base64'), ...rest }))
}

function readBare(plain: Buffer): readonly RootSecret[] {
  const count = plain.length / secretBytes
  return Array.from({ length: count }, (_, index) => ({
    secret: plain.subarray(index * secretBytes, (index + 1) * secretBytes),
    hashesKeys: index === count - 1,
  }))
}
