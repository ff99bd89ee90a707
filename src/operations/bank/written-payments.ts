/** Writes the payments of a batch into its files. Account numbers are decrypted here and leave only inside a file. */
import { type Transfer, writeTransfer } from '#connectors/bank/credit-transfers.ts'
import { type Debit, type MandateAmendment, writeDebit } from '#connectors/bank/direct-debits.ts'
import type { SequenceType } from '#connectors/bank/initiation.ts'
import { toIsoDay } from '#domain/time/dates.ts'
import type { FileDraft, WriteTarget } from '#operations/bank/store-file.ts'
import type { NewItem } from '#storage/bank/batch-rows.ts'
import type { WrittenPayment } from '#storage/bank/batches.ts'

export interface BatchItem extends NewItem {
  readonly sequenceType?: SequenceType
  readonly amendment?: MandateAmendment
}

/** A payment and its place in the batch. */
export interface PlacedPayment {
  readonly item: BatchItem
  readonly payment: WrittenPayment
}

/** Puts payments into the blocks of their file. */
export async function writePayments(
  placed: readonly PlacedPayment[],
  draftOf: (isDebit: boolean) => FileDraft,
  target: WriteTarget,
): Promise<void> {
  for (const [blockId, ofBlock] of Map.groupBy(placed, ({ item }) => item.blockId)) {
    const isDebit = ofBlock[0]?.item.type === 'DEBIT'
    const texts = await Promise.all(
      ofBlock.map(async each =>
        isDebit ? writeDebit(await toDebit(each, target)) : writeTransfer(await toTransfer(each, target)),
      ),
    )
    await draftOf(isDebit).add(blockId, {
      texts,
      sum: ofBlock.reduce((total, { item }) => total + BigInt(item.amount), 0n),
    })
  }
}

/** Written as NOTPROVIDED: money that is owed still moves after the customer's name was erased. */
const erasedName = ''

async function toDebit({ item, payment }: PlacedPayment, target: WriteTarget): Promise<Debit> {
  const { account, dateOfSignature } = payment
  if (!account || item.mandateId === undefined || dateOfSignature === null)
    throw new Error(`the debit ${item.xId} cannot be written for the bank: it has no mandate`)
  return {
    endToEndId: item.xId,
    cents: item.amount,
    mandateId: item.mandateId,
    signedOn: toIsoDay(dateOfSignature),
    ...(item.amendment ? { amendment: item.amendment } : {}),
    debtorName: account.accountHolderName ?? erasedName,
    debtorIban: await ibanOf(payment, target),
    ...(account.code === undefined ? {} : { debtorBic: account.code }),
    remittance: textOf(payment),
  }
}

async function toTransfer({ item, payment }: PlacedPayment, target: WriteTarget): Promise<Transfer> {
  const { account } = payment
  const shared = { endToEndId: item.xId, cents: item.amount, remittance: textOf(payment) }
  if (item.type === 'SURPLUS') {
    const payer = await openPayer(payment, target)
    return { ...shared, payeeName: payer.name, payeeIban: payer.iban }
  }
  if (!account)
    throw new Error(`the transfer ${item.xId} cannot be written for the bank: it names no account to pay to`)
  return {
    ...shared,
    payeeName: account.accountHolderName ?? erasedName,
    payeeIban: await ibanOf(payment, target),
    ...(account.code === undefined ? {} : { payeeBic: account.code }),
  }
}

/** What the customer reads on the statement: the merchant's own references. */
const textOf = ({ transId, refNr }: WrittenPayment): string =>
  refNr === null ? transId : `${refNr} ${transId}`

async function ibanOf(
  { xId, heldId, keyVersion, sealed }: WrittenPayment,
  { merchantId, bank }: WriteTarget,
): Promise<string> {
  const number =
    heldId !== null && keyVersion !== null && sealed !== null
      ? await bank.engine.accounts.unseal(merchantId, { accountId: heldId, keyVersion, sealed })
      : undefined
  if (!number)
    throw new Error(
      `the payment ${xId} cannot be written for the bank: its account number is no longer in the vault`,
    )
  return number.reveal()
}

/** The recipient of a surplus, as named in the bank's statement. */
export interface Payer {
  readonly name: string
  readonly iban: string
}

async function openPayer({ xId, keyVersion, sealed }: WrittenPayment, target: WriteTarget): Promise<Payer> {
  if (keyVersion === null || sealed === null)
    throw new Error(`the surplus ${xId} cannot be sent back: its payer is not stored`)
  const record = { recordId: xId, keyVersion, sealed }
  const plain = await target.bank.records.open('bank surplus', target.merchantId, record)
  return JSON.parse(plain.toString())
}
