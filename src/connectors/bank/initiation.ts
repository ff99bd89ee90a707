/**
 * Shared by the writers of pain.001 and pain.008: creditor, payment information blocks, and the group header with its
 * counts and integer control sums. Payments are written one by one as they are read; the headers, which state their
 * number and sum, are written once all of them are known.
 */

import { element, leaf, toDecimal, toSepaText } from '#connectors/bank/sepa-text.ts'
import { isBic } from '#domain/iban.ts'

/** The merchant at its bank, from the settings of the account. */
export interface Creditor {
  readonly name: string
  readonly iban: string
  /** The merchant's SEPA creditor identifier. */
  readonly creditorId: string
}

export interface FileHeader {
  /** Globally unique, at most 35 characters. */
  readonly messageId: string
  /** Fixed when the batch is made, so that the file can be written again with the same bytes. */
  readonly createdAt: Date
  readonly creditor: Creditor
  readonly batchBooking: boolean
  readonly blocks: readonly BlockHeader[]
}

/** The header of one payment information: what all its payments have in common. */
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

/** The limits of the SEPA guidelines, which are stricter than those of the ISO schema. */
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

/** Within SEPA the IBAN is enough; NOTPROVIDED stands for an unknown BIC. */
export const agentOf = (name: string, bic: string | undefined): string =>
  element(
    name,
    element(
      'FinInstnId',
      bic === undefined || !isBic(bic) ? element('Othr', leaf('Id', 'NOTPROVIDED')) : leaf('BICFI', bic),
    ),
  )

export function remittanceOf(text: string): string {
  const sepa = toSepaText(text, remittanceMax)
  return sepa === '' ? '' : element('RmtInf', leaf('Ustrd', sepa))
}

/** The parts of a file around its payments. */
export interface FileFrame {
  readonly opening: string
  readonly blockOpening: (block: BlockHeader) => string
  readonly end: string
}

/** The written payments of a block, as the pieces in which they were stored. */
export interface BlockBody<Piece> {
  readonly payments: number
  readonly sum: bigint
  readonly pieces: readonly Piece[]
}

/** The whole file in order: the frame as strings, with the stored pieces of the blocks in between. */
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

/** The header states the body's count and sum. If the body differs, the file must not be written. */
function checkTotals(block: BlockHeader, body: BlockBody<unknown> | undefined): void {
  const { payments, sum } = body ?? { payments: 0, sum: 0n }
  if (payments !== block.payments || sum !== block.sum)
    throw new Error(
      `block ${block.blockId} announces ${block.payments} payments of ${block.sum} cents and holds ${payments} of ${sum}`,
    )
}
