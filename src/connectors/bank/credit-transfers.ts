/** Writes refunds and payouts as SEPA credit transfers, pain.001.001.09: one payment information per execution date. */
import {
  accountOf,
  agentOf,
  type BlockHeader,
  blockStart,
  checkTotals,
  type FileHeader,
  groupHeader,
  partyOf,
  remittanceOf,
} from '#connectors/bank/initiation.ts'
import { element, euroAmount, leaf, xmlDeclaration } from '#connectors/bank/xml-text.ts'

export interface Transfer {
  readonly endToEndId: string
  readonly cents: number
  readonly payeeName: string
  readonly payeeIban: string
  readonly payeeBic?: string
  readonly remittance: string
}

export const creditTransferNamespace = 'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09'

export async function* writeCreditTransfers(
  header: FileHeader,
  transfersOf: (block: BlockHeader) => AsyncIterable<readonly Transfer[]>,
): AsyncGenerator<string> {
  yield `${xmlDeclaration}<Document xmlns="${creditTransferNamespace}"><CstmrCdtTrfInitn>${groupHeader(header)}`
  for (const block of header.blocks) {
    yield `\n<PmtInf>${blockOpening(header, block)}`
    let payments = 0
    let sum = 0n
    for await (const transfers of transfersOf(block)) {
      payments += transfers.length
      sum += transfers.reduce((total, { cents }) => total + BigInt(cents), 0n)
      yield transfers.map(transferOf).join('')
    }
    checkTotals(block, { payments, sum })
    yield '\n</PmtInf>'
  }
  yield '\n</CstmrCdtTrfInitn></Document>\n'
}

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

const transferOf = (transfer: Transfer): string =>
  `\n${element(
    'CdtTrfTxInf',
    element('PmtId', leaf('EndToEndId', transfer.endToEndId)),
    element('Amt', euroAmount('InstdAmt', transfer.cents)),
    transfer.payeeBic === undefined ? '' : agentOf('CdtrAgt', transfer.payeeBic),
    partyOf('Cdtr', transfer.payeeName),
    accountOf('CdtrAcct', transfer.payeeIban),
    remittanceOf(transfer.remittance),
  )}`
