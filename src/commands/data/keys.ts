/**
 * `keys`: changes the key that seals cards and secrets. Not to be confused with `key`, which is about a merchant's API
 * keys.
 */

import { strict as assert } from 'node:assert'
import type { Command } from 'commander'
import { auditCommand } from '#commands/audit-trail.ts'
import { CommandFault, describeReason, UsageFault } from '#commands/faults.ts'
import { type OpenDatabase, openDatabase } from '#commands/open-database.ts'
import type { Config } from '#config.ts'
import { textAt } from '#domain/json.ts'
import { followRoot, rotateRoot } from '#operations/merchants/rotate-root.ts'
import { joinStores, openRotationStore, type RotationStore } from '#storage/vault/key-rotation.ts'
import { type Renewed, renewDataKeys } from '#vault/renew-data-keys.ts'
import { type Rotated, type RotationDeps, rotateKeyFile, rotateTo } from '#vault/rotate-master-key.ts'

/** The file is set if the command has changed it itself. */
type RotatedKeys = Rotated & { readonly file?: string }

export function addKeysCommands(program: Command, readConfig: () => Config): void {
  const keys = program.command('keys').summary('change the master key that seals cards and secrets')
  keys.description(
    'Changes the master key that seals cards and secrets, and the data keys below it. For the API key of a merchant see "tollgate key".',
  )
  keys
    .command('rotate')
    .description(
      'Makes a new master key, wraps everything with it and retires the old one, while the server runs or not. ' +
        'Run it again if it was stopped in the middle.',
    )
    .option(
      '--root',
      'make a new root secret instead: ends all access tokens and everything forged with the old one',
    )
    .option('--json', 'print one line of JSON')
    .action(async ({ json, root }: { json?: true; root?: true }) => {
      const config = readConfig()
      if (root) {
        printRoot(await makeRoot(config), json)
        return
      }
      const rotated = await withKeys(config, async ({ database, deps }) => {
        const { retired, ...made } = await rotateAtItsSource(config, database.masterKeyFile, deps)
        await auditCommand(database.url, {
          act: 'keys.rotate',
          object: made.masterKeyId,
          before: { retired },
          after: { rewrapped: made.rewrapped },
        })
        return { ...made, retired }
      })
      if (json) console.log(JSON.stringify(rotated))
      else printRotated(rotated)
      printBackupReminder(rotated)
    })
  keys
    .command('renew')
    .description(
      'Gives every merchant a new data key below the master key and seals its cards and bank accounts anew with it, while the server runs ' +
        'or not. Old data keys stay, for backups and for what is sealed meanwhile.',
    )
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { json?: true }) => {
      const renewed = await withKeys(readConfig(), async ({ database, each }) => {
        const [first, ...others] = each
        assert(first, 'there is no cell 0')
        let made = await renewDataKeys(database.masterKey, first)
        for (const deps of others) made = addUp(made, await renewDataKeys(database.masterKey, deps))
        // Every stored number was decrypted for this, not for a payment.
        await auditCommand(database.url, { act: 'keys.renew', object: 'vault', after: made })
        return made
      })
      if (json) console.log(JSON.stringify(renewed))
      else
        console.log(
          `data keys made: ${renewed.dataKeys}\ncards sealed anew: ${renewed.cards}\naccounts sealed anew: ` +
            `${renewed.accounts}${renewed.records ? `\nother records sealed anew: ${renewed.records}` : ''}`,
        )
    })
}

const makeRoot = (config: Config): Promise<number> =>
  withKeys(config, async ({ database, each }) => {
    const stores = each.map(({ store }) => store)
    const rootSecrets = await rotateRoot(database.masterKey, { stores })
    await auditCommand(database.url, {
      act: 'keys.rotate-root',
      object: 'root secret',
      after: { rootSecrets },
    })
    return rootSecrets
  })

function printRoot(rootSecrets: number, json: true | undefined): void {
  console.log(json ? JSON.stringify({ rootSecrets }) : `root secrets: ${rootSecrets}, the newest made now`)
  console.error(
    'Access tokens from before end within ten seconds; API keys, stored cards and pages stay. Change the master key too ' +
      '(keys rotate) where somebody else may have it.',
  )
}

const addUp = (a: Renewed, b: Renewed): Renewed => ({
  dataKeys: a.dataKeys + b.dataKeys,
  cards: a.cards + b.cards,
  accounts: a.accounts + b.accounts,
  ...(a.records || b.records ? { records: (a.records ?? 0) + (b.records ?? 0) } : {}),
})

/** Opens the resources of a change of keys, and closes them afterwards. */
async function withKeys<T>(
  config: Config,
  work: (opened: {
    database: OpenDatabase
    /** The dependencies over all cells. */
    deps: RotationDeps
    /** The dependencies of each cell. */
    each: readonly RotationDeps[]
  }) => Promise<T>,
): Promise<T> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const say = (line: string) => console.error(line)
  const database = await openDatabase(config, { purpose: 'command', onProgress: say })
  try {
    const stores: RotationStore[] = []
    try {
      for (const { url } of database.cells) {
        const store = await openRotationStore(url)
        if (!store)
          throw new CommandFault('another process is changing the keys; try again when it has finished')
        stores.push(store)
      }
      const deps = stores.map(store => ({ store, onProgress: say }))
      const follow: RotationDeps['follow'] = async (stored, ring) => {
        for (const store of stores.slice(1)) await followRoot(stored, store, ring)
      }
      return await work({
        database,
        deps: { store: joinStores(stores), follow, onProgress: say },
        each: deps,
      })
    } finally {
      for (const store of stores) await store.close()
    }
  } finally {
    await database.close()
  }
}

async function rotateAtItsSource(
  { masterKeys }: Config,
  file: string | undefined,
  deps: RotationDeps,
): Promise<RotatedKeys> {
  if (file !== undefined) {
    const rotated = await rotateKeyFile(file, deps).catch((error: unknown) => {
      throw isUnwritable(error) ? unwritable(file, error) : error
    })
    return { ...rotated, file }
  }
  if (!masterKeys || masterKeys.length < 2) {
    throw new UsageFault(
      'TOLLGATE_MASTER_KEY cannot be changed from here: put a new key in front of the old one, with a space between, ' +
        'start every server with both, and run this again',
    )
  }
  return rotateTo(masterKeys, deps)
}

const isUnwritable = (error: unknown): boolean =>
  ['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EXDEV', 'ENOSPC', 'EDQUOT'].includes(String(textAt(error, 'code')))

const unwritable = (file: string, cause: unknown): CommandFault =>
  new CommandFault(
    `the master key file ${file} cannot be replaced (${describeReason(cause)}): put the new key in front of the old one ` +
      'yourself and run this again, or, if it has both, remove the old one when this command has wrapped everything',
    { cause },
  )

function printRotated({ masterKeyId, retired, rewrapped, file }: RotatedKeys): void {
  console.log(`master key: ${masterKeyId}`)
  console.log(`data keys wrapped: ${rewrapped}`)
  if (file !== undefined) console.log(`retired: ${retired.join(', ') || 'none'}`)
}

/** Printed on standard error for people, also with `--json`. */
function printBackupReminder({ file }: RotatedKeys): void {
  if (file === undefined) console.error('Remove the other keys from TOLLGATE_MASTER_KEY now.')
  console.error(
    'Backups of the database from before need the old key: keep it with them, and back up the new one.',
  )
}
