import { createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashApiKey, hashBoundKey, readApiKey, rehash, writeApiKey } from '#domain/api-key.ts'

const pepper = createSecretKey(Buffer.alloc(32, 1))
const newer = createSecretKey(Buffer.alloc(32, 2))

test('the same key and pepper give the same 64 hex digits', () => {
  expect(hashApiKey([pepper], 'key')).toMatch(/^[0-9a-f]{64}$/)
  expect(hashApiKey([pepper], 'key')).toBe(hashApiKey([pepper], 'key'))
})

test('another key or another pepper gives another hash', () => {
  expect(hashApiKey([pepper], 'key2')).not.toBe(hashApiKey([pepper], 'key'))
  expect(hashApiKey([newer], 'key')).not.toBe(hashApiKey([pepper], 'key'))
})

test('a key of this release contains its id; one of an earlier release, or garbage, contains none', () => {
  const keyId = '0123456789abcdef0123456789abcdef'
  const apiKey = writeApiKey('test', keyId, 'x'.repeat(43))
  expect(readApiKey(apiKey)).toEqual({ keyId })
  for (const other of [`tg_test_${'x'.repeat(43)}`, `${apiKey}x`, `tg_prod_${keyId}_${'x'.repeat(43)}`, ''])
    expect(readApiKey(other)).toBeUndefined()
})

test('the hash of a key differs from merchant to merchant', () => {
  expect(hashBoundKey([pepper], { merchantId: 'mer_1', apiKey: 'key' })).not.toBe(
    hashBoundKey([pepper], { merchantId: 'mer_2', apiKey: 'key' }),
  )
})

test('hashing a stored hash with a second pepper gives the hash of the key under both peppers', () => {
  const first = hashApiKey([pepper], 'key')
  expect(hashApiKey([pepper, newer], 'key', 1)).toBe(rehash(newer, first))
  expect(hashApiKey([pepper, newer], 'key')).toBe(hashApiKey([newer], 'key'))
})
