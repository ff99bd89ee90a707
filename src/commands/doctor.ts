/** `doctor`: looks over all data and says what is wrong with it. It changes nothing. */
import { type Command, Option } from 'commander'
import { CommandFault } from '#commands/faults.ts'
import { openDatabase } from '#commands/open-database.ts'
import type { Config } from '#config.ts'
import { examineCells } from '#storage/doctor/cell-checks.ts'
import { type CheckResult, type Example, examine } from '#storage/doctor/doctor.ts'

export function addDoctorCommand(program: Command, readConfig: () => Config): void {
  program
    .command('doctor')
    .description(
      'Checks money, statuses, operations, keys, events and timers of all payments. Changes nothing; works while the ' +
        'server runs and while it does not. Ends with 1 when it finds something.',
    )
    .addOption(new Option('--json', 'print one line of JSON'))
    .action(({ json }: { json?: true }) => diagnose(readConfig(), json === true))
}

async function diagnose(config: Config, json: boolean): Promise<void> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const database = await openDatabase(config, { purpose: 'command', onProgress: line => console.error(line) })
  try {
    const results: CheckResult[] = []
    for (const { name, url } of database.cells) {
      if (!json && database.cells.length > 1) console.log(`${name}:`)
      results.push(...(await examine(url, { onResult: json ? undefined : printResult })))
    }
    results.push(...(await examineCells(database.cells, json ? undefined : printResult)))
    const unwell = results.filter(({ found }) => found > 0)
    if (json) console.log(JSON.stringify({ healthy: unwell.length === 0, checks: joinResults(results) }))
    if (unwell.length > 0)
      throw new CommandFault(`${unwell.length} of ${results.length} checks found something`)
    if (!json) console.log(`Healthy: ${results.length} checks found nothing.`)
  } finally {
    await database.close()
  }
}

/** The same check of all cells is one. */
function joinResults(results: readonly CheckResult[]): readonly CheckResult[] {
  const joined = new Map<string, CheckResult>()
  for (const result of results) {
    const known = joined.get(result.name)
    joined.set(result.name, {
      ...result,
      found: result.found + (known?.found ?? 0),
      examples: [...(known?.examples ?? []), ...result.examples],
    })
  }
  return [...joined.values()]
}

function printResult({ name, sentence, found, examples }: CheckResult): void {
  console.log(`${found === 0 ? 'ok   ' : 'FOUND'}  ${name}: ${sentence}`)
  for (const example of examples) console.log(`         ${describeExample(example)}`)
  if (found > examples.length) console.log(`         … and ${found - examples.length} more`)
}

function describeExample({ merchantId, payId, xId, detail }: Example): string {
  const where = [`merchant ${merchantId}`, payId && `payId ${payId}`, xId && `xId ${xId}`]
  return `${where.filter(Boolean).join(', ')}: ${detail}`
}
