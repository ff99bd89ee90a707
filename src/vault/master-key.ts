/**
 * The master key: 32 bytes that wrap all other keys and are never in the database. In test it is created on the first
 * start and kept in the data folder; in live it must come from the configuration. While it is being changed there are
 * two, the newest first; every sealed value names the key that sealed it.
 */

import { createHash, createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { textAt } from '#domain/json.ts'
import { makeFolders, syncFolder } from '#storage/folders.ts'

export class MasterKeyError extends Error {}

export interface MasterKey {
  /** The first 16 digits of its hash: they identify the key without revealing it. */
  readonly id: string
  readonly key: KeyObject
}

const keyBytes = 32

const makeKeyText = (): string => `${randomBytes(keyBytes).toString('base64')}\n`

export function toMasterKey(text: string, origin: string): MasterKey {
  const bytes = Buffer.from(text.trim(), 'base64')
  if (bytes.length !== keyBytes) {
    throw new MasterKeyError(`${origin} must hold ${keyBytes} bytes in base64; it holds ${bytes.length}`)
  }
  return { id: createHash('sha256').update(bytes).digest('hex').slice(0, 16), key: createSecretKey(bytes) }
}

/** Parses one key, or several separated by white space. */
export function toMasterKeys(text: string, origin: string): readonly [MasterKey, ...MasterKey[]] {
  const [first = '', ...rest] = text.trim().split(/\s+/)
  return [toMasterKey(first, origin), ...rest.map(word => toMasterKey(word, origin))]
}

export async function readMasterKeys(path: string): Promise<readonly [MasterKey, ...MasterKey[]]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    // Node's error does not name the folder. Docker makes one where it is told to mount a file that is not there.
    if (textAt(error, 'code') !== 'EISDIR') throw error
    throw new MasterKeyError(`${path} is a folder, but must be the file of the master key`, { cause: error })
  })
  return toMasterKeys(text, `the master key file ${path}`)
}

export interface MasterRing {
  /** The key with which a new installation is sealed. */
  newest(): Promise<MasterKey>
  /** Reads the source again for an unknown key, which may have been added since. */
  find(id: string): Promise<MasterKey>
}

/** Keeps all keys it has seen, because a row that was read before a change may be decrypted after it. */
export function createMasterRing(read: () => Promise<readonly [MasterKey, ...MasterKey[]]>): MasterRing {
  const known = new Map<string, MasterKey>()
  async function readAgain(): Promise<MasterKey> {
    const keys = await read()
    for (const key of keys) known.set(key.id, key)
    return keys[0]
  }
  return {
    newest: readAgain,
    async find(id) {
      const newest = known.has(id) ? undefined : await readAgain()
      const found = known.get(id)
      if (found) return found
      throw new MasterKeyError(
        `this database was sealed with the master key ${id}, but ${newest?.id} is configured; ` +
          'use the data folder or the key it was created with',
      )
    },
  }
}

export const toRing = (master: MasterKey | MasterRing): MasterRing =>
  'find' in master ? master : createMasterRing(async () => [master])

/**
 * For the test environment. The file has mode 600 and is never overwritten: if two processes create it at once, the
 * first one's key stays.
 */
export async function readOrMakeMasterKeys(path: string): Promise<readonly [MasterKey, ...MasterKey[]]> {
  if (!existsSync(path)) await makeMasterKey(path)
  return readMasterKeys(path)
}

/**
 * Links the file to its name only when it is complete and on disk: a full disk or a crash must not leave an empty key
 * file.
 */
async function makeMasterKey(path: string): Promise<void> {
  const draft = `${path}.${randomUUID()}`
  try {
    makeFolders(dirname(path), 0o700)
    await writeFile(draft, makeKeyText(), { mode: 0o600, flag: 'wx', flush: true })
    await link(draft, path)
    await syncFolder(dirname(path))
  } catch (error) {
    const code = textAt(error, 'code')
    // Another start has made the key meanwhile. From any other call it means a file where the folder should be.
    if (code === 'EEXIST' && textAt(error, 'syscall') === 'link') return
    throw new MasterKeyError(`the master key cannot be written to ${path} (${code})`, { cause: error })
  } finally {
    await rm(draft, { force: true }).catch(() => undefined)
  }
}

/** Adds a new key in front of those in the file. It is on disk before anything can be sealed with it. */
export async function addMasterKey(path: string): Promise<MasterKey> {
  const text = makeKeyText()
  const known = await readFile(path, 'utf8')
  toMasterKeys(known, `the master key file ${path}`)
  await replaceFile(path, text + known)
  return toMasterKey(text, 'a new key')
}

/** Removes every key from the file but this one. */
export const keepMasterKey = (path: string, { key }: MasterKey): Promise<void> =>
  replaceFile(path, `${key.export().toString('base64')}\n`)

/**
 * Replaces a file atomically: readers see the old content or the new, also after a power failure. The file keeps its
 * owner, who may not be the user that runs the command.
 */
async function replaceFile(path: string, content: string): Promise<void> {
  const target = await realpath(path)
  const { mode, uid, gid } = await stat(target)
  const draft = `${target}.new`
  // A draft left behind by an interrupted run: nothing was ever sealed with its key.
  await rm(draft, { force: true })
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(content)
    await file.chown(uid, gid)
    await file.chmod(mode & 0o777)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(draft, target)
  await syncFolder(dirname(target))
}
