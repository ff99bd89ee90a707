/** A gateway whose merchant has an account at a bank, and the command line that operates it. */
import type { Unmatched } from '#operations/bank/apply-entry.ts'
import type { Bank } from '#operations/bank/bank.ts'
import { type ImportCounts, importAll } from '#operations/bank/import-file.ts'
import type { Undelivered } from '#operations/bank/undelivered.ts'
import { bankSettings } from '#test/support/bank/debits.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

export interface BankStage {
  readonly gateway: TestGateway
  readonly commands: CommandsHere
  readonly accountId: string
  close(): Promise<void>
}

/** `more`: further words for `provider add`. */
export async function openBankStage(...more: readonly string[]): Promise<BankStage> {
  const gateway = await startTestGateway()
  const commands = commandsHere(gateway.databaseUrl, {
    TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl),
  })
  const account = ['--connector', 'bank', '--name', 'House bank', ...bankSettings, ...more]
  const { accountId } = await commands.json('provider', 'add', gateway.merchantId, ...account)
  return {
    gateway,
    commands,
    accountId,
    async close() {
      commands.remove()
      await gateway.stop()
    },
  }
}

interface ImportLists {
  readonly unmatched: readonly Unmatched[]
  readonly undelivered: readonly Undelivered[]
  readonly bad: readonly string[]
}

/** As `bank import --json` prints it, and the sentences about bad files. */
export async function importFiles(paths: readonly string[], bank: Bank): Promise<ImportCounts & ImportLists> {
  const { counts, unmatched, undelivered, bad } = await importAll(paths, [bank])
  const listed: Unmatched[] = []
  for await (const page of unmatched.pages()) listed.push(...page)
  const back: Undelivered[] = []
  for await (const page of undelivered.pages()) back.push(...page)
  await undelivered.told()
  return { ...counts, unmatched: listed, undelivered: back, bad }
}
