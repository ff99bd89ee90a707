/** A gateway whose merchant has an account at a bank, and the command line that operates it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Unmatched } from '#operations/bank/apply-entry.ts'
import type { Bank } from '#operations/bank/bank.ts'
import { type GivenFile, giveOutNew, prepareFolder } from '#operations/bank/give-out.ts'
import { type ImportCounts, importAll } from '#operations/bank/import-file.ts'
import { makeBatch } from '#operations/bank/make-batch.ts'
import type { Undelivered } from '#operations/bank/undelivered.ts'
import { bankSettings } from '#test/support/bank/debits.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { masterKeyOf, startTestGateway, type TestGateway } from '#test/support/gateway.ts'

export interface BankStage {
  readonly gateway: TestGateway
  readonly commands: CommandsHere
  readonly accountId: string
  /**
   * What `bank import` and `bank batch` do, on the gateway's own connections: a fraction of the time. The commands have
   * tests of their own.
   */
  import(...paths: readonly string[]): Promise<Imported>
  /** Writes the files into a folder of this name. */
  batch(name: string, ofAccount?: string): Promise<readonly GivenFile[]>
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
    async import(...paths) {
      const { bad, ...imported } = await importFiles(paths, gateway.gateway.bank)
      if (bad.length > 0) throw new Error(bad.join('\n'))
      return imported
    },
    async batch(name, ofAccount = accountId) {
      const { bank } = gateway.gateway
      const account = await bank.account(ofAccount)
      const folder = join(commands.folder, name)
      await prepareFolder(folder)
      await makeBatch(account, undefined, bank)
      return giveOutNew(account, folder, bank)
    },
    async close() {
      commands.remove()
      await gateway.stop()
    },
  }
}

interface ImportLists {
  readonly unmatched: readonly Unmatched[]
  readonly undelivered: readonly Undelivered[]
}

type Imported = ImportCounts & ImportLists

/** Throws if there is no such file. */
export const textOf = (file: GivenFile | undefined): string => readFileSync(file?.path ?? '', 'utf8')

/** As `bank import --json` prints it, and the sentences about bad files. */
export async function importFiles(
  paths: readonly string[],
  bank: Bank,
): Promise<Imported & { readonly bad: readonly string[] }> {
  const { counts, unmatched, undelivered, bad } = await importAll(paths, [bank])
  const listed: Unmatched[] = []
  for await (const page of unmatched.pages()) listed.push(...page)
  const back: Undelivered[] = []
  for await (const page of undelivered.pages()) back.push(...page)
  await undelivered.told()
  return { ...counts, unmatched: listed, undelivered: back, bad }
}
