/** Items of a batch as the writers want them, page by page: the account is unsealed here and leaves only inside the file. */
import type { Transfer } from '#connectors/bank/credit-transfers.ts'
import type { Debit, MandateAmendment } from '#connectors/bank/direct-debits.ts'
import type { BlockHeader } from '#connectors/bank/initiation.ts'
import type { MerchantId } from '#domain/ids.ts'
import type { Bank } from '#operations/bank/bank.ts'
import { readAhead } from '#operations/bank/read-ahead.ts'
import type { BatchTransaction, WrittenItem } from '#storage/bank/batches.ts'

export interface WriteTarget {
  readonly merchantId: MerchantId
  readonly transaction: BatchTransaction
  readonly bank: Bank
}

/** 1,000: the IBANs in memory at one moment. */
const pageSize = 1_000

async function* pagesOf(
  blockId: string,
  { transaction }: WriteTarget,
): AsyncGenerator<readonly WrittenItem[]> {
  for (let after: string | undefined; ; ) {
    const page = await transaction.itemsOf(blockId, after, pageSize)
    after = page.at(-1)?.xId
    if (after === undefined) return
    yield page
  }
}

export const debitsOf = (target: WriteTarget) =>
  async function* ({ blockId }: BlockHeader): AsyncGenerator<readonly Debit[]> {
    for await (const page of readAhead(pagesOf(blockId, target)))
      yield await Promise.all(page.map(item => toDebit(item, target)))
  }

export const transfersOf = (target: WriteTarget) =>
  async function* ({ blockId }: BlockHeader): AsyncGenerator<readonly Transfer[]> {
    for await (const page of readAhead(pagesOf(blockId, target)))
      yield await Promise.all(page.map(item => toTransfer(item, target)))
  }

async function toDebit(item: WrittenItem, target: WriteTarget): Promise<Debit> {
  const { account, captureMandate, mandateId } = item
  const dateOfSignature = captureMandate?.dateOfSignature ?? account?.dateOfSignature
  if (!account || mandateId === null || dateOfSignature === undefined)
    throw new Error(`the debit ${item.xId} has lost its mandate`)
  return {
    endToEndId: item.xId,
    cents: item.amount,
    mandateId,
    signedOn: dateOfSignature.split('.').toReversed().join('-'),
    ...(item.amendment ? { amendment: item.amendment as MandateAmendment } : {}),
    debtorName: account.accountHolderName,
    debtorIban: await ibanOf(item, target),
    ...(account.code === undefined ? {} : { debtorBic: account.code }),
    remittance: textOf(item),
  }
}

async function toTransfer(item: WrittenItem, target: WriteTarget): Promise<Transfer> {
  const { xId, amount, account } = item
  const shared = { endToEndId: xId, cents: amount, remittance: textOf(item) }
  if (item.type === 'SURPLUS') {
    const payer = await openPayer(item, target)
    return { ...shared, payeeName: payer.name, payeeIban: payer.iban }
  }
  if (!account) throw new Error(`the transfer ${xId} has no account to go to`)
  return {
    ...shared,
    payeeName: account.accountHolderName,
    payeeIban: await ibanOf(item, target),
    ...(account.code === undefined ? {} : { payeeBic: account.code }),
  }
}

/** What the customer reads on the statement: the merchant's own references. */
const textOf = ({ transId, refNr }: WrittenItem): string => (refNr === null ? transId : `${refNr} ${transId}`)

async function ibanOf(
  { xId, heldId, keyVersion, sealed }: WrittenItem,
  target: WriteTarget,
): Promise<string> {
  const { merchantId, bank } = target
  const number =
    heldId !== null && keyVersion !== null && sealed !== null
      ? await bank.engine.accounts.unseal(merchantId, { accountId: heldId, keyVersion, sealed })
      : undefined
  if (!number) throw new Error(`the account of ${xId} is no longer in the vault`)
  return number.reveal()
}

/** Whom a surplus goes back to, as the bank's statement named them. */
export interface Payer {
  readonly name: string
  readonly iban: string
}

async function openPayer({ xId, keyVersion, sealed }: WrittenItem, target: WriteTarget): Promise<Payer> {
  if (keyVersion === null || sealed === null) throw new Error(`the surplus ${xId} has lost its payer`)
  const record = { recordId: xId, keyVersion, sealed }
  const plain = await target.bank.records.open('bank surplus', target.merchantId, record)
  return JSON.parse(plain.toString())
}
