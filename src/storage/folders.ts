/** Folders and files outside the database: making them, making them durable, and telling their faults from the database's. */
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync } from 'node:fs'
import { open, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { textAt } from '#domain/json.ts'

/**
 * One folder after the other: where one is there and takes no others, such as /proc, Node's recursive mkdir tries for ever and no
 * signal ends it.
 */
export function makeFolders(folder: string, mode?: number): void {
  if (!existsSync(folder)) {
    // A parent that is a file is left to the next line, whose error says so: ENOTDIR.
    if (!existsSync(dirname(folder))) makeFolders(dirname(folder), mode)
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
  /^(access|mkdir|open|rename|rm|scandir|unlink)$/.test(textAt(error, 'syscall') ?? '') ||
  /^(ENOSPC|EDQUOT|EFBIG|EIO|EROFS)$/.test(textAt(error, 'code') ?? '')

/** 1 h: a writer that has written nothing for so long was killed. */
const abandonedMs = 3_600_000

/**
 * A name beside a file for writing it before it is complete. Two writers never share one: what both wrote would look whole. Drafts
 * that a killed writer has left are removed.
 */
export async function draftBeside(path: string): Promise<string> {
  const folder = dirname(path)
  const mark = `${basename(path)}.`
  for (const name of await readdir(folder)) {
    if (!name.startsWith(mark) || !/^([0-9a-f-]{36}\.)?part$/.test(name.slice(mark.length))) continue
    const draft = join(folder, name)
    const found = await stat(draft).catch(() => undefined)
    if (found && Date.now() - found.mtimeMs > abandonedMs) await rm(draft, { force: true })
  }
  return `${path}.${randomUUID()}.part`
}

/** Makes a rename in the folder durable: without it a power failure may undo the rename. */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}
