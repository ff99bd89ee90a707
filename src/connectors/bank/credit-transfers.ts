/** Writes refunds and payouts as SEPA credit transfers, pain.001.001.09: one payment information per execution date. */
import {
  accountOf,
  agentOf,
  type BlockHeader,
  blockStart,
  type FileFrame,
  type FileHeader,
  groupHeader,
  partyOf,
  remittanceOf,
} from '#connectors/bank/initiation.ts'
import { element, euroAmount, leaf, xmlDeclaration } from '#connectors/bank/sepa-text.ts'
import { isBic } from '#domain/iban.ts'

export interface Transfer {
  readonly endToEndId: string
  readonly cents: number
  readonly payeeName: string
  readonly payeeIban: string
  readonly payeeBic?: string
  readonly remittance: string
}

export const creditTransferNamespace = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09'

export const creditTransferFrame = (header: FileHeader): FileFrame => ({
  opening: `${xmlDeclaration}<Document xmlns="${creditTransferNamespace}"><CstmrCdtTrfInitn>${groupHeader(header)}`,
  blockOpening: block => blockOpening(header, block),
  end: '</CstmrCdtTrfInitn></Document>',
})

const blockOpening = (header: FileHeader, block: BlockHeader): string =>
  [
    blockStart(header, block, 'TRF'),
    element('PmtTpInf', element('SvcLvl', leaf('Cd', 'SEPA'))),
    element('ReqdExctnDt', leaf('Dt', block.day)),
    partyOf('Dbtr', header.creditor.name),
    accountOf('DbtrAcct', header.creditor.iban),
    agentOf('DbtrAgt', undefined),
    leaf('ChrgBr', 'SLEV'),
  ].join('')

export const writeTransfer = (transfer: Transfer): string =>
  `\n${element(
    'CdtTrfTxInf',
    element('PmtId', leaf('EndToEndId', transfer.endToEndId)),
    element('Amt', euroAmount('InstdAmt', transfer.cents)),
    transfer.payeeBic === undefined || !isBic(transfer.payeeBic) ? '' : agentOf('CdtrAgt', transfer.payeeBic),
    partyOf('Cdtr', transfer.payeeName),
    accountOf('CdtrAcct', transfer.payeeIban),
    remittanceOf(transfer.remittance),
  )}`
