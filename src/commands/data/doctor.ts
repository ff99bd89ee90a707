/** `doctor`: examines all data and reports errors. It writes nothing but a row of the audit trail. */
import { type Command, Option } from 'commander'
import { auditCommand } from '#commands/audit-trail.ts'
import { CommandFault, describeReason } from '#commands/faults.ts'
import { type OpenDatabase, openDatabase } from '#commands/open-database.ts'
import { parseTime } from '#commands/options.ts'
import type { Config } from '#config.ts'
import { toVisible } from '#domain/text.ts'
import { warnOfEnd } from '#domain/time/certificate-end.ts'
import { doctorOpens } from '#operations/audit/audit.ts'
import { examineVault, leaveVault } from '#operations/merchants/examine-keys.ts'
import type { SealOptions } from '#operations/merchants/examine-seals.ts'
import { openDatabase as connect } from '#storage/database.ts'
import { examineCells } from '#storage/doctor/cell-checks.ts'
import { type CheckResult, type Example, examine, examineAudit } from '#storage/doctor/doctor.ts'
import { holdsNumbers } from '#storage/doctor/sealed-holdings.ts'
import { withSnapshot } from '#storage/doctor/sealed-rows.ts'
import { areApart, describeDifference, readClockDifference } from '#storage/processes/clock-difference.ts'
import { readMasterKeys } from '#vault/master-key.ts'

export function addDoctorCommand(program: Command, readConfig: () => Config): void {
  program
    .command('doctor')
    .description(
      'Checks money, statuses, operations, keys, events and timers of all payments. Changes nothing; works while the ' +
        'server runs and while it does not. Card numbers are decrypted, which the audit trail shows. Ends with 1 when ' +
        'it finds something.',
    )
    .addOption(new Option('--json', 'print one line of JSON'))
    .addOption(
      new Option(
        '--since <time>',
        'only payments changed at this time or later (a date, or how long ago: PT2H)',
      ).argParser(parseTime),
    )
    .action((options: DoctorOptions) => diagnose(readConfig(), options))
}

interface DoctorOptions {
  readonly json?: true
  readonly since?: Date
}

async function diagnose(config: Config, { json, since }: DoctorOptions): Promise<void> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const onProgress = (line: string): void => console.error(line)
  const database = await openDatabase(config, {
    purpose: 'command',
    onProgress,
    keepsRemains: true,
    mayLackKey: true,
  })
  try {
    const progress = showProgress(process.stderr)
    const onResult = (result: CheckResult): void => {
      progress.clear()
      if (!json) printResult(result)
    }
    const results: CheckResult[] = []
    await warnOfClocks(database)
    await warnOfKeys(config, database)
    warnOfCertificate(config)
    for (const { name, url } of database.cells) {
      if (!json && database.cells.length > 1) console.log(`${name}:`)
      results.push(...(await examine(url, { since, onResult, onProgress: progress.show })))
      progress.clear()
    }
    results.push(...(await examineCells(database.cells, onResult)))
    const more = await examineRest(database, { since, onProgress: progress.count })
    for (const result of more) onResult(result)
    results.push(...more)
    report(results, { json })
  } finally {
    await database.close()
  }
}

/** A warning and no finding: the data is right, and the gateway may run on another machine than this command. */
async function warnOfClocks({ cells }: OpenDatabase): Promise<void> {
  for (const { name, url } of cells) {
    const difference = await readClockDifference(url)
    if (areApart(difference))
      console.error(
        `warning: the clock of this machine is ${describeDifference(difference)} that of the database (${name}); synchronise both`,
      )
  }
}

/**
 * If a change of the master key was stopped before anything was wrapped, or after everything was, only the source of
 * the key shows it.
 */
async function warnOfKeys({ masterKeys }: Config, { masterKeyFile }: OpenDatabase): Promise<void> {
  const keys = masterKeyFile === undefined ? masterKeys : await readMasterKeys(masterKeyFile)
  if (!keys || keys.length === 1) return
  const [source, next] = masterKeyFile
    ? [masterKeyFile, 'run keys rotate again']
    : ['TOLLGATE_MASTER_KEY', 'run keys rotate, then remove all but the first']
  console.error(`warning: ${source} holds ${keys.length} master keys: a change was not finished; ${next}`)
}

