/** Writes direct debits as pain.008.001.08, scheme CORE: one payment information per collection date and sequence type. */
import {
  accountOf,
  agentOf,
  type BlockHeader,
  blockStart,
  type FileFrame,
  type FileHeader,
  groupHeader,
  nameMax,
  partyOf,
  remittanceOf,
} from '#connectors/bank/initiation.ts'
import { element, euroAmount, leaf, toSepaText, xmlDeclaration } from '#connectors/bank/sepa-text.ts'

export interface Debit {
  /** Our reference, which the bank repeats in its reports and statements. */
  readonly endToEndId: string
  readonly cents: number
  readonly mandateId: string
  /** YYYY-MM-DD */
  readonly signedOn: string
  readonly amendment?: MandateAmendment
  readonly debtorName: string
  readonly debtorIban: string
  readonly debtorBic?: string
  readonly remittance: string
}

/** The changes since the mandate was last used. */
export interface MandateAmendment {
  readonly originalCreditorId?: string
  readonly originalCreditorName?: string
  /** The customer is debited on another account than before. */
  readonly newAccount?: boolean
}

export const directDebitNamespace = 'urn:iso:std:iso:20022:tech:xsd:pain.008.001.08'

export const directDebitFrame = (header: FileHeader): FileFrame => ({
  opening: `${xmlDeclaration}<Document xmlns="${directDebitNamespace}"><CstmrDrctDbtInitn>${groupHeader(header)}`,
  blockOpening: block => blockOpening(header, block),
  end: '</CstmrDrctDbtInitn></Document>',
})

function blockOpening(header: FileHeader, block: BlockHeader): string {
  const { creditor } = header
  return [
    blockStart(header, block, 'DD'),
    element(
      'PmtTpInf',
      element('SvcLvl', leaf('Cd', 'SEPA')),
      element('LclInstrm', leaf('Cd', 'CORE')),
      leaf('SeqTp', block.sequenceType ?? 'RCUR'),
    ),
    leaf('ReqdColltnDt', block.day),
    partyOf('Cdtr', creditor.name),
    accountOf('CdtrAcct', creditor.iban),
    agentOf('CdtrAgt', undefined),
    leaf('ChrgBr', 'SLEV'),
    element('CdtrSchmeId', schemeId(creditor.creditorId)),
  ].join('')
}

const schemeId = (creditorId: string): string =>
  element(
    'Id',
    element('PrvtId', element('Othr', leaf('Id', creditorId), element('SchmeNm', leaf('Prtry', 'SEPA')))),
  )

export function writeDebit(debit: Debit): string {
  return `\n${element(
    'DrctDbtTxInf',
    element('PmtId', leaf('EndToEndId', debit.endToEndId)),
    euroAmount('InstdAmt', debit.cents),
    element(
      'DrctDbtTx',
      element(
        'MndtRltdInf',
        leaf('MndtId', debit.mandateId),
        leaf('DtOfSgntr', debit.signedOn),
        debit.amendment === undefined ? '' : amendmentOf(debit.amendment),
      ),
    ),
    agentOf('DbtrAgt', debit.debtorBic),
    partyOf('Dbtr', debit.debtorName),
    accountOf('DbtrAcct', debit.debtorIban),
    remittanceOf(debit.remittance),
  )}`
}

function amendmentOf({ originalCreditorId, originalCreditorName, newAccount }: MandateAmendment): string {
  const original = [
    originalCreditorName === undefined ? '' : leaf('Nm', toSepaText(originalCreditorName, nameMax)),
    originalCreditorId === undefined ? '' : schemeId(originalCreditorId),
  ].join('')
  return [
    leaf('AmdmntInd', 'true'),
    element(
      'AmdmntInfDtls',
      original === '' ? '' : element('OrgnlCdtrSchmeId', original),
      // SMNDA, "same mandate, new debtor account": the scheme's code, for an account at the same or at another bank.
      newAccount ? element('OrgnlDbtrAcct', element('Id', element('Othr', leaf('Id', 'SMNDA')))) : '',
    ),
  ].join('')
}
