/** Folders and files outside the database: making them, making them durable, and telling their faults from the database's. */
import { existsSync, mkdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { textAt } from '#domain/json.ts'

/**
 * One folder after the other: where one is there and takes no others, such as /proc, Node's recursive mkdir tries for ever and no
 * signal ends it.
 */
export function makeFolders(folder: string, mode?: number): void {
  if (!existsSync(folder)) {
    makeFolders(dirname(folder), mode)
    try {
      mkdirSync(folder, { mode })
    } catch (error) {
      // Another process may have made it meanwhile.
      if (textAt(error, 'code') !== 'EEXIST') throw error
    }
  }
  // Fails where it is a file.
  mkdirSync(folder, { recursive: true, mode })
}

/** Whether a file or its disk caused the error, and not the database, whose errors may have the same codes. */
export const isFileFault = (error: unknown): boolean =>
  /^(access|mkdir|open|rename|rm|unlink)$/.test(textAt(error, 'syscall') ?? '') ||
  /^(ENOSPC|EDQUOT|EFBIG|EIO|EROFS)$/.test(textAt(error, 'code') ?? '')

/** Makes a rename in the folder durable: without it a power failure may undo the rename. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}
