/**
 * HMAC-SHA-256 (RFC 2104), computed with two plain hashes. Node's own implementation creates an object for each call,
 * which takes three times as long and burdens the garbage collector; every card and every Idempotency-Key is hashed
 * here.
 */
import { strict as assert } from 'node:assert'
import { hash, type KeyObject } from 'node:crypto'

/** The block of SHA-256. A longer key would have to be hashed first. */
const blockBytes = 64
const [innerByte, outerByte] = [0x36, 0x5c]

interface Pads {
  readonly inner: Buffer
  readonly outer: Buffer
}

/** The pads live as long as their key. */
const padsByKey = new WeakMap<KeyObject, Pads>()

export function keyedHash(key: KeyObject, text: string): Buffer {
  const { inner, outer } = padsByKey.get(key) ?? makePads(key)
  return sha256(Buffer.concat([outer, sha256(Buffer.concat([inner, Buffer.from(text)]))]))
}

/** Through a binary string, because `hash` with a buffer takes twice as long. */
const sha256 = (bytes: Buffer): Buffer => Buffer.from(hash('sha256', bytes, 'binary'), 'binary')

function makePads(key: KeyObject): Pads {
  const bytes = key.export()
  assert(bytes.length <= blockBytes, 'the key is longer than a block')
  const pad = (byte: number): Buffer =>
    Buffer.from(Uint8Array.from({ length: blockBytes }, (_, at) => byte ^ (bytes[at] ?? 0)))
  const pads = { inner: pad(innerByte), outer: pad(outerByte) }
  padsByKey.set(key, pads)
  return pads
}
