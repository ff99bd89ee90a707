/** The keys that a process knows while the master key is being changed. */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
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

/** A ring whose source holds a single key, which the test replaces. */
function openRing() {
  const source = { key: before, reads: 0 }
  const ring = createMasterRing(async () => {
    source.reads += 1
    return [source.key]
  })
  return { ring, source }
}

test('the source is read only for a key that is not known yet', async () => {
  const { ring, source } = openRing()
  expect(await ring.find(before.id)).toBe(before)
  source.key = after
  expect(await ring.find(after.id)).toBe(after)
  expect(await ring.find(after.id)).toBe(after)
  expect(source.reads).toBe(2)
})

test('the old key is still found after a change, although the source has only the new one', async () => {
  const { ring, source } = openRing()
  await ring.find(before.id)
  source.key = after
  expect(await ring.newest()).toBe(after)
  expect(await ring.find(before.id)).toBe(before)
})

test('the error for a key that the source lacks names that key and the one it has', async () => {
  const { ring } = openRing()
  const refusal = ring.find(stranger.id)
  await expect(refusal).rejects.toThrow(MasterKeyError)
  await expect(refusal).rejects.toThrow(`sealed with the master key ${stranger.id}, but ${before.id}`)
})

test('concurrent callers who create the key file all get the same key, and no draft file is left behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-key-'))
  const path = join(folder, 'master.key')
  const made = await Promise.all(Array.from({ length: 20 }, () => readOrMakeMasterKeys(path)))
  expect(new Set(made.map(([{ id }]) => id)).size).toBe(1)
  expect(readdirSync(folder)).toEqual(['master.key'])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  rmSync(folder, { recursive: true })
})

test('where a file stands in the place of the folder, the error says that the key cannot be written', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-keys-'))
  try {
    writeFileSync(join(folder, 'file'), '')
    await expect(readOrMakeMasterKeys(join(folder, 'file', 'master.key'))).rejects.toThrow(
      /the master key cannot be written to .*master\.key \(EEXIST\)/,
    )
    await expect(readOrMakeMasterKeys(join(folder, 'file', 'keys', 'master.key'))).rejects.toThrow(
      '(ENOTDIR)',
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('a folder in the place of the key file is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-key-'))
  const refusal = readOrMakeMasterKeys(folder)
  await expect(refusal).rejects.toThrow(MasterKeyError)
  await expect(refusal).rejects.toThrow(`${folder} is a folder, but must be the file of the master key`)
  rmSync(folder, { recursive: true })
})
