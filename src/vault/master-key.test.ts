/** Which keys a process knows while the master key is being changed. */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  createMasterRing,
  type MasterKey,
  MasterKeyError,
  readOrMakeMasterKeys,
  toMasterKey,
} from '#vault/master-key.ts'

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

test('of many who make the key at once all get the same one, and no draft of it stays behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-key-'))
  const path = join(folder, 'master.key')
  const made = await Promise.all(Array.from({ length: 20 }, () => readOrMakeMasterKeys(path)))
  expect(new Set(made.map(([{ id }]) => id)).size).toBe(1)
  expect(readdirSync(folder)).toEqual(['master.key'])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  rmSync(folder, { recursive: true })
})
