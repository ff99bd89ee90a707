/**
 * Writes the simulated bank's files as a real bank would: pain.002, camt.054 with all payments, camt.053 with batch
 * sums.
 */
import { accountOf } from '#connectors/bank/initiation.ts'
import { element, euroAmount, leaf, xmlDeclaration } from '#connectors/bank/sepa-text.ts'
import type { Ledger, LedgerEntry, Rejection } from '#connectors/bank/simulated-ledger.ts'

export interface SimulatedFile {
  readonly name: string
  readonly text: string
}

export function writeSimulatedFiles({ rejections, entries }: Ledger, iban: string): SimulatedFile[] {
  const reports = [...Map.groupBy(rejections, ({ instruction }) => instruction.messageId)].map(
    ([messageId, of]) => ({ name: `pain.002-${messageId}.xml`, text: statusReport(messageId, of) }),
  )
  let balance = 0
  const statements = [...Map.groupBy(entries, ({ day }) => day)].flatMap(([day, of]) => {
    const opening = balance
    balance = of.reduce((total, entry) => total + signed(entry), opening)
    return [
      { name: `camt.054-${day}.xml`, text: notification(day, of, iban) },
      { name: `camt.053-${day}.xml`, text: statement(day, of, { iban, opening, closing: balance }) },
    ]
  })
  return [...reports, ...statements]
}

const signed = ({ direction, cents }: LedgerEntry): number => (direction === 'CRDT' ? cents : -cents)

const documentOf = (message: string, body: string): string =>
  `${xmlDeclaration}<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${message}">${body}</Document>\n`

const headerOf = (messageId: string, day: string): string =>
  element('GrpHdr', leaf('MsgId', messageId.slice(0, 35)), leaf('CreDtTm', `${day}T20:00:00Z`))

function statusReport(messageId: string, rejections: readonly Rejection[]): string {
  const blocks = [...Map.groupBy(rejections, ({ instruction }) => instruction.blockId)]
  const day = rejections[0]?.instruction.day ?? ''
  return documentOf(
    'pain.002.001.10',
    element(
      'CstmrPmtStsRpt',
      headerOf(`R${messageId}`, day),
      element(
        'OrgnlGrpInfAndSts',
        leaf('OrgnlMsgId', messageId),
        leaf('OrgnlMsgNmId', 'pain.008.001.08'),
        leaf('GrpSts', 'PART'),
      ),
      ...blocks.map(([blockId, of]) =>
        element(
          'OrgnlPmtInfAndSts',
          leaf('OrgnlPmtInfId', blockId),
          ...of.map(({ instruction, reason }) =>
            element(
              'TxInfAndSts',
              leaf('OrgnlEndToEndId', instruction.endToEndId),
              leaf('TxSts', 'RJCT'),
              element('StsRsnInf', element('Rsn', leaf('Cd', reason))),
            ),
          ),
        ),
      ),
    ),
  )
}

const notification = (day: string, entries: readonly LedgerEntry[], iban: string): string =>
  documentOf(
    'camt.054.001.08',
    element(
      'BkToCstmrDbtCdtNtfctn',
      headerOf(`N${day}`, day),
      element(
        'Ntfctn',
        leaf('Id', `N${day}`),
        leaf('CreDtTm', `${day}T20:00:00Z`),
        accountOf('Acct', iban),
        ...entries.map(entry => entryOf(entry, entry.payments)),
      ),
    ),
  )

/** A batch is listed as one sum without its payments, as most banks do. */
const statement = (
  day: string,
  entries: readonly LedgerEntry[],
  { iban, opening, closing }: { readonly iban: string; readonly opening: number; readonly closing: number },
): string =>
  documentOf(
    'camt.053.001.08',
    element(
      'BkToCstmrStmt',
      headerOf(`S${day}`, day),
      element(
        'Stmt',
        leaf('Id', `S${day}`),
        leaf('CreDtTm', `${day}T20:00:00Z`),
        accountOf('Acct', iban),
        balance('OPBD', opening, day),
        balance('CLBD', closing, day),
        ...entries.map(entry => entryOf(entry, entry.blockId === undefined ? entry.payments : [])),
      ),
    ),
  )

const balance = (code: string, cents: number, day: string): string =>
  element(
    'Bal',
    element('Tp', element('CdOrPrtry', leaf('Cd', code))),
    euroAmount('Amt', Math.abs(cents)),
    leaf('CdtDbtInd', cents < 0 ? 'DBIT' : 'CRDT'),
    element('Dt', leaf('Dt', day)),
  )

const transactionCodes = {
  debits: ['IDDT', 'ESDD'],
  transfer: ['ICDT', 'ESCT'],
  return: ['IDDT', 'UPDD'],
} as const

function entryOf(entry: LedgerEntry, details: LedgerEntry['payments']): string {
  const [family, subFamily] = transactionCodes[entry.kind]
  const { day, direction, cents, blockId, payments } = entry
  const batch =
    blockId === undefined
      ? ''
      : element(
          'Btch',
          leaf('PmtInfId', blockId),
          leaf('NbOfTxs', String(payments.length)),
          euroAmount('TtlAmt', cents),
          leaf('CdtDbtInd', direction),
        )
  return `\n${element(
    'Ntry',
    euroAmount('Amt', cents),
    leaf('CdtDbtInd', direction),
    element('Sts', leaf('Cd', 'BOOK')),
    element('BookgDt', leaf('Dt', day)),
    element('ValDt', leaf('Dt', day)),
    leaf('AcctSvcrRef', entry.reference),
    element(
      'BkTxCd',
      element('Domn', leaf('Cd', 'PMNT'), element('Fmly', leaf('Cd', family), leaf('SubFmlyCd', subFamily))),
    ),
    element('NtryDtls', batch, ...details.map(payment => detailsOf(entry, payment))),
  )}`
}

function detailsOf(entry: LedgerEntry, payment: LedgerEntry['payments'][number]): string {
  const { charges, reason, direction } = entry
  const original = element('AmtDtls', element('InstdAmt', euroAmount('Amt', payment.cents)))
  const charged = element(
    'Chrgs',
    euroAmount('TtlChrgsAndTaxAmt', charges),
    element('Rcrd', euroAmount('Amt', charges), leaf('CdtDbtInd', 'DBIT')),
  )
  return element(
    'TxDtls',
    element('Refs', leaf('EndToEndId', payment.endToEndId)),
    euroAmount('Amt', payment.cents + charges),
    leaf('CdtDbtInd', direction),
    charges > 0 ? `${original}${charged}` : '',
    reason === undefined ? '' : element('RtrInf', element('Rsn', leaf('Cd', reason))),
  )
}
