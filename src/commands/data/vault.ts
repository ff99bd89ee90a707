/** `vault`: housekeeping of the stored card and account numbers. */
import { type Command, InvalidArgumentError } from 'commander'
import { auditCommand } from '#commands/audit-trail.ts'
import { openDatabase } from '#commands/open-database.ts'
import { overCells } from '#commands/over-cells.ts'
import { showProgress } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { addDuration } from '#domain/time/duration.ts'
import { type Purged, purgeVault } from '#storage/vault/vault-purge.ts'

/**
 * 1 day: a running server may assume for an hour that a card it has seen is stored, and shops that use pseudo numbers
 * should know of a purge beforehand.
 */
const shortestMs = 24 * 60 * 60 * 1000

interface PurgeWords {
  readonly unusedFor: string
  readonly dryRun?: true
  readonly json?: true
}

export function addVaultCommands(program: Command, readConfig: () => Config): void {
  const vault = program
    .command('vault')
    .summary('destroy card and account numbers that nobody needs any more')
  vault.description('Destroys card and account numbers that are not needed any more.')
  vault
    .command('purge')
    .description(
      'Destroys the numbers of cards and bank accounts that were not used for that long and that nothing else needs: no stored payment ' +
        'method, no plan, no payment that is under way. Their pseudo numbers are unknown from then on; payments keep ' +
        'their masked digits. There is no way back.',
    )
    .requiredOption(
      '--unused-for <duration>',
      'ISO 8601, a day at least: P400D is 400 days, P13M 13 months',
      parseDuration,
    )
    .option('--dry-run', 'only count them, destroy nothing')
    .option('--json', 'print one line of JSON')
    .action(async ({ unusedFor, dryRun, json }: PurgeWords) => {
      const purged = await purge(readConfig(), unusedFor, dryRun === true)
      if (json) console.log(JSON.stringify({ unusedFor, dryRun: dryRun === true, ...purged }))
      else if (dryRun) console.log(`numbers that would be destroyed: ${purged.found}`)
      else console.log(`numbers destroyed: ${purged.destroyed}`)
    })
}

async function purge(config: Config, unusedFor: string, dryRun: boolean): Promise<Purged> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const database = await openDatabase(config, { purpose: 'command', onProgress: line => console.error(line) })
  try {
    const progress = showProgress('Destroying numbers', {
      line: (destroyed, total) => `${destroyed} of ${total} numbers destroyed`,
    })
    const onProgress = progress.advance
    const purged = await overCells(database, ({ url }) =>
      purgeVault(url, { unusedFor, dryRun, onProgress }),
    ).finally(progress.end)
    if (!dryRun)
      await auditCommand(database.url, {
        act: 'vault.purge',
        object: 'vault',
        after: { unusedFor, ...purged },
      })
    return purged
  } finally {
    await database.close()
  }
}

function parseDuration(text: string): string {
  const length = addDuration(0, text)
  // The database reads the same notation, but wants a point before decimals.
  if (length !== undefined && length >= shortestMs) return text.replace(',', '.')
  throw new InvalidArgumentError('It must be an ISO 8601 duration of a day at least, such as P400D.')
}