/** Only a warning: a certificate says nothing about the data. */
function warnOfCertificate({ tls }: Config): void {
  const warning = tls && warnOfEnd(tls.cert, tls.files.cert, Date.now())
  if (warning !== undefined) console.error(`warning: ${warning}`)
}

/** A skipped check is not a success, so the last line must mention it for people who read only that. */
function report(results: readonly CheckResult[], { json }: DoctorOptions): void {
  const unwell = results.filter(({ found }) => found > 0)
  const unmade = results.filter(({ notMade }) => notMade !== undefined)
  const healthy = unwell.length + unmade.length === 0
  if (json) console.log(JSON.stringify({ healthy, checks: joinResults(results) }))
  const faults = [
    ...(unwell.length > 0
      ? [
          `${unwell.length} of ${results.length} checks found something wrong; the lines marked FOUND say what`,
        ]
      : []),
    ...(unmade.length > 0
      ? [`${unmade.length} of ${results.length} checks were not made: ${unmade[0]?.notMade}`]
      : []),
  ]
  if (!healthy) throw new CommandFault(faults.join('. '))
  if (!json) console.log(`Healthy: ${results.length} checks found nothing.`)
}

/** Combines the results of the same check in all cells. */
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

/** One line that is overwritten, for people; nothing if the output goes to a file. */
function showProgress(stream: NodeJS.WriteStream) {
  let shown = false
  const write = (text: string): void => {
    if (!stream.isTTY) return
    stream.write(`\r${text}`)
    shown = true
  }
  return {
    show: (share: number) => write(`${Math.floor(share * 100)} % of the checks are done`),
    count: (opened: number) => write(`${opened} sealed rows were opened`),
    clear() {
      if (shown) stream.write('\r\u001b[K')
      shown = false
    },
  }
}

/** Checks that need more than SQL: broken seals in every cell, and a broken chain in cell 0. */
async function examineRest(opened: OpenDatabase, options: SealOptions): Promise<readonly CheckResult[]> {
  const { url, cells, masterKey } = opened
  const database = connect(url, () => undefined)
  try {
    const missing = opened.missingKey ?? (await auditOpenings(opened))
    const keys: CheckResult[] = []
    for (const cell of cells)
      keys.push(
        ...(missing === undefined
          ? await withSnapshot(cell.url, client => examineVault(client, masterKey, options))
          : leaveVault(missing)),
      )
    return [...keys, await examineAudit(database.readers)]
  } finally {
    await database.close()
  }
}

/** Says in the audit trail that numbers are decrypted. Returns why none may be, where the trail cannot be written. */
async function auditOpenings({ url, cells }: OpenDatabase): Promise<string | undefined> {
  const held = await Promise.all(cells.map(cell => withSnapshot(cell.url, holdsNumbers)))
  if (!held.includes(true)) return undefined
  try {
    await auditCommand(url, doctorOpens)
    return undefined
  } catch (error) {
    return `the audit trail cannot be written, and no number is decrypted without a row in it: ${describeReason(error)}`
  }
}

function printResult({ name, sentence, found, examples, notMade }: CheckResult): void {
  const word = notMade === undefined ? (found === 0 ? 'ok   ' : 'FOUND') : 'SKIP '
  console.log(`${word}  ${name}: ${sentence}`)
  for (const example of examples) console.log(`         ${describeExample(example)}`)
  if (found > examples.length) console.log(`         … and ${found - examples.length} more`)
}

function describeExample({ merchantId, payId, xId, detail }: Example): string {
  const where = [`merchant ${merchantId}`, payId && `payId ${payId}`, xId && `xId ${xId}`]
  return `${where.filter(Boolean).join(', ')}: ${toVisible(detail)}`
}
