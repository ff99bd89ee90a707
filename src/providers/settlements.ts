/**
 * Settlement files: the connector reads its provider's format, each line finds the payment it belongs to, and the whole
 * file is stored or nothing of it. A file that is imported twice has one effect.
 */
import { createReadStream } from 'node:fs'
import type { SettlementLine } from '#connectors/contract.ts'
import type { MerchantId, PayId, XId } from '#domain/ids.ts'
import type { Payment } from '#lifecycle/payment.ts'
import type { AccountDirectory } from '#providers/directory.ts'
import { AccountFault } from '#providers/settings.ts'
import type { PaymentReader } from '#storage/payments/payments.ts'
import type { ReferenceReader } from '#storage/providers/references.ts'
import type { SettlementStore, StoredLine } from '#storage/providers/settlements.ts'

export interface ImportDeps {
  readonly directory: Pick<AccountDirectory, 'find'>
  readonly payments: Pick<PaymentReader, 'byPayId'>
  readonly references: ReferenceReader
  readonly store: SettlementStore
}

export interface Imported {
  readonly accountId: string
  /** In the file. */
  readonly lines: number
  /** Not known before. */
  readonly added: number
  readonly repeated: number
  /** Lines about an operation that fit none of ours. */
  readonly unmatched: number
}

/** 1,000,000 lines of some 200 bytes each: a year of a busy merchant in one file. */
const linesMax = 1_000_000

export async function importSettlement(
  { accountId, file }: { readonly accountId: string; readonly file: string },
  deps: ImportDeps,
): Promise<Imported> {
  const account = await deps.directory.find(accountId)
  if (!account)
    throw new AccountFault(`there is no account "${accountId}"; "tollgate provider list" shows all`)
  const { readSettlement } = account.connector
  if (!readSettlement)
    throw new AccountFault(`the connector ${account.connectorName} reads no settlement files`)
  const { merchantId } = account.record
  const lines: StoredLine[] = []
  const name = createNames()
  for await (const line of readLines(file, readSettlement.bind(account.connector))) {
    if (lines.length >= linesMax) throw new AccountFault(`${file} has more than ${linesMax} lines`)
    checkLine(line, lines.length + 1)
    lines.push(await matchLine(name(line), { merchantId, accountId }, deps))
  }
  const added = lines.length === 0 ? 0 : await deps.store.insert(merchantId, lines)
  const unmatched = lines.filter(({ type, xId }) => isOperation(type) && xId === undefined).length
  return { accountId, lines: lines.length, added, repeated: lines.length - added, unmatched }
}

/**
 * A provider may use one reference for several lines of a settlement: a chargeback and its reversal, say. The second gets
 * the same name in every import, so that none is lost and none is stored twice.
 */
function createNames(): (line: SettlementLine) => SettlementLine {
  const seen = new Map<string, number>()
  return line => {
    const key = JSON.stringify([line.settlementId, line.type, line.providerReference])
    const nth = (seen.get(key) ?? 0) + 1
    seen.set(key, nth)
    return nth === 1 ? line : { ...line, providerReference: `${line.providerReference}#${nth}` }
  }
}

async function* readLines(
  file: string,
  read: (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<SettlementLine>,
): AsyncIterable<SettlementLine> {
  try {
    yield* read(createReadStream(file))
  } catch (error) {
    if (error instanceof AccountFault) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new AccountFault(`${file} cannot be read as a settlement file: ${reason}`, { cause: error })
  }
}

function checkLine(line: SettlementLine, number: number): void {
  const whole = [line.gross, line.fee, line.net].every(Number.isSafeInteger)
  if (!whole || !/^\d{4}-\d\d-\d\d$/.test(line.date) || !/^[A-Z]{3}$/.test(line.currency))
    throw new AccountFault(`line ${number} of the file has an amount, date or currency that makes no sense`)
}

const isOperation = (type: StoredLine['type']): boolean => type === 'CAPTURE' || type === 'REFUND'

async function matchLine(
  { reference, transactionId, ...line }: SettlementLine,
  { merchantId, accountId }: { readonly merchantId: MerchantId; readonly accountId: string },
  { payments, references }: ImportDeps,
): Promise<StoredLine> {
  let payId: PayId | undefined
  for (const name of [reference, transactionId])
    if (name !== undefined) payId ??= (await references.find(merchantId, accountId, name))?.payId
  const payment = payId && (await payments.byPayId(merchantId, payId))
  const xId = payment && findLineOperation(payment, line.type, { reference, transactionId })
  return { ...line, accountId, transactionId, payId, xId }
}

/** The operation itself where the line names it; else, of a payment that is named, the only one of that kind. */
function findLineOperation(
  { operations }: Payment,
  type: StoredLine['type'],
  { reference, transactionId }: Pick<SettlementLine, 'reference' | 'transactionId'>,
): XId | undefined {
  const ofType = operations.filter(operation => operation.type === type && operation.state === 'OK')
  const named =
    ofType.find(({ xId }) => xId === reference) ??
    ofType.find(({ provider }) => transactionId !== undefined && provider?.transactionId === transactionId)
  return (named ?? (ofType.length === 1 ? ofType[0] : undefined))?.xId
}
