/**
 * The demo merchant, which a new test environment creates. Its credentials stay readable in the data folder, so that
 * every start can print them; no other merchant's secrets are ever kept like this, and live has no such merchant.
 */

import { randomUUID } from 'node:crypto'
import { open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandFault } from '#commands/faults.ts'
import { parseJson, textAt, textsOf } from '#domain/json.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'
import { MerchantUnavailable } from '#storage/cells/directory-store.ts'
import { isConnectionLost } from '#storage/database.ts'
import { makeFolders } from '#storage/folders.ts'

export interface DemoMerchant {
  readonly merchantId: string
  readonly apiKey: string
  readonly webhookSecret: string
}

const demoName = 'Demo merchant'

/** Created only if there is none, or if the stored one belongs to another database. */
export async function readOrCreateDemoMerchant(
  directory: string,
  merchants: {
    list(merchantId: string): Promise<readonly unknown[]>
    create(name: string): Promise<DemoMerchant>
  },
): Promise<DemoMerchant> {
  const kept = await readDemoMerchant(directory)
  if (kept && (await isThere(kept, merchants))) return kept
  // Before the merchant is created: every start that cannot store its credentials would create one more.
  const draft = await openDraft(directory)
  try {
    const created = await merchants.create(demoName)
    await draft.finish(created)
    return created
  } finally {
    await draft.close()
  }
}

/**
 * A merchant whose cell is unreachable counts as existing: its credentials are stored nowhere else, and those of a new
 * one would replace them.
 */
async function isThere(
  { merchantId }: DemoMerchant,
  merchants: { list(merchantId: string): Promise<readonly unknown[]> },
): Promise<boolean> {
  try {
    return (await merchants.list(merchantId)).length > 0
  } catch (error) {
    if (isConnectionLost(error) || error instanceof MerchantUnavailable) return true
    throw error
  }
}

/**
 * After a restore the backup's rows include the demo merchant, but not its secrets. Its id is stored without them, so
 * that the next start does not create a second one.
 */
export async function rememberRestoredDemo(
  directory: string,
  merchants: Pick<MerchantAdministration, 'list'>,
): Promise<void> {
  const demo = (await merchants.list()).find(({ name }) => name === demoName)
  if (demo) await writeDemoMerchant(directory, { merchantId: demo.merchantId, apiKey: '', webhookSecret: '' })
}

/** After a rotation, so that the next start prints a valid key. */
export async function keepDemoKey(directory: string, merchantId: string, apiKey: string): Promise<void> {
  const kept = await readDemoMerchant(directory)
  if (kept?.merchantId === merchantId) await writeDemoMerchant(directory, { ...kept, apiKey })
}

/** The same for its webhook secret. */
export async function keepDemoSecret(
  directory: string,
  merchantId: string,
  webhookSecret: string,
): Promise<void> {
  const kept = await readDemoMerchant(directory)
  if (kept?.merchantId === merchantId) await writeDemoMerchant(directory, { ...kept, webhookSecret })
}

const demoFile = (directory: string): string => join(directory, 'demo.json')

/** Undefined when there is none, or the file holds something else: then it is replaced. */
export async function readDemoMerchant(directory: string): Promise<DemoMerchant | undefined> {
  let content: string
  try {
    content = await readFile(demoFile(directory), 'utf8')
  } catch (error) {
    const code = textAt(error, 'code')
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    // Node's error does not name the folder. Container engines make one in the place of a file that is not there.
    const reason = code === 'EISDIR' ? 'it is a folder: remove it' : `${code}: make it readable for this user`
    throw new CommandFault(
      `${demoFile(directory)}, which holds the demo merchant's credentials, cannot be read (${reason})`,
      { cause: error },
    )
  }
  return parseDemoMerchant(content)
}

function parseDemoMerchant(content: string): DemoMerchant | undefined {
  const { merchantId, apiKey, webhookSecret } = textsOf(parseJson(content))
  if (merchantId === undefined || apiKey === undefined || webhookSecret === undefined) return undefined
  return { merchantId, apiKey, webhookSecret }
}

async function writeDemoMerchant(directory: string, demo: DemoMerchant): Promise<void> {
  const draft = await openDraft(directory)
  await draft.finish(demo).finally(draft.close)
}

interface Draft {
  finish(demo: DemoMerchant): Promise<void>
  /** Removes it, if it was not finished. */
  close(): Promise<void>
}

/** 1,000 bytes: more than the credentials need, so that a full disk is noticed at once. */
const draftBytes = 1_000

/** Complete before it gets its name, and readable by its owner only. */
async function openDraft(directory: string): Promise<Draft> {
  const path = `${demoFile(directory)}.${randomUUID()}`
  try {
    makeFolders(directory, 0o700)
    const file = await open(path, 'wx', 0o600)
    await file.writeFile(' '.repeat(draftBytes)).finally(() => file.close())
  } catch (error) {
    await rm(path, { force: true }).catch(() => undefined)
    const code = textAt(error, 'code')
    if (code === undefined) throw error
    throw new CommandFault(
      `the demo merchant cannot be kept in the data folder ${directory} (${code}): make it writable for this user, make room, ` +
        'or choose another with TOLLGATE_DATA',
      { cause: error },
    )
  }
  return {
    async finish(demo) {
      const file = await open(path, 'r+')
      try {
        await file.truncate()
        await file.writeFile(`${JSON.stringify(demo)}\n`)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(path, demoFile(directory))
    },
    close: () => rm(path, { force: true }),
  }
}
