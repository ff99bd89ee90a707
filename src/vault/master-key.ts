/**
 * The master key: 32 bytes that wrap everything else and never lie in the database. In test it is made on the first
 * start and kept in the data folder; in live it must come from the configuration.
 */
import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { mkdir, open, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'

export class MasterKeyError extends Error {}

export interface MasterKey {
  /** The first half of its hash: names the key without telling it. */
  readonly id: string
  readonly key: KeyObject
}

const keyBytes = 32

export function toMasterKey(text: string, origin: string): MasterKey {
  const bytes = Buffer.from(text.trim(), 'base64')
  if (bytes.length !== keyBytes) {
    throw new MasterKeyError(`${origin} must hold ${keyBytes} bytes in base64; it holds ${bytes.length}`)
  }
  return { id: createHash('sha256').update(bytes).digest('hex').slice(0, 16), key: createSecretKey(bytes) }
}

export async function readMasterKey(path: string): Promise<MasterKey> {
  return toMasterKey(await readFile(path, 'utf8'), `the master key file ${path}`)
}

/** Test only. The file is created for its owner alone and never overwritten, whoever comes first. */
export async function readOrMakeMasterKey(path: string): Promise<MasterKey> {
  await mkdir(dirname(path), { recursive: true })
  try {
    const file = await open(path, 'wx', 0o600)
    await file.writeFile(`${randomBytes(keyBytes).toString('base64')}\n`)
    await file.sync()
    await file.close()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
  return readMasterKey(path)
}
