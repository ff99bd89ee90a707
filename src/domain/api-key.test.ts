import { createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashApiKey } from '#domain/api-key.ts'

const pepper = createSecretKey(Buffer.alloc(32, 1))

test('the same key and pepper give the same 64 hex digits', () => {
  expect(hashApiKey(pepper, 'key')).toMatch(/^[0-9a-f]{64}$/)
  expect(hashApiKey(pepper, 'key')).toBe(hashApiKey(pepper, 'key'))
})

test('another key or another pepper gives another hash', () => {
  expect(hashApiKey(pepper, 'key2')).not.toBe(hashApiKey(pepper, 'key'))
  expect(hashApiKey(createSecretKey(Buffer.alloc(32, 2)), 'key')).not.toBe(hashApiKey(pepper, 'key'))
})
