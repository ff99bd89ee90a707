/** Converts the bank's transactions into settlement lines: money in, money out, returns and the bank's charges. */
import { signedValue, type TransactionFact } from '#connectors/bank/bank-facts.ts'
import { readBankFile } from '#connectors/bank/read-bank-file.ts'
import type { SettlementLine } from '#connectors/notice.ts'
import { parseXId } from '#domain/ids.ts'

/**
 * One line per transaction. The sum of a whole batch stays one line here; `bank import`, which knows its payments,
 * replaces it by their lines.
 */
export async function* readSettlement(file: AsyncIterable<Uint8Array>): AsyncGenerator<SettlementLine> {
  for await (const facts of readBankFile(file))
    for (const fact of facts) if (fact.kind === 'transaction') yield* linesOf(fact)
}

function linesOf(fact: TransactionFact): SettlementLine[] {
  const { direction, amount, charges, returned, takesBack, endToEndId, wholeBlock } = fact
  const { key, formerKey, bookedOn } = fact
  const entry = { key, formerKey, bookedOn, amount: signedValue(fact), currency: amount.currency }
  const reference = parseXId(endToEndId ?? '')
  const { currency } = amount
  const named = { reference, transactionId: wholeBlock?.blockId ?? fact.bankReference, entry, currency }
  const providerReference = fact.key
  const ofTransfer = reference === undefined ? 'CORRECTION' : 'REFUND'
  if (direction === 'CRDT') {
    // A transfer that comes back is no customer's money. With the line of its booking it adds up to zero.
    const type = returned || takesBack ? ofTransfer : 'CAPTURE'
    return [lineOf(type, amount.value, { fact, providerReference, ...named })]
  }
  // A debit of ours that the bank takes back without a reason.
  const isReturned = returned || (takesBack && reference !== undefined)
  if (!isReturned) return [lineOf(ofTransfer, -amount.value, { fact, providerReference, ...named })]
  const original = fact.originalAmount?.currency === currency ? fact.originalAmount.value : undefined
  const back = original ?? amount.value - charges
  const fee = Math.max(charges, amount.value - back)
  return [
    lineOf('CHARGEBACK', -back, { fact, providerReference, ...named }),
    ...(fee > 0 ? [feeLine(fee, { fact, providerReference, ...named })] : []),
  ]
}

interface LineNames
  extends Pick<SettlementLine, 'reference' | 'transactionId' | 'providerReference' | 'entry'> {
  readonly fact: Pick<TransactionFact, 'bookedOn'>
  /** EUR unless given: our debits and transfers have no other. */
  readonly currency?: string
}

/** `cents`: positive to the merchant, negative from them. */
export const lineOf = (
  type: SettlementLine['type'],
  cents: number,
  { fact, ...names }: LineNames,
): SettlementLine => ({
  settlementId: fact.bookedOn,
  date: fact.bookedOn,
  type,
  gross: cents,
  fee: 0,
  net: cents,
  currency: 'EUR',
  ...names,
})

/** A line for the bank's charges alone. */
export const feeLine = (cents: number, names: LineNames): SettlementLine => ({
  ...lineOf('FEE', 0, names),
  fee: cents,
  net: -cents,
})
