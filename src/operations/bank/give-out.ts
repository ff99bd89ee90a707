/**
 * Writes files for the bank into a folder: first under a temporary name, then, complete and checked, under the final
 * one.
 */
import { createHash } from 'node:crypto'
import { access, constants, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { textAt } from '#domain/json.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import { BankFault } from '#operations/bank/bank.ts'
import { readStoredFile } from '#operations/bank/store-file.ts'
import type { BankFileRecord } from '#storage/bank/bank-files.ts'
import { whileAlone } from '#storage/bank/batches.ts'
import { isFileFault, makeFolders, syncFolder } from '#storage/folders.ts'

export interface GivenFile {
  readonly path: string
  readonly type: string
  readonly payments: number
  /** In cents. */
  readonly sum: number
  readonly sha256: string
  readonly batchId: string
}

/** Writes the files that are not marked as written: those of the new batch, and any that a crash left behind. */
export const giveOutNew = (account: BankAccount, folder: string, bank: Bank): Promise<GivenFile[]> =>
  whileAlone(bank.database, account, async () =>
    giveOutAll(await bank.files.list(account, { notGiven: true }), folder, bank),
  )

/** Writes every file again, or those of one batch. */
export async function giveOutAgain(
  account: BankAccount,
  { batchId, folder }: { readonly batchId: string | undefined; readonly folder: string },
  bank: Bank,
): Promise<GivenFile[]> {
  if (batchId !== undefined && !/^[0-9a-f]{32}$/.test(batchId))
    throw new BankFault(`there is no batch "${batchId}" of the account ${account.accountId}`)
  const files = await bank.files.list(account, { batchId })
  if (batchId !== undefined && files.length === 0)
    throw new BankFault(`there is no batch "${batchId}" of the account ${account.accountId}`)
  // Alone, because two would write into the same temporary file.
  return whileAlone(bank.database, account, () => giveOutAll(files, folder, bank))
}

/** Makes the folder, and refuses one that takes no files before a batch is made for it. */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    makeFolders(folder)
    await access(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw asFolderFault(folder, error)
  }
}

/** A fault of the folder or its disk, as a sentence; any other error as it is. */
function asFolderFault(path: string, error: unknown): unknown {
  if (!isFileFault(error)) return error
  return new BankFault(
    `${path} cannot be written (${textAt(error, 'code')}); name a folder with --out that this user may write to and that has room. ` +
      'A batch that was made already is kept and given out by the next run',
    { cause: error },
  )
}

async function giveOutAll(
  files: readonly BankFileRecord[],
  folder: string,
  bank: Bank,
): Promise<GivenFile[]> {
  if (files.length > 0) await prepareFolder(folder)
  const given: GivenFile[] = []
  for (const file of files) {
    const path = join(folder, `${file.madeOn}-${file.batchId}.${file.type}.xml`)
    await writeWhole(path, file, bank).catch(async error => {
      await rm(draftOf(path), { force: true }).catch(() => undefined)
      throw asFolderFault(path, error)
    })
    await bank.testCrash('fileWritten')
    await bank.files.markGiven(file)
    const { type, payments, sum, sha256, batchId } = file
    given.push({ path, type, payments, sum, sha256, batchId })
  }
  return given
}

const draftOf = (path: string): string => `${path}.part`

/**
 * Renames the file to its final name only when all bytes are on disk and match the stored hash, so that no reader sees
 * an incomplete file. Ends when the name is on disk too: a file that counts as given is not written by a later run.
 */
async function writeWhole(path: string, file: BankFileRecord, bank: Bank): Promise<void> {
  const draft = draftOf(path)
  await rm(draft, { force: true })
  // Mode 600: the file holds customers' names and account numbers. A new file, because opening a pipe waits for its reader.
  const handle = await open(draft, 'wx', 0o600)
  const hash = createHash('sha256')
  try {
    for await (const bytes of readStoredFile(file, bank)) {
      hash.update(bytes)
      await handle.writeFile(bytes)
    }
    await handle.sync()
  } finally {
    await handle.close()
  }
  if (hash.digest('hex') !== file.sha256)
    throw new Error(
      `the file of batch ${file.batchId} (${file.type}) was not written: it differs from the one that was stored first`,
    )
  await rename(draft, path)
  await syncFolder(dirname(path))
}
