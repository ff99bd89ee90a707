/** The dependencies of bank operations: the engine for payments, and the tables of files, items and entries. */
import type { BankSettings } from '#connectors/bank/facts.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Engine } from '#operations/engine.ts'
import type { BankFileStore } from '#storage/bank/bank-files.ts'
import type { BankAccountKey } from '#storage/bank/batches.ts'
import type { EntryStore } from '#storage/bank/entries.ts'
import type { ItemStore } from '#storage/bank/items.ts'
import type { TransferStore } from '#storage/bank/transfers.ts'
import type { UndeliveredStore } from '#storage/bank/undelivered.ts'
import type { Database } from '#storage/database.ts'
import type { RecordVault } from '#vault/sealed-records.ts'

/** An account at a bank, with its owner. */
export interface BankAccount extends BankAccountKey {
  readonly merchant: Merchant
  readonly settings: BankSettings
}

export interface Bank {
  readonly engine: Engine
  readonly database: Database
  readonly records: RecordVault
  readonly files: BankFileStore
  readonly items: ItemStore
  readonly entries: EntryStore
  readonly transfers: TransferStore
  readonly undelivered: UndeliveredStore
  /** Throws a fault that names the account when there is none, or when it is not at a bank. */
  readonly account: (accountId: string) => Promise<BankAccount>
  /** All provider accounts that use the bank account with this IBAN. */
  readonly accountsAt: (iban: string) => Promise<readonly BankAccount[]>
  /** Named gaps where recovery tests let the process die. Does nothing elsewhere. */
  readonly testCrash: (point: BankCrashPoint) => void | Promise<void>
}

/** An account, and the bank operations of its cell. */
export interface BankPlace {
  readonly account: BankAccount
  readonly bank: Bank
}

export type BankCrashPoint = 'batchStored' | 'fileWritten' | 'fileTaken' | 'receiptKept' | 'entryApplied'

/** An operator's command cannot be carried out; the message says what to change. */
export class BankFault extends Error {}

/** This cell has no such account; another cell may have it. */
export class UnknownAccount extends BankFault {}
