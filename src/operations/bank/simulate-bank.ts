/** The simulated bank of the test environment: reads every file made for it and writes its reports up to today. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readInstructions } from '#connectors/bank/read-initiation.ts'
import { writeSimulatedFiles } from '#connectors/bank/simulated-files.ts'
import { keepLedger } from '#connectors/bank/simulated-ledger.ts'
import { bankTimeOf } from '#domain/time/target-calendar.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import { prepareFolder } from '#operations/bank/give-out.ts'
import { readStoredFile } from '#operations/bank/store-file.ts'
import { merchantNow } from '#operations/engine.ts'

/** Returns the paths of all the bank's files, the oldest first. Files are rewritten with the same bytes each time. */
export async function simulateBank(account: BankAccount, folder: string, bank: Bank): Promise<string[]> {
  const instructions = []
  for (const file of await bank.files.list(account))
    instructions.push(...(await readInstructions(readStoredFile(file, bank))))
  const today = bankTimeOf(merchantNow(bank.engine.clock, account.merchant)).day
  const files = writeSimulatedFiles(keepLedger(instructions, today), account.settings.creditorIban)
  await prepareFolder(folder)
  for (const { name, text } of files) await writeFile(join(folder, name), text, { mode: 0o600 })
  return files.map(({ name }) => join(folder, name))
}
