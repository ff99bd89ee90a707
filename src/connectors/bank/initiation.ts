/**
 * What the writers of both files share: who the creditor is, how a payment information block is described, and the group
 * header with counts and control sums that come from integers. Payments are written as they are read; the text around them,
 * which states their number and sum, is written when all of them are known.
 */
import { element, leaf, toDecimal, toSepaText } from '#connectors/bank/sepa-text.ts'

/** The merchant at its bank, from the settings of the account. */
export interface Creditor {
  readonly name: string
  readonly iban: string
  /** The creditor identifier that the central bank gave the merchant. */
  readonly creditorId: string
}

export interface FileHeader {
  /** Globally unique, at most 35 characters. */
  readonly messageId: string
  /** Fixed when the batch is made, so that writing the file again gives the same bytes. */
  readonly createdAt: Date
  readonly creditor: Creditor
  readonly batchBooking: boolean
  readonly blocks: readonly BlockHeader[]
}

/** One payment information: everything that its transactions have in common. */
export interface BlockHeader {
  readonly blockId: string
  /** YYYY-MM-DD: when the money moves. */
  readonly day: string
  readonly sequenceType?: SequenceType
  readonly payments: number
  /** In cents. */
  readonly sum: bigint
}

export type SequenceType = 'FRST' | 'RCUR' | 'FNAL' | 'OOFF'

/** The lengths that the SEPA guidelines allow, shorter than those of the ISO schema. */
export const nameMax = 70
export const remittanceMax = 140

export function groupHeader({ messageId, createdAt, creditor, blocks }: FileHeader): string {
  const payments = blocks.reduce((total, block) => total + block.payments, 0)
  const sum = blocks.reduce((total, block) => total + block.sum, 0n)
  return element(
    'GrpHdr',
    leaf('MsgId', messageId),
    leaf('CreDtTm', `${createdAt.toISOString().slice(0, 19)}Z`),
    leaf('NbOfTxs', String(payments)),
    leaf('CtrlSum', toDecimal(sum)),
    element('InitgPty', leaf('Nm', toSepaText(creditor.name, nameMax))),
  )
}

export const blockStart = (header: FileHeader, block: BlockHeader, paymentMethod: 'DD' | 'TRF'): string =>
  [
    leaf('PmtInfId', block.blockId),
    leaf('PmtMtd', paymentMethod),
    leaf('BtchBookg', String(header.batchBooking)),
    leaf('NbOfTxs', String(block.payments)),
    leaf('CtrlSum', toDecimal(block.sum)),
  ].join('')

export const accountOf = (name: string, iban: string): string =>
  element(name, element('Id', leaf('IBAN', iban)))

export const partyOf = (name: string, partyName: string): string =>
  element(name, leaf('Nm', toSepaText(partyName, nameMax) || 'NOTPROVIDED'))

/** Inside the SEPA area the IBAN is enough; NOTPROVIDED stands for a bank without a BIC. */
export const agentOf = (name: string, bic: string | undefined): string =>
  element(
    name,
    element(
      'FinInstnId',
      bic === undefined ? element('Othr', leaf('Id', 'NOTPROVIDED')) : leaf('BICFI', bic),
    ),
  )

export function remittanceOf(text: string): string {
  const sepa = toSepaText(text, remittanceMax)
  return sepa === '' ? '' : element('RmtInf', leaf('Ustrd', sepa))
}

/** The text of a file around its payments. */
export interface FileFrame {
  readonly opening: string
  readonly blockOpening: (block: BlockHeader) => string
  readonly end: string
}

/** The written payments of a block, in the pieces in which they were stored. */
export interface BlockBody<Piece> {
  readonly payments: number
  readonly sum: bigint
  readonly pieces: readonly Piece[]
}

/** The whole file in order: the text of the frame as strings, with the blocks' own pieces in between. */
export function* inOrder<Piece>(
  { blocks }: FileHeader,
  frame: FileFrame,
  bodyOf: (block: BlockHeader) => BlockBody<Piece> | undefined,
): Generator<string | Piece> {
  let text = frame.opening
  for (const block of blocks) {
    const body = bodyOf(block)
    checkTotals(block, body)
    yield `${text}\n<PmtInf>${frame.blockOpening(block)}`
    yield* body?.pieces ?? []
    text = '\n</PmtInf>'
  }
  yield `${text}\n${frame.end}\n`
}

/** The header states count and sum of the body; a body that differs from it is an error, and the file is not written. */
function checkTotals(block: BlockHeader, body: BlockBody<unknown> | undefined): void {
  const { payments, sum } = body ?? { payments: 0, sum: 0n }
  if (payments !== block.payments || sum !== block.sum)
    throw new Error(
      `block ${block.blockId} announces ${block.payments} payments of ${block.sum} cents and holds ${payments} of ${sum}`,
    )
}
