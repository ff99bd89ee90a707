import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { keyedHash } from '#domain/keyed-hash.ts'

test('the hash equals Node’s HMAC for every text and every key of up to one block', () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 64 })
  fc.assert(
    fc.property(bytes, fc.string({ unit: 'binary', maxLength: 300 }), (secret, text) => {
      const key = createSecretKey(secret)
      const expected = createHmac('sha256', key).update(text).digest('hex')
      expect(keyedHash(key, text).toString('hex')).toBe(expected)
      // The second call reuses the cached pads of the first.
      expect(keyedHash(key, text).toString('hex')).toBe(expected)
    }),
  )
})

test('a key that is longer than a block is refused', () => {
  expect(() => keyedHash(createSecretKey(randomBytes(65)), 'text')).toThrow('longer than a block')
})
