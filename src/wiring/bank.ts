/** Wires the bank operations: the tables of files and entries, and all merchants' bank accounts. */
import { bankFacts, readSettings } from '#connectors/bank/facts.ts'
import { type Bank, type BankAccount, BankFault, UnknownAccount } from '#operations/bank/bank.ts'
import type { Engine } from '#operations/engine.ts'
import { createBankFileStore } from '#storage/bank/bank-files.ts'
import { createEntryStore } from '#storage/bank/entries.ts'
import { createItemStore } from '#storage/bank/items.ts'
import { createTransferStore } from '#storage/bank/transfers.ts'
import { createUndeliveredStore } from '#storage/bank/undelivered.ts'
import type { Database } from '#storage/database.ts'
import type { MerchantStore } from '#storage/merchants.ts'
import { type AccountRecord, createProviderAccountStore } from '#storage/providers/accounts.ts'
import { createVaultStore } from '#storage/vault/vault-store.ts'
import { createKeyRing } from '#vault/key-ring.ts'
import { createRecordVault } from '#vault/sealed-records.ts'
import type { Cells } from '#wiring/cells.ts'
import type { GatewayOptions } from '#wiring/parts.ts'

/** That of cell 0 first. */
export type Banks = readonly [Bank, ...Bank[]]

export function createBanks(cells: Pick<Cells, 'home' | 'all'>, options: GatewayOptions): Banks {
  const others = cells.all().filter(cell => cell !== cells.home)
  const open = ({ database, engine, merchants }: Cells['home']): Bank =>
    createBank({ database, engine, merchants, options })
  return [open(cells.home), ...others.map(open)]
}

function createBank(parts: {
  readonly database: Database
  readonly engine: Engine
  readonly merchants: MerchantStore
  readonly options: GatewayOptions
}): Bank {
  const { database, engine, merchants, options } = parts
  const accounts = createProviderAccountStore(database)

  async function open(record: AccountRecord): Promise<BankAccount> {
    const { merchantId, accountId, settings } = record
    const found = await merchants.find(merchantId)
    if (!found) throw new Error(`the account ${accountId} belongs to a merchant that does not exist`)
    return { merchantId, accountId, settings: readSettings(settings), merchant: found.merchant }
  }

  return {
    engine,
    database,
    records: createRecordVault(createKeyRing(options.masterKey, createVaultStore(database))),
    files: createBankFileStore(database),
    items: createItemStore(database),
    entries: createEntryStore(database),
    transfers: createTransferStore(database),
    undelivered: createUndeliveredStore(database),
    async account(accountId) {
      const record = await accounts.find(accountId)
      if (!record)
        throw new UnknownAccount(`there is no account "${accountId}"; "tollgate provider list" shows all`)
      if (record.connector !== bankFacts.name)
        throw new BankFault(`the account ${accountId} belongs to ${record.connector} and not to a bank`)
      return open(record)
    },
    async accountsAt(iban) {
      const wanted = iban.replaceAll(' ', '').toUpperCase()
      const all = await accounts.list()
      const found = all.filter(
        ({ connector, settings }) => connector === bankFacts.name && settings.creditorIban === wanted,
      )
      return Promise.all(found.map(open))
    },
    testCrash: options.testBankCrash ?? (() => undefined),
  }
}
