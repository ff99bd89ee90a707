/**
 * The mark that `move-to` leaves in a data folder. Without it a start that lacks DATABASE_URL would serve the old data:
 * refunds and captures made since the move would be made again, and plans charged twice.
 */
import { existsSync, readFileSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandFault } from '#commands/faults.ts'
import type { Config } from '#config.ts'
import { parseJson, textsOf } from '#domain/json.ts'
import { draftBeside, syncFolder } from '#storage/folders.ts'

type Folder = Pick<Config, 'dataDirectory' | 'databaseUrl'>

const markFile = (directory: string): string => join(directory, 'moved.json')

/** `place`: where the data are now, without a password. */
export async function markMoved({ dataDirectory, databaseUrl }: Folder, place: string): Promise<void> {
  // Data of another server have no folder here.
  if (databaseUrl) return
  const path = markFile(dataDirectory)
  const draft = await draftBeside(path)
  try {
    const file = await open(draft, 'wx', 0o644)
    try {
      await file.writeFile(`${JSON.stringify({ place, at: new Date().toISOString() })}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
    await syncFolder(dataDirectory)
  } finally {
    await rm(draft, { force: true })
  }
}

export function refuseMoved({ dataDirectory, databaseUrl }: Folder): void {
  const path = markFile(dataDirectory)
  if (databaseUrl || !existsSync(path)) return
  const { place = 'another one', at = 'before' } = textsOf(parseJson(readFileSync(path, 'utf8')))
  throw new CommandFault(
    `the data in ${dataDirectory} was moved to the database ${place} (${at}): set DATABASE_URL to its address. ` +
      `The folder lacks all that happened there since; to use it all the same, delete ${path}`,
  )
}
