/** Which keys a process knows while the master key is being changed. */
import { expect, test } from 'vitest'
import { createMasterRing, type MasterKey, MasterKeyError, toMasterKey } from '#vault/master-key.ts'

const makeKey = (byte: number): MasterKey => toMasterKey(Buffer.alloc(32, byte).toString('base64'), 'a key')
const [before, after, stranger] = [makeKey(1), makeKey(2), makeKey(3)]

/** A ring whose source has one key, which the test changes. */
function openRing() {
  const source = { key: before, reads: 0 }
  const ring = createMasterRing(async () => {
    source.reads += 1
    return [source.key]
  })
  return { ring, source }
}

test('only a key that is not known yet is read from its source', async () => {
  const { ring, source } = openRing()
  expect(await ring.find(before.id)).toBe(before)
  source.key = after
  expect(await ring.find(after.id)).toBe(after)
  expect(await ring.find(after.id)).toBe(after)
  expect(source.reads).toBe(2)
})

test('what was read before a change can be opened after it, although the source has the new key alone', async () => {
  const { ring, source } = openRing()
  await ring.find(before.id)
  source.key = after
  expect(await ring.newest()).toBe(after)
  expect(await ring.find(before.id)).toBe(before)
})

test('a key that the source does not have is named, with the one it has', async () => {
  const { ring } = openRing()
  const refusal = ring.find(stranger.id)
  await expect(refusal).rejects.toThrow(MasterKeyError)
  await expect(refusal).rejects.toThrow(`sealed with the master key ${stranger.id}, but ${before.id}`)
})
